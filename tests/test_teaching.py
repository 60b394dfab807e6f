"""The teaching guide: every chapter, exercises and widgets that exist, plans of 50 minutes."""

import re

import nbformat
import pytest

from course_lib.chapters.gallery import EXHIBITS
from course_lib.cli.environment import ROOT
from course_lib.cli.lint import EXERCISE
from course_lib.exercises import catalogue
from course_lib.utils.chapters import CHAPTER

GUIDE = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
PARTS = re.split(rf"(?m)^## (?:Chapter|Appendix) ({CHAPTER})\. ", GUIDE)[1:]
SECTIONS = dict(zip(PARTS[::2], PARTS[1::2], strict=True))
CHAPTERS = sorted({exercise.partition(".")[0] for exercise in catalogue()})


def test_every_chapter_has_a_section_in_the_order_of_the_course():
    assert list(SECTIONS) == sorted(SECTIONS)
    lacking = set(CHAPTERS) - SECTIONS.keys()
    assert not lacking, "docs/teaching.md needs a section for each; see Add a chapter in CONTRIBUTING.md"


@pytest.mark.parametrize("chapter", SECTIONS)
def test_a_section_has_all_its_parts(chapter):
    text = SECTIONS[chapter]
    parts = ("Goals", "Questions", "Board", "Wrong predictions", "If time is short", "Last ten minutes")
    for part in ("| minutes |", *(f"**{name}.**" for name in parts)):
        assert text.count(part) == 1, part
    assert len(re.findall(r"(?m)^- \*[^*]+\?\* \S", text)) >= 3  # questions with their answers


@pytest.mark.parametrize("chapter", SECTIONS)
def test_a_plan_lasts_50_minutes_and_ends_in_an_exercise(chapter):
    plan = re.findall(r"(?m)^\| (\d+) \| (.+) \|$", SECTIONS[chapter])
    assert sum(int(minutes) for minutes, _ in plan) == 50
    assert plan[0][1].startswith("*Predict") and plan[-1] == ("10", "Exercise")


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_exercises_it_names_are_in_the_notebook(chapter):
    named = re.findall(rf"`({CHAPTER}\.\w+)`", SECTIONS[chapter].partition("**Last ten minutes.**")[2])
    (path,) = (ROOT / "notebooks").glob(f"{chapter}_*.ipynb")
    cells = nbformat.read(path, as_version=4).cells
    there = [".".join(found) for cell in cells for found in EXERCISE.findall(cell.source)]
    assert named and set(named) <= set(there) and set(named) <= catalogue().keys()


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.widget)
def test_it_says_how_to_move_each_widget_of_the_gallery(exhibit):
    assert f"`{exhibit.widget}`" in SECTIONS[exhibit.chapter]


def test_it_names_no_widget_that_does_not_exist():
    assert set(re.findall(r"`(\w+_explorer)`", GUIDE)) <= {exhibit.widget for exhibit in EXHIBITS}


@pytest.mark.parametrize("heading, sessions", [("Six weeks", 12), ("Twelve weeks", 12)])
def test_a_plan_for_a_term_has_every_chapter_and_exercises_that_exist(heading, sessions):
    (plan,) = re.findall(rf"(?ms)^## {heading}, .*?(?=^## )", GUIDE)
    rows = re.findall(r"(?m)^\| \d+[ab]? \| (\d\d)[a-z]? .*$", plan)
    numbers = [chapter for chapter in CHAPTERS if chapter.isdigit()]
    assert len(rows) == sessions and sorted(set(rows)) == numbers and rows == sorted(rows)
    exercises = set(re.findall(rf"`({CHAPTER}\.\w+)`", plan))
    assert exercises and exercises <= catalogue().keys()
    assert set(re.findall(r"`(\w+_explorer)`", plan)) <= {exhibit.widget for exhibit in EXHIBITS}


def test_its_lines_are_short():
    assert [line for line in GUIDE.splitlines() if len(line) > 120 and line[0] not in " |"] == []

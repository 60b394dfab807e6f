"""The teaching guide: every chapter, exercises and widgets that exist, plans of 50 minutes; and slides."""

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_lib.commands import slides
from course_lib.commands.environment import ROOT
from course_lib.commands.lint import EXERCISE
from course_lib.exercises import catalogue
from course_lib.widgets.gallery import EXHIBITS

GUIDE = (ROOT / "notebooks" / "TEACHING.md").read_text(encoding="utf-8")
PARTS = re.split(r"(?m)^## (?:Chapter|Appendix) (\d\d[a-z]?)\. ", GUIDE)[1:]
SECTIONS = dict(zip(PARTS[::2], PARTS[1::2], strict=True))
CHAPTERS = sorted(path.name.partition("_")[0] for path in (ROOT / "notebooks").glob("[0-9][0-9]*_*.ipynb"))


def test_every_chapter_has_a_section_in_the_order_of_the_course():
    assert list(SECTIONS) == sorted(SECTIONS) and SECTIONS.keys() >= set(CHAPTERS)


@pytest.mark.parametrize("chapter", SECTIONS)
def test_a_section_has_all_its_parts(chapter):
    text = SECTIONS[chapter]
    for part in ("**Goals.**", "| minutes |", "**Questions.**", "**Last ten minutes.**"):
        assert text.count(part) == 1, part
    assert len(re.findall(r"(?m)^- \*[^*]+\?\* \S", text)) >= 3  # questions with their answers


@pytest.mark.parametrize("chapter", SECTIONS)
def test_a_plan_lasts_50_minutes_and_ends_in_an_exercise(chapter):
    plan = re.findall(r"(?m)^\| (\d+) \| (.+) \|$", SECTIONS[chapter])
    assert sum(int(minutes) for minutes, _ in plan) == 50
    assert plan[0][1].startswith("*Predict") and plan[-1] == ("10", "Exercise")


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_exercises_it_names_are_in_the_notebook(chapter):
    named = re.findall(r"`(\d\d[a-z]?\.\w+)`", SECTIONS[chapter].partition("**Last ten minutes.**")[2])
    (path,) = (ROOT / "notebooks").glob(f"{chapter}_*.ipynb")
    cells = nbformat.read(path, as_version=4).cells
    there = [".".join(found) for cell in cells for found in EXERCISE.findall(cell.source)]
    assert named and set(named) <= set(there) and set(named) <= catalogue().keys()


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.widget)
def test_it_says_how_to_move_each_widget_of_the_gallery(exhibit):
    assert f"`{exhibit.widget}`" in SECTIONS[exhibit.chapter]


def test_it_names_no_widget_that_does_not_exist():
    assert set(re.findall(r"`(\w+_explorer)`", GUIDE)) <= {exhibit.widget for exhibit in EXHIBITS}


def test_its_lines_are_short():
    assert [line for line in GUIDE.splitlines() if len(line) > 120 and line[0] not in " |"] == []


def test_a_heading_begins_a_slide_and_solutions_are_left_out():
    solution = new_markdown_cell("<details>\n<summary>Solution</summary>\n</details>")
    chosen = new_code_cell("1", metadata={"slideshow": {"slide_type": "fragment"}})
    texts = [new_markdown_cell(text) for text in ("# Title", "Text.", "## Part", "### Detail")]
    nb = new_notebook(cells=[*texts, new_code_cell("1"), chosen, solution])
    nb, _ = slides.Slides().preprocess(nb, {})
    kinds = [cell.metadata.slideshow.slide_type for cell in nb.cells]
    assert kinds == ["slide", "subslide", "slide", "subslide", "-", "fragment", "skip"]


def test_the_command_for_slides_names_what_there_is():
    name = re.search(r"--SlidesExporter\.preprocessors=([\w.]+)\.(\w+) notebooks/(\S+)", GUIDE)
    assert name[1] == slides.__name__ and hasattr(slides, name[2]) and (ROOT / "notebooks" / name[3]).exists()

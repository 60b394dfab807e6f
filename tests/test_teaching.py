"""The teaching guide: every chapter, exercises and widgets that exist, plans of 50 minutes; and slides."""

import base64
import re
import struct
from argparse import Namespace
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_lib.commands import slides
from course_lib.commands.environment import ROOT, SetUpError
from course_lib.commands.lint import EXERCISE
from course_lib.exercises import catalogue
from course_lib.widgets.gallery import EXHIBITS

GUIDE = (ROOT / "notebooks" / "TEACHING.md").read_text(encoding="utf-8")
PARTS = re.split(r"(?m)^## (?:Chapter|Appendix) (\d\d[a-z]?)\. ", GUIDE)[1:]
# the beginning of a picture of 900 by 300 pixels: all that is read of it
PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 900, 300) + bytes(20)
).decode()
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


def test_what_has_no_room_goes_on_to_the_next_slide_and_drawing_code_is_left_out():
    picture = f'<img alt="a" width="600" src="data:image/png;base64,{PNG}">'
    drawing = new_code_cell("draw()", outputs=[new_output("display_data", {"text/html": picture})])
    long = [new_code_cell("\n".join(["1"] * 18)) for _ in range(2)]
    setup = new_code_cell("# @title Set-up: what the course runs on")
    nb = new_notebook(cells=[new_markdown_cell("## Part"), setup, new_code_cell("1"), *long, drawing])
    nb, _ = slides.Slides().preprocess(nb, {})
    kinds = [cell.metadata.slideshow.slide_type for cell in nb.cells]
    assert kinds == ["slide", "skip", "-", "-", "subslide", "-"]
    assert slides.drawn(nb.cells[-1]) == 200  # 600 pixels across, three times as wide as high
    page = slides.html(nb, "some")
    assert "draw()" not in page and PNG in page and slides.STYLE in page and "@title" not in page


def test_the_command_for_slides_names_what_there_is(tmp_path):
    (name,) = re.findall(r"`python -m course_lib slides (notebooks/\S+)`", GUIDE)
    assert slides.run(Namespace(notebooks=[ROOT / name], to=tmp_path)) == 0
    page = (tmp_path / f"{Path(name).stem}.slides.html").read_text(encoding="utf-8")
    assert page.count("<section") > 20
    with pytest.raises(SetUpError, match="no_such"):
        slides.run(Namespace(notebooks=[Path("no_such.ipynb")], to=tmp_path))

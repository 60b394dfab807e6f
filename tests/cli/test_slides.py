"""What is on which slide; how the slides look is tested in a browser."""

import base64
import json
import re
import struct
from argparse import Namespace
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_lib.cli import environment, slides
from course_lib.cli.lesson_plan import LessonPlan
from course_lib.cli.slide_parts import CONCLUSION
from course_lib.cli.slide_sizes import CODE, ROOM, TALLEST, drawn, height, shorten, shrink, size
from course_lib.cli.slide_types import Slides

NOTEBOOKS = sorted((environment.ROOT / "notebooks").glob("[0-9A]*.ipynb"))


def png(width: int, high: int) -> str:
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 8 + struct.pack(">II", width, high)).decode()


def picture() -> NotebookNode:
    return new_code_cell("draw()", outputs=[new_output("display_data", {"image/png": png(400, 300)})])


def kind(cell: NotebookNode) -> str:
    return cell.metadata["slideshow"]["slide_type"]


def deck(cells: list[NotebookNode], **choice) -> list[NotebookNode]:
    return Slides(**choice).preprocess(new_notebook(cells=cells), {})[0].cells


def types(cells: list[NotebookNode], most: int) -> list[str]:
    """The slide types of the cells, without the titles that were added."""
    return [kind(cell) for cell in deck(cells, most=most) if not cell.source.startswith("#### ")]


def chapter() -> list[NotebookNode]:
    """Two sections of three slides each; the last slide of the second one has a picture."""
    texts = [new_markdown_cell(text) for text in ("## A", "a1", "a2", "## B", "b1", "b2")]
    return [*texts, picture()]


def shown(cells: list[NotebookNode], most: int) -> list[str]:
    return [cell.source for cell in deck(cells, most=most) if kind(cell) != "skip" and cell.source[0] != "#"]


def test_a_long_chapter_keeps_its_headings_then_its_pictures_then_what_comes_first():
    assert shown(chapter(), 6) == ["a1", "a2", "b1", "b2", "draw()"]
    assert shown(chapter(), 2) == []
    assert shown(chapter(), 3) == ["b2", "draw()"]
    assert shown(chapter(), 4) == ["a1", "b2", "draw()"]


def test_printed_text_that_is_too_long_is_cut_and_says_so():
    printed = new_output("stream", name="stdout", text="".join(f"{i}\n" for i in range(100)))
    cell = new_code_cell("for i in range(100):\n    print(i)", outputs=[printed])
    shorten(cell, ROOM)
    lines = cell.outputs[0].text.splitlines()
    assert ROOM - 2 * CODE < height(cell) <= ROOM
    assert lines[:-1] == [str(i) for i in range(len(lines) - 1)]
    assert lines[-1] == f"… {100 - len(lines) + 1} more lines in the notebook"


def test_the_page_contains_what_it_needs_and_the_command_says_what_is_left_out():
    assets = {"reveal_js": "var Reveal = 'here';", "mathjax_js": "var math = 'here';", "reveal_css": ".r {}"}
    choice = Slides(most=4)
    page = slides.html(
        new_notebook(cells=[*chapter(), new_markdown_cell("## Sources")]), "title", assets, choice
    )
    assert choice.left_out == 2 and all(one in page for one in assets.values())
    assert "--most 6" in slides.said(choice) and "Sources" in slides.said(choice)


def test_a_notebook_that_colab_saved_becomes_slides():
    state = {"application/vnd.jupyter.widget-state+json": {"x": {}}}
    nb = new_notebook(cells=chapter(), metadata={"widgets": state, "colab": {"provenance": []}})
    assert "b2" in slides.html(nb, "title", {}, Slides())


def test_a_script_within_a_page_cannot_end_it(tmp_path):
    (tmp_path / "a.js").write_text('x = "</script><!--"')
    (tmp_path / "a.css").write_text("@import url(./fonts/a.css);\np {}")
    assert slides.inline(tmp_path / "a.js") == r'x = "<\/script><\!--"'
    assert slides.inline(tmp_path / "a.css") == "\np {}"


def test_a_heading_begins_a_slide():
    chosen = new_code_cell("1", metadata={"slideshow": {"slide_type": "fragment"}})
    texts = [new_markdown_cell(text) for text in ("# Title", "Text.", "## Part", "### Detail")]
    assert types([*texts, new_code_cell("1"), chosen], 40) == [*["slide", "subslide"] * 2, "-", "fragment"]
    both = new_markdown_cell("The answer.\n\n## 7. Next\n\n### First\n\nText.\n\n### Second\n\nMore.")
    assert [
        (cell.source.split("\n")[0], kind(cell)) for cell in deck([new_markdown_cell("## 6. A"), both])
    ] == [
        ("## 6. A", "slide"),
        ("#### 6. A", "subslide"),
        ("The answer.", "-"),
        ("## 7. Next", "slide"),
        ("### Second", "subslide"),
    ]
    code = new_markdown_cell("```python\n## a comment\n```")
    by_hand = new_markdown_cell(both.source, metadata={"slideshow": {"slide_type": "notes"}})
    assert types([code, by_hand], most=40) == ["subslide", "notes"]


def test_what_is_folded_becomes_a_note_and_the_text_around_it_stays():
    answer = "<details><summary>Answer</summary>Because.\n\n```python\n## x\n```\n</details>"
    text = f"## 2. Norms\n\nWhy?\n{answer}\n\nSo."
    cells = deck([new_markdown_cell(text)])
    assert [(cell.source, kind(cell)) for cell in cells] == [
        ("## 2. Norms\n\nWhy?", "slide"),
        ("**Answer.**\n\nBecause.\n\n```python\n## x\n```", "notes"),
        ("#### 2. Norms", "subslide"),
        ("So.", "-"),
    ]
    page = slides.html(new_notebook(cells=[new_markdown_cell(text)]), "some", {}, Slides())
    assert re.search(r'<aside class="notes">(?:(?!</aside>).)*Because\.', page, re.DOTALL)


def test_an_output_waits_for_a_key_unless_it_is_alone_on_its_slide():
    question = new_markdown_cell("## Part\n\nWhat will it print?")
    printed = [new_output("stream", name="stdout", text="1\n")]
    cells = [
        question,
        new_code_cell("print(1)", outputs=printed),
        new_markdown_cell("So."),
        picture(),
        picture(),
    ]
    page = slides.html(new_notebook(cells=cells), "some", {}, Slides())
    waits = [cell.metadata.transient["waits"] for cell in deck(cells) if cell.get("outputs")]
    assert waits == [True, True, False]  # the second picture has a slide of its own
    assert page.count('<div class="fragment">') == 2


def test_every_slide_has_a_title():
    for cell in deck([new_markdown_cell("## A"), *(picture() for _ in range(3))]):
        assert kind(cell) not in ("slide", "subslide") or cell.source.startswith("#")


PLAN = LessonPlan(
    goals="Goals.",
    rows=(
        (5, "*Predict:* of section 3"),
        (9, "Sections 1 and 2: more"),
        (4, '*Going deeper*, "Why?": a proof'),
    ),
    texts={"Widget": "`some_explorer`: turn it.", "Questions": "Q"},
)
HEADINGS = ("Predict first", "1. A", "2. B", "3. C", "4. Back to the question", "Going deeper")


def test_the_slides_follow_the_plan_and_their_notes_carry_it():
    cells = [new_markdown_cell(f"## {heading}\n\ntext") for heading in HEADINGS]
    cells[1:1] = [new_code_cell("some_explorer()", outputs=picture().outputs)]
    cells += [new_markdown_cell(text) for text in ("### How?\n\nx", "### Why?\n\ny", "z", "## Sources")]
    choice = Slides(plan=PLAN)
    found = choice.preprocess(new_notebook(cells=cells), {})[0].cells
    opened = [cell.source.split("\n")[0].strip("# ") for cell in found if kind(cell) == "slide"]
    assert opened == ["Predict first", "1. A", "2. B", "Why?", "4. Back to the question"]
    assert choice.not_shown == ("3. C", "Sources")
    before = {after.source: cell.source for cell, after in zip(found, found[1:], strict=False)}
    assert before["**9 minutes.** Sections 1 and 2: more"] == "## 2. B\n\ntext"
    assert before["**Widget.**\n\n`some_explorer`: turn it."] == "some_explorer()"
    assert before["**Questions.**\n\nQ"].startswith("## 4. Back")
    whole = deck(cells, plan=PLAN, whole=True)
    assert "## 3. C\n\ntext" in [cell.source for cell in whole]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name.partition("_")[0])
def test_a_deck_has_the_headings_and_the_words_of_its_notebook(path: Path):
    """Each section of the plan is there, in order; each step of the plan has its slide; no word is lost."""
    nb, plan = nbformat.from_dict(json.loads(path.read_text("utf-8"))), slides.plan_of(path)
    for cell in nb.cells:
        cell.source = "".join(cell.source)
        for output in cell.get("outputs", []):
            output.update({key: "".join(output[key]) for key in ("text",) if key in output})
    folded = r"(?s)<details>.*?</details>"
    read = [re.sub(folded, "", cell.source) for cell in nb.cells if cell.cell_type == "markdown"]
    sections = re.findall(r"(?m)^## (.*)", "\n".join(read))
    choice = Slides(most=999, plan=plan)
    cells = [cell for cell in choice.preprocess(nb, {})[0].cells if kind(cell) != "skip"]
    said = [cell.source for cell in cells if kind(cell) == "notes"]
    seen = [cell.source for cell in cells if cell.cell_type == "markdown" and cell.source not in said]
    shown = re.findall(r"(?m)^## (.*)", "\n".join(seen))
    if plan:
        wanted = [one for one in sections if plan.of(one) or re.match(CONCLUSION, one)]
        steps = [text for text in plan.rows if text[1] != "Exercise"]
        assert {f"**{minutes} minutes.** {text}" for minutes, text in steps} <= set(said)
    else:
        wanted = [one for one in sections if not one.startswith(("Going deeper", "Sources"))]
    assert shown == wanted and (not plan or re.match(CONCLUSION, shown[-1]))
    words = set(" ".join(seen).split())
    for text in read:
        section = re.search(r"(?m)\A## (.*)", text)
        if section and section[1] in wanted:  # a cell that begins a section is on slides word for word
            assert set(text.split("\n## ")[0].split()) <= words


def test_a_folded_cell_is_left_out_unless_it_has_an_output():
    said = new_output("stream", name="stdout", text="216 sentences\n")
    folded = [new_code_cell("# @title Imports"), new_code_cell("# @title Data", outputs=[said])]
    assert types([new_markdown_cell("## Part"), *folded], most=40) == ["slide", "skip", "-"]


def test_what_has_no_room_goes_on_to_the_next_slide_and_drawing_code_is_left_out():
    shown = new_output("display_data", {"image/png": png(900, 300)}, metadata={"image/png": {"width": 600}})
    drawing = new_code_cell("draw()", outputs=[shown])
    long = [new_code_cell("\n".join(["1"] * 13)) for _ in range(2)]
    setup = new_code_cell("# @title Setup: what the course runs on")
    cells = [new_markdown_cell("## Part"), setup, new_code_cell("1"), *long, drawing]
    assert [kind(cell) for cell in deck(cells)] == ["slide", "skip", "-", "-", "subslide", "-", "-"]
    assert drawn(drawing) == 200  # 600 pixels across, three times as wide as high
    shrink(drawing, -50)  # there is room
    assert size(shown) == (600, 200)
    page = slides.html(new_notebook(cells=cells), "some", {}, Slides())
    assert "draw()" not in page and shown.data["image/png"] in page and "@title" not in page


def test_a_picture_shrinks_in_both_directions():
    shown = new_output("display_data", {"image/png": png(900, 1800)}, metadata={"image/png": {"width": 450}})
    cell = new_code_cell("draw()", outputs=[shown])
    assert size(shown) == (450, 900) and drawn(cell) == TALLEST
    shrink(cell, 100)
    assert size(shown) == (250, 500)


def test_the_command_that_the_teaching_guide_names_writes_slides(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(environment, "provide", lambda extra, what: None)
    monkeypatch.setattr(slides, "carried", dict)
    guide = (environment.ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    (name,) = re.findall(r"`python -m course_lib slides (notebooks/\S+)`", guide)
    assert slides.run(Namespace(notebooks=[environment.ROOT / name], to=tmp_path, most=40, whole=False)) == 0
    page = (tmp_path / f"{Path(name).stem}.slides.html").read_text(encoding="utf-8")
    assert 20 < page.count("<section") < 80
    with pytest.raises(OSError, match="no_such"):
        slides.run(Namespace(notebooks=[Path("no_such.ipynb")], to=tmp_path, most=40, whole=False))

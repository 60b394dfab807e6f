"""What is on which slide; how the slides look is tested in a browser."""

import base64
import io
import json
import re
from argparse import Namespace
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

from course_lib.cli import environment, slides
from course_lib.cli.slide_parts import CONCLUSION, LessonPlan, lesson_plan
from course_lib.cli.slide_types import CODE, ROOM, TALLEST, Slides, drawn, height, shorten, shrink, size

NOTEBOOKS = sorted((environment.ROOT / "notebooks").glob("[0-9A]*.ipynb"))


def picture(width: int = 400, high: int = 300, shown: int | None = None) -> NotebookNode:
    """A cell that draws. shown: the width on the page."""
    file = io.BytesIO()
    Image.new("1", (width, high)).save(file, format="png")
    png = {"image/png": base64.b64encode(file.getvalue()).decode()}
    metadata = {"image/png": {"width": shown}} if shown else {}
    return new_code_cell("draw()", outputs=[new_output("display_data", png, metadata=metadata)])


def printing(text: str, source: str = "f()") -> NotebookNode:
    return new_code_cell(source, outputs=[new_output("stream", name="stdout", text=text)])


def texts(*sources: str) -> list[NotebookNode]:
    return [new_markdown_cell(source) for source in sources]


def kind(cell: NotebookNode) -> str:
    return cell.metadata["slideshow"]["slide_type"]


def deck(cells: list[NotebookNode], **choice) -> list[NotebookNode]:
    return Slides(**choice).preprocess(new_notebook(cells=cells), {})[0].cells


def page_of(cells: list[NotebookNode], **metadata) -> str:
    return slides.html(new_notebook(cells=cells, metadata=metadata), "title", {}, Slides())


def types(cells: list[NotebookNode]) -> list[str]:
    """The slide types of the cells, without the titles that were added."""
    return [kind(cell) for cell in deck(cells) if not cell.source.startswith("#### ")]


def chapter() -> list[NotebookNode]:
    """Two sections of three slides each; the last slide of the second one has a picture."""
    return [*texts("## A", "a1", "a2", "## B", "b1", "b2"), picture()]


@pytest.mark.parametrize(
    ("most", "shown"),
    [(6, ["a1", "a2", "b1", "b2", "draw()"]), (2, []), (3, ["b2", "draw()"]), (4, ["a1", "b2", "draw()"])],
)
def test_a_long_chapter_keeps_its_headings_then_its_pictures_then_what_comes_first(most, shown):
    cells = [cell for cell in deck(chapter(), most=most) if kind(cell) != "skip"]
    assert [cell.source for cell in cells if cell.source[0] != "#"] == shown


def test_printed_text_that_is_too_long_is_cut_and_says_so():
    cell = printing("".join(f"{i}\n" for i in range(100)), "for i in range(100):\n    print(i)")
    shorten(cell, ROOM)
    lines = cell.outputs[0].text.splitlines()
    assert ROOM - 2 * CODE < height(cell) <= ROOM
    assert lines[:-1] == [str(i) for i in range(len(lines) - 1)]
    assert lines[-1] == f"… {100 - len(lines) + 1} more lines in the notebook"


def test_the_page_contains_what_it_needs_and_the_command_says_what_is_left_out():
    assets = {"reveal_js": "var Reveal = 'here';", "mathjax_js": "var math = 'here';", "reveal_css": ".r {}"}
    choice = Slides(most=4)
    page = slides.html(new_notebook(cells=[*chapter(), *texts("## Sources")]), "title", assets, choice)
    assert choice.left_out == 2 and all(one in page for one in assets.values())
    assert "--most 6" in slides.said(choice) and "Sources" in slides.said(choice)


def test_a_notebook_that_colab_saved_becomes_slides():
    state = {"application/vnd.jupyter.widget-state+json": {"x": {}}}
    assert "b2" in page_of(chapter(), widgets=state, colab={"provenance": []})


def test_a_script_within_a_page_cannot_end_it(tmp_path):
    (tmp_path / "a.js").write_text('x = "</script><!--"')
    (tmp_path / "a.css").write_text("@import url(./fonts/a.css);\np {}")
    assert slides.inline(tmp_path / "a.js") == r'x = "<\/script><\!--"'
    assert slides.inline(tmp_path / "a.css") == "\np {}"


def test_a_heading_begins_a_slide_and_every_slide_has_a_title():
    chosen = new_code_cell("1", metadata={"slideshow": {"slide_type": "fragment"}})
    cells = [*texts("# Title", "Text.", "## Part", "### Detail"), new_code_cell("1"), chosen]
    assert types(cells) == [*["slide", "subslide"] * 2, "-", "fragment"]
    both = "The answer.\n\n## 7. Next\n\n### First\n\nText.\n\n### Second\n\nMore."
    assert [(cell.source.split("\n")[0], kind(cell)) for cell in deck(texts("## 6. A", both))] == [
        ("## 6. A", "slide"),
        ("#### 6. A", "subslide"),
        ("The answer.", "-"),
        ("## 7. Next", "slide"),
        ("### Second", "subslide"),
    ]
    by_hand = new_markdown_cell(both, metadata={"slideshow": {"slide_type": "notes"}})
    assert types([*texts("```python\n## a comment\n```"), by_hand]) == ["subslide", "notes"]
    for cell in deck([*texts("## A"), picture(), picture(), picture()]):
        assert kind(cell) not in ("slide", "subslide") or cell.source.startswith("#")


def test_what_is_folded_becomes_a_note_and_the_text_around_it_stays():
    answer = "<details><summary>Answer</summary>Because.\n\n```python\n## x\n```\n</details>"
    cells = texts(f"## 2. Norms\n\nWhy?\n{answer}\n\nSo.")
    assert [(cell.source, kind(cell)) for cell in deck(cells)] == [
        ("## 2. Norms\n\nWhy?", "slide"),
        ("**Answer.**\n\nBecause.\n\n```python\n## x\n```", "notes"),
        ("#### 2. Norms", "subslide"),
        ("So.", "-"),
    ]
    assert re.search(r'<aside class="notes">(?:(?!</aside>).)*Because\.', page_of(cells), re.DOTALL)


def test_an_output_waits_for_a_key_unless_it_is_alone_on_its_slide():
    question, so = texts("## Part\n\nWhat will it print?", "So.")
    cells = [question, printing("1\n"), so, picture(), picture()]
    page = page_of(cells)
    waits = [cell.metadata.transient["waits"] for cell in deck(cells) if cell.get("outputs")]
    assert waits == [True, True, False]  # the second picture has a slide of its own
    assert page.count('<div class="fragment">') == 2


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
    cells = texts(*(f"## {heading}\n\ntext" for heading in HEADINGS))
    cells[1:1] = [new_code_cell("some_explorer()", outputs=picture().outputs)]
    cells += texts("### How?\n\nx", "### Why?\n\ny", "z", "## Sources")
    choice = Slides(plan=PLAN)
    found = choice.preprocess(new_notebook(cells=cells), {})[0].cells
    opened = [cell.source.split("\n")[0].strip("# ") for cell in found if kind(cell) == "slide"]
    assert opened == ["Predict first", "1. A", "2. B", "Why?", "4. Back to the question"]
    assert choice.not_shown == ("3. C", "Sources")
    before = {after.source: cell.source for cell, after in zip(found, found[1:], strict=False)}
    assert before["**9 minutes.** Sections 1 and 2: more"] == "## 2. B\n\ntext"
    assert before["**Widget.**\n\n`some_explorer`: turn it."] == "some_explorer()"
    assert before["**Questions.**\n\nQ"].startswith("## 4. Back")
    assert "## 3. C\n\ntext" in [cell.source for cell in deck(cells, plan=PLAN, whole=True)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name.partition("_")[0])
def test_a_deck_has_the_headings_and_the_words_of_its_notebook(path: Path):
    """Each section of the plan is there, in order; each step of the plan has its slide; no word is lost."""
    nb, plan = nbformat.from_dict(json.loads(path.read_text("utf-8"))), lesson_plan(path.name.split("_")[0])
    for cell in nb.cells:
        cell.source = "".join(cell.source)
        for output in cell.get("outputs", []):
            output.update({key: "".join(output[key]) for key in ("text",) if key in output})
    folded = r"(?s)<details>.*?</details>"
    read = [re.sub(folded, "", cell.source) for cell in nb.cells if cell.cell_type == "markdown"]
    sections = re.findall(r"(?m)^## (.*)", "\n".join(read))
    cells = [cell for cell in deck(nb.cells, most=999, plan=plan) if kind(cell) != "skip"]
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
    folded = [new_code_cell("# @title Imports"), printing("216 sentences\n", "# @title Data")]
    assert types([*texts("## Part"), *folded]) == ["slide", "skip", "-"]


def test_what_has_no_room_goes_on_to_the_next_slide_and_drawing_code_is_left_out():
    drawing = picture(900, 300, shown=600)
    long = [new_code_cell("\n".join(["1"] * 13)) for _ in range(2)]
    setup = new_code_cell("# @title Setup: what the course runs on")
    cells = [*texts("## Part"), setup, new_code_cell("1"), *long, drawing]
    assert [kind(cell) for cell in deck(cells)] == ["slide", "skip", "-", "-", "subslide", "-", "-"]
    assert drawn(drawing) == 200  # 600 pixels across, three times as wide as high
    shrink(drawing, -50)  # there is room
    assert size(drawing.outputs[0]) == (600, 200)
    page = page_of(cells)
    assert "draw()" not in page and drawing.outputs[0].data["image/png"] in page and "@title" not in page


def test_a_picture_shrinks_in_both_directions():
    cell = picture(900, 1800, shown=450)
    assert size(cell.outputs[0]) == (450, 900) and drawn(cell) == TALLEST
    shrink(cell, 100)
    assert size(cell.outputs[0]) == (250, 500)


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

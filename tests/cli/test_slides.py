"""What is on which slide; how the slides look is tested in a browser."""

import base64
import re
import struct
from argparse import Namespace
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_lib.cli import environment, slides
from course_lib.cli.slide_types import CODE, ROOM, TALLEST, Slides, drawn, height, shorten, shrink, size


def png(width: int, high: int) -> str:
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 8 + struct.pack(">II", width, high)).decode()


def picture() -> NotebookNode:
    return new_code_cell("draw()", outputs=[new_output("display_data", {"image/png": png(400, 300)})])


def types(cells: list[NotebookNode], most: int) -> list[str]:
    nb, _ = Slides(most=most).preprocess(new_notebook(cells=cells), {})
    return [cell.metadata["slideshow"]["slide_type"] for cell in nb.cells]


def chapter() -> list[NotebookNode]:
    """Two sections of three slides each; the last slide of the second one has a picture."""
    texts = [new_markdown_cell(text) for text in ("## A", "a1", "a2", "## B", "b1", "b2")]
    return [*texts, picture()]


def test_a_chapter_that_fits_is_whole():
    assert types(chapter(), 6) == ["slide", "subslide", "subslide"] * 2 + ["-"]


def test_a_long_chapter_keeps_its_headings_then_its_pictures_then_what_comes_first():
    assert types(chapter(), 2) == ["slide", "skip", "skip", "slide", "skip", "skip", "skip"]
    assert types(chapter(), 3) == ["slide", "skip", "skip", "slide", "skip", "subslide", "-"]
    assert types(chapter(), 4) == ["slide", "subslide", "skip", "slide", "skip", "subslide", "-"]


def test_printed_text_that_is_too_long_is_cut_and_says_so():
    printed = new_output("stream", name="stdout", text="".join(f"{i}\n" for i in range(100)))
    cell = new_code_cell("for i in range(100):\n    print(i)", outputs=[printed])
    shorten(cell, ROOM)
    lines = cell.outputs[0].text.splitlines()
    assert ROOM - 2 * CODE < height(cell) <= ROOM
    assert lines[:-1] == [str(i) for i in range(len(lines) - 1)]
    assert lines[-1] == f"… {100 - len(lines) + 1} more lines in the notebook"


def test_the_page_says_how_many_slides_are_left_out_and_contains_what_it_needs():
    assets = {"reveal_js": "var Reveal = 'here';", "mathjax_js": "var math = 'here';", "reveal_css": ".r {}"}
    page, left_out = slides.html(new_notebook(cells=chapter()), "title", assets, most=4)
    assert left_out == 2 and all(one in page for one in assets.values())
    assert (
        slides.said(2, 4) == " 2 slides are left out; for all of them: --most 6" and slides.said(0, 4) == ""
    )


def test_a_script_within_a_page_cannot_end_it(tmp_path):
    (tmp_path / "a.js").write_text('x = "</script><!--"')
    (tmp_path / "a.css").write_text("@import url(./fonts/a.css);\np {}")
    assert slides.inline(tmp_path / "a.js") == r'x = "<\/script><\!--"'
    assert slides.inline(tmp_path / "a.css") == "\np {}"


def test_a_heading_begins_a_slide_and_solutions_are_left_out():
    solution = new_markdown_cell("<details>\n<summary>Solution</summary>\n</details>")
    chosen = new_code_cell("1", metadata={"slideshow": {"slide_type": "fragment"}})
    texts = [new_markdown_cell(text) for text in ("# Title", "Text.", "## Part", "### Detail")]
    kinds = types([*texts, new_code_cell("1"), chosen, solution], most=40)
    assert kinds == ["slide", "subslide", "slide", "subslide", "-", "fragment", "skip"]


def test_a_heading_in_the_middle_of_a_cell_begins_a_slide():
    both = new_markdown_cell("The answer.\n\n## 7. Next\n\nText.")
    nb, _ = Slides().preprocess(new_notebook(cells=[new_markdown_cell("## 6. Before"), both]), {})
    assert [(cell.source, cell.metadata.slideshow.slide_type) for cell in nb.cells] == [
        ("## 6. Before", "slide"),
        ("The answer.", "subslide"),
        ("## 7. Next\n\nText.", "slide"),
    ]
    code = new_markdown_cell("```python\n## a comment\n```")
    by_hand = new_markdown_cell(both.source, metadata={"slideshow": {"slide_type": "notes"}})
    assert types([code, by_hand], most=40) == ["subslide", "notes"]


def test_a_folded_cell_is_left_out_unless_it_has_an_output():
    said = new_output("stream", name="stdout", text="216 sentences\n")
    folded = [new_code_cell("# @title Imports"), new_code_cell("# @title Data", outputs=[said])]
    assert types([new_markdown_cell("## Part"), *folded], most=40) == ["slide", "skip", "-"]


def test_what_has_no_room_goes_on_to_the_next_slide_and_drawing_code_is_left_out():
    shown = new_output("display_data", {"image/png": png(900, 300)}, metadata={"image/png": {"width": 600}})
    drawing = new_code_cell("draw()", outputs=[shown])
    long = [new_code_cell("\n".join(["1"] * 14)) for _ in range(2)]
    setup = new_code_cell("# @title Setup: what the course runs on")
    cells = [new_markdown_cell("## Part"), setup, new_code_cell("1"), *long, drawing]
    assert types(cells, most=40) == ["slide", "skip", "-", "-", "subslide", "-"]
    assert drawn(drawing) == 200  # 600 pixels across, three times as wide as high
    shrink(drawing, -50)  # there is room
    assert size(shown) == (600, 200)
    page, _ = slides.html(new_notebook(cells=cells), "some", {})
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
    assert slides.run(Namespace(notebooks=[environment.ROOT / name], to=tmp_path, most=40)) == 0
    page = (tmp_path / f"{Path(name).stem}.slides.html").read_text(encoding="utf-8")
    assert 20 < page.count("<section") < 80
    with pytest.raises(OSError, match="no_such"):
        slides.run(Namespace(notebooks=[Path("no_such.ipynb")], to=tmp_path, most=40))

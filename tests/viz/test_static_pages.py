"""Notebooks as static pages, sanitized or not: every picture is there, and its alt text can be heard."""

from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import bleach
import pytest
from nbconvert import HTMLExporter
from nbconvert.filters.markdown import markdown2html
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

from course_lib.cli import notebook_io
from course_lib.cli.environment import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# GitHub keeps these; nbconvert's own list has neither paragraphs nor folded parts (github/markup's README).
GITHUB_TAGS = sorted(
    {*bleach.ALLOWED_TAGS, "details", "summary", "p", "img", "table", "tr", "td", "th", "pre"}
)


class Page(HTMLParser):
    """The pictures of a page, the titles of its `abbr` elements, and its text but for scripts and styles."""

    def __init__(self, notebook: NotebookNode, sanitize: bool):
        super().__init__()
        self.pictures: Counter[str] = Counter()
        self.titles: Counter[str] = Counter()
        self.text, self.read = "", True
        page, _ = HTMLExporter(sanitize_html=sanitize).from_notebook_node(notebook)
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values, self.read = dict(attributes), tag not in ("script", "style")
        if tag == "img" and (values.get("src") or "").startswith("data:image/png;base64,"):
            self.pictures[values["src"].partition(",")[2].strip()] += 1
        elif tag == "abbr":
            self.titles[values.get("title") or ""] += 1

    def handle_data(self, data: str) -> None:
        self.text += data if self.read else ""


def pictures_in(notebook: NotebookNode) -> list[NotebookNode]:
    """The data of the outputs with a picture."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.data for output in outputs if "image/png" in output.get("data", {})]


def missing(notebook: NotebookNode, sanitize: bool) -> tuple[Counter[str], Counter[str]]:
    """The stored pictures that are not on the page, and the alt texts that cannot be heard there."""
    page = Page(notebook, sanitize)
    shown = pictures_in(notebook)
    pictures = Counter(data["image/png"].strip() for data in shown) - page.pictures
    alts = Counter(data.get("text/plain", "") for data in shown) - page.titles
    assert "base64" not in page.text and "<abbr" not in page.text and "<img" not in page.text
    return pictures, alts


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_picture_and_alt_text_survives_sanitizing(path: Path) -> None:
    notebook = notebook_io.read(path)
    assert pictures_in(notebook)
    assert missing(notebook, sanitize=True) == (Counter(), Counter())


def test_every_picture_and_alt_text_is_on_a_page_as_it_is() -> None:
    assert missing(notebook_io.read(NOTEBOOKS[0]), sanitize=False) == (Counter(), Counter())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_everything_folded_stays_folded(path: Path) -> None:
    texts = [cell.source for cell in notebook_io.read(path).cells if cell.cell_type == "markdown"]
    for text in texts:
        page = bleach.clean(markdown2html(text), tags=GITHUB_TAGS)
        assert page.count("<details") == page.count("</details>") == text.count("<details")
        assert page.count("<summary") == text.count("<summary")


def test_what_does_not_survive_is_found() -> None:
    picture = new_output("display_data", {"image/png": "iVBO", "text/plain": "A line."})
    hidden = new_output("display_data", {"text/html": '<span role="img" aria-label="A line."></span>'})
    inside = new_output("display_data", {"text/html": '<img alt="a" src="data:image/png;base64,iVBO">'})
    cell = new_code_cell("draw()", outputs=[picture, hidden])
    assert missing(new_notebook(cells=[cell]), sanitize=False) == (Counter(), Counter({"A line.": 1}))
    cell.outputs = [inside]
    with pytest.raises(AssertionError):
        missing(new_notebook(cells=[cell]), sanitize=True)

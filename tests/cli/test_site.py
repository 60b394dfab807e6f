"""The site's sources, its reference, and the check of what was built; Sphinx itself is not needed here."""

import base64
import shutil
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_lib.cli import colab, notebook_io, site, site_reference, site_sources
from course_lib.cli.environment import ROOT
from course_lib.cli.github import Repository

PAGES = {
    "README.md": "index.md",
    "docs/results.md": "docs/results.md",
    "notebooks/01_a.ipynb": "notebooks/01_a.ipynb",
}
REPOSITORY = Repository("owner/name", "main")
PNG = base64.b64encode(b"a picture").decode()


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        ("[one](../notebooks/01_a.ipynb#top)", "docs/results.md", "[one](../notebooks/01_a.ipynb#top)"),
        ("[home](../README.md)", "docs/results.md", "[home](../index.md)"),
        ('<a href="docs/results.md">', "README.md", '<a href="docs/results.html">'),
        ("[![a](docs/a.png)](docs/results.md)", "README.md", "[![a](docs/a.png)](docs/results.md)"),
        ("[web](https://example.org)", "README.md", "[web](https://example.org)"),
        ("[license](LICENSE)", "README.md", "[license](https://github.com/owner/name/blob/main/LICENSE)"),
        ("[gone](no_such_file)", "README.md", "gone"),
        ("`[a](b)` and\n```\n[a](b)\n```", "README.md", "`[a](b)` and\n```\n[a](b)\n```"),
        ("[![badge](https://a/b.svg)](https://a) text", "README.md", " text"),
        ("| 5 min | [![Open](https://a/b.svg)](https://a) |", "README.md", "| 5 min | [Open](https://a) |"),
    ],
)
def test_links_are_right_in_the_site(text, source, expected):
    assert site_sources.relinked(text, source, PAGES, REPOSITORY) == expected


def test_without_a_repository_a_link_to_a_file_of_it_is_plain_text():
    text = '[license](LICENSE) <a href="LICENSE">it</a>'
    assert site_sources.relinked(text, "README.md", PAGES, None) == "license <a>it</a>"


def test_a_cell_with_a_title_or_hidden_source_is_folded_and_alt_texts_are_not_repeated():
    picture = new_output("display_data", {"image/png": PNG, "text/plain": "A line."})
    spoken = new_output("display_data", {"text/html": '<abbr role="img" title="A line."></abbr>'})
    table = new_output("display_data", {"text/html": "<table></table>"})
    hidden = {"jupyter": {"source_hidden": True}}
    cells = [
        new_code_cell("# @title Setup: says more\nx = 1"),
        new_code_cell("draw()", metadata=hidden, outputs=[picture, spoken, table]),
        new_code_cell("y = 2"),
        new_markdown_cell(" "),
    ]
    nb = new_notebook(cells=cells)
    site_sources.prepare(nb, lambda text: text)
    assert [cell.metadata.get("tags") for cell in nb.cells] == [["hide-input"], ["hide-input"], None]
    assert nb.cells[0].metadata["mystnb"]["code_prompt_show"] == "Setup"
    assert nb.cells[1].outputs == [picture, table]


def test_the_front_page_leads_to_the_explorer_that_its_motion_picture_shows():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    page = site_sources.with_explorer(text)
    picture, link = page.index("docs/images/model_explorer.png)"), page.index('<a href="explorer.html">')
    assert 0 < link - picture < 100
    with pytest.raises(ValueError, match="model_explorer.png"):
        site_sources.with_explorer("No picture.")


def test_every_notebook_and_guide_is_in_the_table_of_contents():
    listed = set(site_sources.contents(site_sources.listed(ROOT)).split())
    files = [*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "docs").glob("*.md")]
    assert {f"{path.parent.name}/{path.stem}" for path in files} <= listed


def test_without_solutions_the_site_has_the_notebooks_of_release_and_no_guide_for_instructors():
    notebook = ROOT / "notebooks" / "01_softmax_and_scaling.ipynb"
    full, handed_out = (str(site_sources.stored(notebook, solutions)) for solutions in (True, False))
    assert "<summary>Solution" in full and "large - large.max()" in full
    assert "<summary>Solution" not in handed_out and "large - large.max()" not in handed_out
    assert set(site_sources.listed(ROOT)) >= site_sources.INSTRUCTORS


def test_the_stamp_is_read_from_the_notebooks(tmp_path):
    (tmp_path / "notebooks").mkdir()
    copy = tmp_path / "notebooks" / "01_softmax_and_scaling.ipynb"
    shutil.copy(ROOT / "notebooks" / copy.name, copy)
    colab.stamp(tmp_path, None)
    assert colab.stamped_as(tmp_path) is None
    stamp = Repository("owner/a.name", "course/2027")
    colab.stamp(tmp_path, stamp)
    assert colab.stamped_as(tmp_path) == stamp


def test_a_docstring_becomes_markup_that_shows_the_same_text():
    docstring = "A *b* of `c_`.\nIt goes on.\n\nIndented:\n\n    code()\n"
    assert site_reference.restructured("Mean of x_.\nids, pad: the two\ngo on.\nRaises ValueError.") == (
        "Mean of x\\_.\n\n* ``ids, pad``: the two go on.\n\nRaises ValueError.\n"
    )
    assert "A \\*b\\* of ``c_``. It goes on." in site_reference.restructured(docstring)
    assert "::\n\n        code()" in site_reference.restructured(docstring)
    assert site_reference.restructured("A.\n\n>>> f()\n[[1],\n [2]]") == "A.\n\n>>> f()\n[[1],\n [2]]\n"


def built(folder: Path, page: str) -> Path:
    """A site of one page, and the notebook it was made from, beside it."""
    (folder / "site" / "notebooks").mkdir(parents=True)
    (folder / "site" / "notebooks" / "one.html").write_text(page, encoding="utf-8")
    (folder / "site" / "one.png").write_bytes(b"a picture")
    picture = new_output("display_data", {"image/png": PNG, "text/plain": "A line."})
    notebook_io.write(new_notebook(cells=[new_code_cell("draw()", outputs=[picture])]), folder / "one.ipynb")
    return folder / "site"


GOOD = '<h1 id="top"></h1><a href="#top">a</a><img src="../one.png" alt="A line."><a href="https://a.b">c</a>'


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ('<a href="two.html">b</a>', "two.html does not exist"),
        ('<a href="one.html#end">b</a>', "one.html#end has no such anchor"),
        ('<a href="/notebooks/one.html">b</a>', "/notebooks/one.html does not exist"),
        ('<script src="https://a.b/c.js"></script>', "https://a.b/c.js is loaded from the web"),
        ('<link rel="stylesheet" href="//a.b/c.css">', "//a.b/c.css is loaded from the web"),
    ],
)
def test_a_reference_that_does_not_work_from_a_disk_is_found(tmp_path, more, fault):
    assert list(site.broken(built(tmp_path / "good", GOOD))) == []
    assert list(site.broken(built(tmp_path, GOOD + more))) == [f"notebooks/one.html: {fault}"]


@pytest.mark.parametrize(
    ("page", "times"),
    [
        (GOOD, 1),
        (GOOD + '<img src="../one.png" alt="A line.">', 2),
        ('<img src="../one.png" alt="_images/one.png">', 0),
        ("", 0),
    ],
)
def test_a_picture_that_is_lost_doubled_or_without_its_alt_text_is_found(tmp_path, page, times):
    found = list(site.lost_pictures(built(tmp_path, page), tmp_path))
    said = f"notebooks/one.html: shown {times} times instead of 1: A line."
    assert found == ([] if times == 1 else [said])


def test_only_a_site_is_replaced(tmp_path):
    site.require_replaceable(tmp_path / "new")
    site.require_replaceable(tmp_path)
    (tmp_path / "thesis.txt").write_text("all of it")
    with pytest.raises(ValueError, match="holds something other than a site"):
        site.require_replaceable(tmp_path)
    (tmp_path / ".buildinfo").write_text("")
    site.require_replaceable(tmp_path)

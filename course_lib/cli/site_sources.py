"""What Sphinx reads: the notebooks, the guides and a page for each package, laid out as in the repository.

Nothing is changed in the repository: the copies go to a folder of their own.
"""

import json
import os
import posixpath
import re
import shutil
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_output

from course_lib.cli import colab, explorer_page, maps_page, notebook_io, release, site_reference
from course_lib.cli.github import Repository
from course_lib.cli.requirements import ROOT
from course_lib.utils.chapters import CHAPTER

HOME = "README.md"
EXPLORER = "explorer.html"
MOTION = re.compile(r"!\[[^\]]*\]\(docs/images/model_explorer\.png\)")
MAPS = "maps.html"
INVITATION = (  # raw HTML: Sphinx does not know the pages
    f'<p><a href="{EXPLORER}"><b>Open the model explorer</b></a>: click through a translator and a GPT, '
    "which reads your own text, down to the arithmetic of one attention head.</p>"
    f'<p><a href="{MAPS}"><b>Open the attention maps</b></a> of the chapters: heads, masks, translation, '
    "language models, pixels.</p>"
)
RENAMED = {HOME: "index.md", ".github/CONTRIBUTING.md": "docs/contributing.md"}
GUIDES = ("docs/*.md", ".github/CONTRIBUTING.md", "CHANGELOG.md")
INSTRUCTORS = {"docs/teaching.md"}  # it answers the questions that it suggests
PICTURES = (".gif", ".jpg", ".jpeg", ".png", ".svg", ".webp")
LINK = re.compile(
    r"""(?P<code>^\ *(?P<fence>`{3,}|~{3,}).*?^\ *(?P=fence)|`[^`\n]*`)
    |\[(?P<words>(?:[^\[\]]|\[[^\]]*\](?:\([^)]*\))?)*)\]\((?P<to>[^()\s]+)\)
    |\ href="(?P<href>[^"]*)\"""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
ON_THE_WEB = re.compile(r"[a-z][a-z0-9+.-]*:|//|#")
BADGE_IN_TABLE = re.compile(r"(?m)(?<=\| )\[!\[([^\]]*)\]\(https?://[^)]*\)\](?=\([^)]*\) \|$)")
REMOTE_PICTURE = re.compile(
    r"\[!\[[^\]]*\]\(https?://[^)]*\)\]\([^)]*\)|!\[[^\]]*\]\(https?://[^)]*\)|<img [^>]*src=\"https?://[^>]*>"
)
WIDGET = "Widget: "  # how the text of a widget's picture begins
STILL = "<p><em>A picture of the widget: its controls and text fields work in a running notebook.</em></p>"
TITLED = re.compile(r"# @title (.*)")
SPOKEN = '<abbr role="img"'  # the alt text of the output before it, for pages without a better place for it


def write(folder: Path, solutions: bool = True) -> None:
    """Write the sources into an empty folder. solutions: whether they contain solutions and answers."""
    pages = {source: page for source, page in listed(ROOT).items() if solutions or source not in INSTRUCTORS}
    repository = colab.stamped_as(ROOT)
    for source, page in pages.items():
        written = folder / page
        written.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".ipynb"):
            nb = stored(ROOT / source, solutions)
            prepare(nb, lambda text, source=source: relinked(text, source, pages, repository))
            notebook_io.write(nb, written)
        else:
            text = relinked((ROOT / source).read_text(encoding="utf-8"), source, pages, repository)
            if source == HOME:
                text = with_explorer(text) + contents(pages)
            written.write_text(text, encoding="utf-8")
    (folder / "api").mkdir()
    for name in site_reference.PACKAGES:
        (folder / "api" / f"{name}.rst").write_text(site_reference.page(name), encoding="utf-8")
    for images in ("notebooks/images", "docs/images"):
        for place in (folder, folder / "extra"):  # raw HTML finds its pictures under `extra`
            shutil.copytree(ROOT / images, place / images)
    write_pages(folder / "extra")
    shutil.copytree(ROOT / "docs" / "_static", folder / "_static")
    shutil.copy(ROOT / "docs" / "conf.py", folder)


def stored(notebook: Path, solutions: bool) -> NotebookNode:
    """A notebook of the repository, as it is or as `release` hands it out."""
    nb = notebook_io.read(notebook)
    if not solutions:
        release.without_solutions(nb)
    return nb


def write_pages(folder: Path) -> None:
    """Write the pages that Sphinx does not make, and the scripts of the maps, which chapters show as well."""
    (folder / EXPLORER).write_text(explorer_page.page("notebooks/"), encoding="utf-8")
    maps_page.write_scripts(folder / maps_page.FOLDER)
    (folder / MAPS).write_text(maps_page.page(maps_page.FOLDER, maps_page.chapters(ROOT)), encoding="utf-8")


def with_explorer(text: str) -> str:
    """The front page with a link to the explorer below its motion picture. Raises ValueError without one."""
    if not MOTION.search(text):
        raise ValueError(f"{HOME} does not show docs/images/model_explorer.png, after which the link belongs")
    return MOTION.sub(lambda found: f"{found[0]}\n\n{INVITATION}", text, count=1)


def listed(root: Path) -> dict[str, str]:
    """Each file of the repository that becomes a page, with its place among the sources."""
    found = [root / HOME, *(path for pattern in GUIDES for path in sorted(root.glob(pattern)))]
    found += sorted((root / "notebooks").glob("*.ipynb"))
    names = [path.relative_to(root).as_posix() for path in found]
    return {name: RENAMED.get(name, name) for name in names}


def contents(pages: dict[str, str]) -> str:
    """The table of contents, for the sidebar, in Markdown."""
    notebooks = [page for page in pages.values() if page.endswith(".ipynb")]
    chapters = [page for page in notebooks if re.match(rf"{CHAPTER}_", posixpath.basename(page))]
    guides = [page for page in pages.values() if page.endswith(".md") and page != RENAMED[HOME]]
    parts = {
        "Chapters": chapters,
        "Guides": guides + [page for page in notebooks if page not in chapters],
        "Reference": [f"api/{name}.rst" for name in site_reference.PACKAGES],
    }
    trees = ""
    for caption, listed in parts.items():
        names = "\n".join(posixpath.splitext(page)[0] for page in listed)
        trees += f"\n\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{names}\n```\n"
    return trees


def prepare(nb: NotebookNode, relink) -> None:
    """Make a notebook a page of the site, in place.

    The badge goes (the site has launch buttons), titled and hidden cells are folded, and a picture's alt text
    is left to the picture. A map that needs no kernel follows its picture, and takes its place in a browser;
    any other widget stays a picture, and the page says so.
    relink: converts the text of a cell.
    """
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            cell.source = relink(cell.source)
        elif cell.cell_type == "code":
            fold(cell)
            cell.outputs = [one for one in cell.outputs if not begins(one, "text/html", SPOKEN)]
            added = None
            if name := maps_page.shown_by(cell.source):
                added = maps_page.element(name, f"../{maps_page.FOLDER}")
            elif any(begins(one, "text/plain", WIDGET) for one in cell.outputs):
                added = STILL
            if added:
                cell.outputs.append(new_output("display_data", {"text/html": added}))
    nb.cells = [cell for cell in nb.cells if cell.source.strip()]


def fold(cell: NotebookNode) -> None:
    """Hide the code of a cell with a title, or whose source is hidden in JupyterLab, behind one line."""
    title = TITLED.match(cell.source)
    if title or cell.metadata.get("jupyter", {}).get("source_hidden"):
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), "hide-input"]
        name = title[1].partition(":")[0] if title else "Show code"
        cell.metadata["mystnb"] = {"code_prompt_show": name, "code_prompt_hide": name}


def begins(output: NotebookNode, kind: str, text: str) -> bool:
    return output.get("data", {}).get(kind, "").startswith(text)


def relinked(text: str, source: str, pages: dict[str, str], repository: Repository | None) -> str:
    """A file's Markdown with links that are right in the site, and without pictures from the web.

    A badge in a table becomes a link with its words, and other badges are dropped. A link to a file that is
    not a page leads to the repository on GitHub; without one, it becomes plain text.
    """

    def link(found: re.Match) -> str:
        if found["code"]:
            return found[0]
        target = target_of(found["to"] or found["href"], source, pages, repository)
        if found["to"]:
            return f"[{found['words']}]({target})" if target else found["words"]
        page = re.sub(r"\.(md|ipynb)(?=#|$)", ".html", target or "")  # Sphinx leaves raw HTML as it is
        return f' href="{page}"' if target else ""

    return LINK.sub(link, REMOTE_PICTURE.sub("", BADGE_IN_TABLE.sub(r"[\1]", text)))


def target_of(target: str, source: str, pages: dict[str, str], repository: Repository | None) -> str | None:
    """Where a link of the file `source` leads in the site; None if nowhere."""
    if ON_THE_WEB.match(target):
        return target
    path, mark, anchor = target.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if file in pages:
        return posixpath.relpath(pages[file], posixpath.dirname(pages[source]) or ".") + mark + anchor
    if file.endswith(PICTURES):
        return posixpath.relpath(file, posixpath.dirname(pages[source]) or ".")
    if repository is None or not os.path.exists(ROOT / file):
        return None
    return f"{colab.GITHUB}/{repository.name}/blob/{repository.branch}/{file}{mark}{anchor}"


def pictures(notebook: Path) -> list[tuple[str, str, int | None]]:
    """The pictures of a notebook, in order: the PNG in base64, the alt text, and the width on the page."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    found = []
    for output in (output for cell in cells for output in cell.get("outputs", [])):
        data = output.get("data", {})
        if "image/png" in data:
            width = output["metadata"].get("image/png", {}).get("width")
            found.append(("".join(data["image/png"]), "".join(data.get("text/plain", "")), width))
    return found

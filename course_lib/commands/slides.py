"""`slides`: a notebook as slides, for those who want them.

A heading begins a slide, each further text one below it, and code stays with the text before it while there
is room. Solutions, set-up and imports are left out, and so is the code of a cell that draws. What was set by
hand in JupyterLab (*Property inspector → Slide type*) stays as it is.
"""

import argparse
import base64
import re
import struct
from pathlib import Path

from nbconvert import SlidesExporter
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode

from course_lib.commands import stored
from course_lib.commands.environment import SetUpError
from course_lib.files import atomic_path

HELP = "makes slides of notebooks: one page for each, for the browser"
WIDTH, HEIGHT = 1280, 720  # of a slide; a browser enlarges it to its window
ROOM = 660  # of its height, in pixels, what may stand on it
ACROSS = 100  # letters of text in a line
TEXT, CODE, HEADING, GAP = 34, 21, 70, 14  # heights, in pixels, of a line of each kind, and of a gap
PICTURE = re.compile(r'<img [^>]*width="(\d+)"[^>]*src="data:image/png;base64,([^"]+)"')
TALLEST = 600  # a picture
SMALLEST = 400  # to this height a picture shrinks, so that it stands below its text
STYLE = f"""<style>
:root {{ --jp-cell-prompt-width: 0px; --jp-code-font-size: 16.5px; --jp-content-font-size1: 24px; }}
.reveal .jp-InputPrompt, .reveal .jp-OutputPrompt {{ display: none; }}
.reveal .slides section {{ font-size: 24px; }}
.reveal .slides section section {{ max-height: {HEIGHT}px; overflow-y: auto; padding: 0 10px; }}
.reveal h1 {{ font-size: 48px !important; }}
.reveal h2 {{ font-size: 40px !important; }}
.reveal h3 {{ font-size: 30px !important; }}
.reveal h1, .reveal h2, .reveal h3 {{ margin: 0 0 18px !important; }}
.reveal .slides table {{ font-size: 22px; }}
.reveal .slides pre {{ line-height: 1.25; overflow-x: auto; }}
.reveal .slides .jp-OutputArea-output > pre {{ width: 100%; white-space: pre-wrap; word-break: normal;
  overflow-wrap: break-word; }}
.reveal .slides img {{ display: block; max-height: {TALLEST}px; width: auto; margin: 0 auto; }}
</style>
</head>"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument(
        "--to", type=Path, default=Path(), metavar="FOLDER", help="where the pages go (default: here)"
    )


def run(args: argparse.Namespace) -> int:
    """Write a page for each notebook; SetUpError where there is no such notebook."""
    for path in args.notebooks:
        if not path.is_file():
            raise SetUpError(f"There is no notebook {path}.")
        page = args.to / f"{path.stem}.slides.html"
        with atomic_path(page) as part:
            part.write_text(html(stored.read(path), path.stem), encoding="utf-8")
        print(f"{page}: open it in a browser. It loads reveal.js and MathJax from the network.")
    return 0


def html(nb: NotebookNode, title: str) -> str:
    """The notebook as one page of reveal.js."""
    exporter = SlidesExporter(preprocessors=[Slides], reveal_width=str(WIDTH), reveal_height=str(HEIGHT))
    page, _ = exporter.from_notebook_node(nb, {"metadata": {"name": title}})
    return page.replace("</head>", STYLE, 1)


class Slides(Preprocessor):
    """Gives each cell that has none its place among the slides."""

    enabled = True

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        used = 0
        for cell in nb.cells:
            chosen = cell.metadata.get("slideshow", {}).get("slide_type")
            begins, high = chosen or slide_type(cell), height(cell)
            least = high - max(0, drawn(cell) - SMALLEST)
            if begins == "-" and used and used + least > ROOM:
                begins = "subslide"
            if begins in ("slide", "subslide"):
                used = 0
            if begins not in ("skip", "notes"):
                used += high
            cell.metadata["slideshow"] = {"slide_type": begins}
            if drawn(cell):
                cell.metadata["transient"] = {"remove_source": True}
                shrink(cell, used - ROOM)
        return nb, resources


def slide_type(cell: NotebookNode) -> str:
    """What a cell begins: a slide, a slide below it, or nothing ("-"); or that it is left out ("skip")."""
    if cell.cell_type != "markdown":
        imports = re.match("import |from ", cell.source) and not cell.get("outputs")
        return "skip" if imports or cell.source.startswith("# @title Set-up") else "-"
    if "<details>" in cell.source:
        return "skip"  # a solution
    return "slide" if re.match(r"#{1,2} ", cell.source.lstrip()) else "subslide"


def shrink(cell: NotebookNode, excess: int) -> None:
    """Take `excess` pixels from the height of the cell's picture, in place; some of it always remains."""
    most = max(SMALLEST, drawn(cell) - excess)
    for output in cell.outputs if excess > 0 else ():
        page = "".join(output.get("data", {}).get("text/html", ""))
        if PICTURE.search(page):
            output.data["text/html"] = page.replace('style="', f'style="max-height: {most}px; ', 1)


def height(cell: NotebookNode) -> int:
    """About how many pixels of a slide a cell takes."""
    if cell.cell_type == "markdown":
        lines = cell.source.splitlines()
        headings = sum(line.startswith("#") for line in lines)
        letters = [len(part) for part in re.split(r"\n\s*\n|\n(?=\s*[-|*\d])|\n(?=#)", cell.source)]
        return headings * HEADING + sum(GAP + TEXT * -(-many // ACROSS) for many in letters)
    printed = "".join(output.get("text", "") for output in cell.get("outputs", []))
    code = 0 if drawn(cell) else cell.source.count("\n") + 1
    return CODE * (code + printed.count("\n")) + 2 * GAP + drawn(cell)


def drawn(cell: NotebookNode) -> int:
    """How many pixels of height the pictures of a cell take; 0 where there are none."""
    pages = ["".join(output.get("data", {}).get("text/html", "")) for output in cell.get("outputs", [])]
    total = 0
    for width, picture in PICTURE.findall("\n".join(pages)):
        across, down = struct.unpack(">II", base64.b64decode(picture[:44])[16:24])  # where a PNG has its size
        total += min(TALLEST, round(int(width) * down / across))
    return total

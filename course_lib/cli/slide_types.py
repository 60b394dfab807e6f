"""What is on which slide.

A heading starts a new slide, also in the middle of a cell, each further text cell a slide below it, and code
stays with the preceding text while there is room. Solutions, setup, imports and folded cells without output
are omitted, and so is the code of a cell that draws. A chapter with too many slides is cut to its main
thread. Slide types set by hand in JupyterLab (*Property inspector → Slide type*) are kept.
"""

import base64
import re
import struct

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from traitlets import Int

MOST = 40  # slides; about 50 minutes
WIDTH, HEIGHT = 1280, 720  # of a slide; a browser enlarges it to its window
ROOM = 640  # of its height, in pixels, that content may take
ACROSS = 95  # characters of text in a line
CODE_ACROSS = 100  # characters of code or of printed text in a line
TEXT, CODE, HEADING, GAP = 34, 26, 70, 14  # heights, in pixels, of a line of each kind, and of a gap
TALLEST = 600  # a picture
SMALLEST = 400  # a picture shrinks to this height to fit below its text


class Slides(Preprocessor):
    """Gives each cell without a slide type its place among the slides, and leaves out those beyond `most`."""

    enabled = True
    most = Int(MOST)
    left_out = 0

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        nb.cells = [part for cell in nb.cells for part in sections(cell)]
        used = 0
        for cell in nb.cells:
            begins, high = chosen(cell) or slide_type(cell), height(cell)
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
            shorten(cell, ROOM)
        self.left_out = thin(nb.cells, self.most)
        return nb, resources


def chosen(cell: NotebookNode) -> str | None:
    """The slide type that was set by hand, or None."""
    slideshow = cell.metadata.get("slideshow")
    return slideshow.get("slide_type") if isinstance(slideshow, dict) else None


def sections(cell: NotebookNode) -> list[NotebookNode]:
    """A text cell cut before each heading of a section in it, unless its slide type was set by hand."""
    if cell.cell_type != "markdown" or chosen(cell) or "<details>" in cell.source:
        return [cell]
    pieces = re.split(r"(?m)^(?=## )", cell.source)
    fenced = "```" in cell.source  # in code, the same signs begin a comment
    parts = [cell.source] if fenced else [piece.strip() for piece in pieces if piece.strip()]
    return [new_markdown_cell(part, metadata=cell.metadata.copy()) for part in parts]


def thin(cells: list[NotebookNode], most: int) -> int:
    """Skip, in place, all but the `most` slides that carry the main thread; returns how many it left out.

    First come the slides that open a section, then those with a picture, then the second of each section, and
    so on.
    """
    slides: list[tuple[tuple[int, int, int], list[NotebookNode]]] = []
    below = 0
    for cell in cells:
        begins = cell.metadata["slideshow"]["slide_type"]
        if begins in ("slide", "subslide") or (begins == "-" and not slides):
            below = 0 if begins == "slide" else below + 1
            slides.append(((2 if below else 0, below, len(slides)), []))
        if begins != "skip" and slides:
            (_, place, number), members = slides[-1]
            members.append(cell)
            if place and drawn(cell):
                slides[-1] = ((1, place, number), members)
    beyond = sorted(slides, key=lambda slide: slide[0])[most:]
    for _, members in beyond:
        for cell in members:
            cell.metadata["slideshow"] = {"slide_type": "skip"}
    return len(beyond)


def shorten(cell: NotebookNode, room: int) -> None:
    """Cut, in place, printed text to what fits on a slide beside the cell's code."""
    for output in cell.get("outputs", []):
        excess = height(cell) - room
        lines = output.get("text", "").splitlines()
        if excess > 0 and lines:
            cut = min(len(lines), -(-excess // CODE) + 1)
            kept = lines[: len(lines) - cut]
            output.text = "\n".join([*kept, f"… {cut} more lines in the notebook"]) + "\n"


def slide_type(cell: NotebookNode) -> str:
    """The slide type of a cell: a new slide, a slide below, no new slide ("-"), or omitted ("skip")."""
    if cell.cell_type != "markdown":
        silent = re.match("import |from |# @title ", cell.source) and not cell.get("outputs")
        return "skip" if silent or cell.source.startswith("# @title Setup") else "-"
    if "<details>" in cell.source:
        return "skip"  # a solution
    return "slide" if re.match(r"#{1,2} ", cell.source.lstrip()) else "subslide"


def shrink(cell: NotebookNode, excess: int) -> None:
    """Reduce the height of the cell's picture by `excess` pixels, in place, down to a minimum."""
    most = min(TALLEST, max(SMALLEST, drawn(cell) - excess))
    for output in cell.outputs:
        if "image/png" in output.get("data", {}):
            width, high = size(output)
            output.metadata["image/png"] = {"width": round(width * min(1, most / high))}


def height(cell: NotebookNode) -> int:
    """The approximate height of a cell on a slide, in pixels."""
    if cell.cell_type == "markdown":
        lines = cell.source.splitlines()
        headings = sum(line.startswith("#") for line in lines)
        letters = [len(part) for part in re.split(r"\n\s*\n|\n(?=\s*[-|*\d])|\n(?=#)", cell.source)]
        return headings * HEADING + sum(GAP + TEXT * -(-many // ACROSS) for many in letters)
    printed = "".join(output.get("text", "") for output in cell.get("outputs", []))
    code = 0 if drawn(cell) else wrapped(cell.source)
    return CODE * (code + wrapped(printed)) + 2 * GAP + drawn(cell)


def wrapped(text: str) -> int:
    """The number of lines of code or of printed text on a slide."""
    return sum(max(1, -(-len(line) // CODE_ACROSS)) for line in text.splitlines())


def drawn(cell: NotebookNode) -> int:
    """The height of a cell's pictures, in pixels; 0 if there are none."""
    pictures = [output for output in cell.get("outputs", []) if "image/png" in output.get("data", {})]
    return sum(min(TALLEST, size(output)[1]) for output in pictures)


def size(output: NotebookNode) -> tuple[int, int]:
    """The width and height, in pixels on the page, of an output's picture."""
    try:
        start = base64.b64decode(output.data["image/png"][:44])
        across, down = struct.unpack(">II", start[16:24])  # where a PNG stores its size
    except (ValueError, struct.error):  # not a PNG: the browser shows nothing
        return 0, 0
    width = output.get("metadata", {}).get("image/png", {}).get("width", across)
    return width, round(width * down / max(1, across))

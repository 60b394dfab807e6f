"""What is on which slide.

The slides follow the 50-minute plan of docs/teaching.md: of a chapter's sections, those that it names, and
the conclusion. A heading starts a new slide, each further text cell a slide below it, and code stays with the
preceding text while there is room; its output is uncovered by the next key. Setup, imports and folded cells
without output are omitted, and so is the code of a cell that draws. What is folded becomes a speaker note. A
chapter with too many slides is cut to its main thread. Slide types set by hand in JupyterLab (*Property
inspector → Slide type*) are kept.
"""

import re

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from traitlets import Any, Bool, Int

from course_lib.cli import notebook_io
from course_lib.cli.slide_parts import Part, chosen, headings, lecture, parts_of

MOST = 40  # slides; about 50 minutes
NEW = "slide", "subslide"
SILENT = "skip", "notes"  # what takes no room
WIDTH, HEIGHT = 1280, 720  # of a slide; a browser enlarges it to its window
ROOM = 640  # of its height, in pixels, that content may take
ACROSS = 95  # characters of text in a line
CODE_ACROSS = 100  # characters of code or of printed text in a line
TEXT, CODE, HEADING, GAP = 34, 26, 70, 14  # heights, in pixels, of a line of each kind, and of a gap
RUNNING = 44  # the height of the small title of a slide that begins without a heading
TALLEST = 600  # a picture
SMALLEST = 400  # a picture shrinks to this height to fit below its text


class Slides(Preprocessor):
    """Puts each cell of the lecture on a slide, and leaves out slides beyond `most`.

    plan: the `LessonPlan` to follow, or None. whole: with the sections that the plan leaves out. After the
    call, left_out counts the slides beyond `most`, and not_shown lists the sections without a slide.
    """

    enabled = True
    most = Int(MOST)
    plan = Any(None, allow_none=True)
    whole = Bool(False)
    left_out = 0
    not_shown: tuple[str, ...] = ()

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        parts = parts_of(nb.cells)
        shown = lecture(parts, self.plan, self.whole)
        sections = {part.section for part in shown} | {""}
        self.not_shown = tuple(dict.fromkeys(p.section for p in parts if p.section not in sections))
        slides = place(shown)
        self.left_out = thin(slides, self.most)
        nb.cells = [part.cell for part in slides]
        return nb, resources


def place(parts: list[Part]) -> list[Part]:
    """The parts, each with its slide type; a slide that begins without a heading gets a small title."""
    placed: list[Part] = []
    used, empty = 0, True
    for part in parts:
        cell = part.cell
        begins, high = chosen(cell) or slide_type(part), height(cell)
        least = high - max(0, drawn(cell) - SMALLEST)
        if begins == "-" and used and used + least > ROOM:
            begins = "subslide"
        if begins in NEW:
            used, empty = 0, True
            if part.title and not headings(cell):
                title = new_markdown_cell(f"#### {part.title}")
                title.metadata["slideshow"] = {"slide_type": begins}
                placed.append(Part(title, part.section, part.subsection))
                used, begins = RUNNING, "-"
        if begins not in SILENT:
            used += high
        cell.metadata["slideshow"] = {"slide_type": begins}
        if cell.get("outputs"):  # below a question or its own code, an output waits for a key
            picture = bool(drawn(cell))
            cell.metadata["transient"] = {"remove_source": picture, "waits": not (picture and empty)}
        if drawn(cell):
            shrink(cell, used - ROOM)
        shorten(cell, ROOM)
        empty = empty and begins in SILENT
        placed.append(part)
    return placed


def thin(parts: list[Part], most: int) -> int:
    """Skip, in place, all but the `most` slides that carry the main thread; returns how many it left out.

    First come the slides that open a section, and the conclusion; then those with a picture, then the second
    of each section, and so on.
    """
    slides: list[tuple[int, list[Part]]] = []  # each with its number in its section
    below = 0
    for part in parts:
        begins = chosen(part.cell)
        if begins in NEW or (begins == "-" and not slides):
            below = 0 if begins == "slide" else below + 1
            slides.append((below, []))
        if begins != "skip" and slides:
            slides[-1][1].append(part)

    def rank(slide: tuple[int, list[Part]]) -> tuple[int, int]:
        below, members = slide
        if not below or members[0].concludes:
            return 0, below
        return 1 if any(drawn(part.cell) for part in members) else 2, below

    beyond = sorted(slides, key=rank)[most:]
    for _, members in beyond:
        for part in members:
            part.cell.metadata["slideshow"] = {"slide_type": "skip"}
    return len(beyond)


def slide_type(part: Part) -> str:
    """The slide type of a part: a new slide, a slide below, no new slide ("-"), or omitted ("skip")."""
    cell = part.cell
    if cell.cell_type != "markdown":
        silent = re.match("import |from |# @title ", cell.source) and not cell.get("outputs")
        return "skip" if silent or cell.source.startswith(("# @title Setup", "my_prediction(")) else "-"
    return "slide" if part.opens or cell.source.lstrip().startswith("# ") else "subslide"


def height(cell: NotebookNode) -> int:
    """The approximate height of a cell on a slide, in pixels."""
    if cell.cell_type == "markdown":
        titles = sum(line.startswith("#") for line in cell.source.splitlines())
        letters = [len(part) for part in re.split(r"\n\s*\n|\n(?=\s*[-|*\d])|\n(?=#)", cell.source)]
        return titles * HEADING + sum(GAP + TEXT * -(-many // ACROSS) for many in letters)
    printed = "".join(output.get("text", "") for output in cell.get("outputs", []))
    lines = [*printed.splitlines(), *([] if drawn(cell) else cell.source.splitlines())]
    return CODE * sum(max(1, -(-len(line) // CODE_ACROSS)) for line in lines) + 2 * GAP + drawn(cell)


def drawn(cell: NotebookNode) -> int:
    """The height of a cell's pictures, in pixels; 0 if there are none."""
    return sum(min(TALLEST, size(output)[1]) for output in pictures(cell))


def pictures(cell: NotebookNode) -> list[NotebookNode]:
    return [output for output in cell.get("outputs", []) if "image/png" in output.get("data", {})]


def size(output: NotebookNode) -> tuple[int, int]:
    """The width and height, in pixels on the page, of an output's picture."""
    try:
        across, down = notebook_io.image(output.data["image/png"]).size
    except (OSError, ValueError):  # not a picture: the browser shows nothing
        return 0, 0
    width = output.get("metadata", {}).get("image/png", {}).get("width", across)
    return width, round(width * down / across)


def shrink(cell: NotebookNode, excess: int) -> None:
    """Reduce the height of the cell's picture by `excess` pixels, in place, down to a minimum."""
    most = min(TALLEST, max(SMALLEST, drawn(cell) - excess))
    for output in pictures(cell):
        width, high = size(output)
        output.metadata["image/png"] = {"width": round(width * min(1, most / high))}


def shorten(cell: NotebookNode, room: int) -> None:
    """Cut, in place, printed text to what fits on a slide beside the cell's code."""
    for output in cell.get("outputs", []):
        excess = height(cell) - room
        lines = output.get("text", "").splitlines()
        if excess > 0 and lines:
            cut = min(len(lines), -(-excess // CODE) + 1)
            kept = lines[: len(lines) - cut]
            output.text = "\n".join([*kept, f"… {cut} more lines in the notebook"]) + "\n"

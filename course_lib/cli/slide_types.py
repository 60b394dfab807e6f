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

from course_lib.cli.slide_parts import Part, chosen, headings, lecture, parts_of
from course_lib.cli.slide_sizes import ROOM, SMALLEST, drawn, height, shorten, shrink

MOST = 40  # slides; about 50 minutes
SILENT = "skip", "notes"  # what takes no room


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
        sections = [dict.fromkeys(part.section for part in some if part.section) for some in (parts, shown)]
        self.not_shown = tuple(section for section in sections[0] if section not in sections[1])
        slides = place(shown)
        self.left_out = thin(slides, self.most)
        nb.cells = [part.cell for part in slides]
        return nb, resources


def place(parts: list[Part]) -> list[Part]:
    """The parts, each with its slide type; a slide that begins without a heading gets one."""
    placed: list[Part] = []
    used, empty = 0, True
    for part in parts:
        cell = part.cell
        begins, high = chosen(cell) or slide_type(part), height(cell)
        least = high - max(0, drawn(cell) - SMALLEST)
        if begins == "-" and used and used + least > ROOM:
            begins = "subslide"
        if begins in ("slide", "subslide"):
            used, empty = 0, True
            if part.title and not headings(cell):
                placed.append(titled(part, begins))
                used, begins = height(placed[-1].cell), "-"
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


def titled(part: Part, begins: str) -> Part:
    """The heading above a part, as the small title of a slide."""
    cell = new_markdown_cell(f"#### {part.title}", metadata={"slideshow": {"slide_type": begins}})
    return Part(cell, part.section, part.subsection)


def thin(parts: list[Part], most: int) -> int:
    """Skip, in place, all but the `most` slides that carry the main thread; returns how many it left out.

    First come the slides that open a section, and the conclusion; then those with a picture, then the second
    of each section, and so on.
    """
    slides: list[tuple[tuple[int, int, int], list[NotebookNode]]] = []
    below = 0
    for part in parts:
        begins = part.cell.metadata["slideshow"]["slide_type"]
        if begins in ("slide", "subslide") or (begins == "-" and not slides):
            below = 0 if begins == "slide" else below + 1
            slides.append(((2 if below and not part.concludes else 0, below, len(slides)), []))
        if begins != "skip" and slides:
            (first, below_it, number), members = slides[-1]
            members.append(part.cell)
            if first and drawn(part.cell):
                slides[-1] = ((1, below_it, number), members)
    beyond = sorted(slides, key=lambda slide: slide[0])[most:]
    for _, members in beyond:
        for cell in members:
            cell.metadata["slideshow"] = {"slide_type": "skip"}
    return len(beyond)


def slide_type(part: Part) -> str:
    """The slide type of a part: a new slide, a slide below, no new slide ("-"), or omitted ("skip")."""
    cell = part.cell
    if cell.cell_type != "markdown":
        silent = re.match("import |from |# @title ", cell.source) and not cell.get("outputs")
        return "skip" if silent or cell.source.startswith(("# @title Setup", "my_prediction(")) else "-"
    return "slide" if part.opens or cell.source.lstrip().startswith("# ") else "subslide"

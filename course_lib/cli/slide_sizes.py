"""How much of a slide a cell takes, and what makes a cell that is too large smaller."""

import base64
import re
import struct

from nbformat import NotebookNode

WIDTH, HEIGHT = 1280, 720  # of a slide; a browser enlarges it to its window
ROOM = 640  # of its height, in pixels, that content may take
ACROSS = 95  # characters of text in a line
CODE_ACROSS = 100  # characters of code or of printed text in a line
TEXT, CODE, HEADING, GAP = 34, 26, 70, 14  # heights, in pixels, of a line of each kind, and of a gap
RUNNING = 44  # the height of the small title of a slide that begins without a heading
TALLEST = 600  # a picture
SMALLEST = 400  # a picture shrinks to this height to fit below its text


def height(cell: NotebookNode) -> int:
    """The approximate height of a cell on a slide, in pixels."""
    if cell.source.startswith("#### "):
        return RUNNING
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


def shrink(cell: NotebookNode, excess: int) -> None:
    """Reduce the height of the cell's picture by `excess` pixels, in place, down to a minimum."""
    most = min(TALLEST, max(SMALLEST, drawn(cell) - excess))
    for output in cell.outputs:
        if "image/png" in output.get("data", {}):
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

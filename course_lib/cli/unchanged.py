"""What `refresh` leaves as stored, so that a diff shows only the cells whose outputs have changed."""

import re

from nbformat import NotebookNode
from PIL import ImageChops

from course_lib.cli import notebook_io

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
FACTOR = 2  # between two runs, a time on a `≈` line may differ by so much and stay as stored


def keep_unchanged(before: NotebookNode, after: NotebookNode) -> None:
    """Give the cells of `after` their outputs and counts in `before`, in place, where nothing has changed.

    A cell is the same if its id and its code are. Its outputs are kept if they differ only in the bytes of a
    picture with the same pixels, or in numbers on lines that begin with `≈`, by less than a factor of 2.
    The counts stay in order, between 1 and the number of code cells: a new cell gets the next number, even if
    the cell below it has it, too.
    """
    stored = {cell.get("id"): cell for cell in before.cells if cell.cell_type == "code" and cell.get("id")}
    cells = [cell for cell in after.cells if cell.cell_type == "code"]
    olds = [stored.get(cell.id, NotebookNode()) for cell in cells]
    kept = [old.get("execution_count") if old.get("source") == cell.source else None
            for old, cell in zip(olds, cells, strict=True)]  # fmt: skip
    for cell, old, count in zip(cells, olds, counts(kept), strict=True):
        if old.get("source") == cell.source and same_outputs(old.outputs, cell.outputs):
            cell.outputs = old.outputs
        cell.execution_count = count
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count


def counts(kept: list[int | None]) -> list[int]:
    """Counts in order, from 1 to the number of cells: those kept, if in order, and others between."""
    known = [count for count in kept if count is not None]
    if not known or known[0] < 1 or known != sorted(known):
        return list(range(1, len(kept) + 1))
    found = [0]
    for place, count in enumerate(kept):
        if count is None:
            count = min([found[-1] + 1, *(later for later in kept[place:] if later is not None)])
        found.append(min(count, len(kept)))
    return found[1:]


def same_outputs(stored: list[NotebookNode], new: list[NotebookNode]) -> bool:
    """Whether two lists of outputs say the same, up to what varies between two runs on one machine."""
    return len(stored) == len(new) and all(map(_same, stored, new))


def _same(stored: NotebookNode, new: NotebookNode) -> bool:
    one, other = stored.get("data", {}), new.get("data", {})
    return (
        _form(stored) == _form(new)
        and _same_text(stored.get("text", ""), new.get("text", ""))
        and one.keys() == other.keys()
        and all(_same_data(kind, one[kind], other[kind]) for kind in one)
    )


def _form(output: NotebookNode) -> dict:
    return {key: value for key, value in output.items() if key not in ("data", "text", "execution_count")}


def _same_data(kind: str, stored: object, new: object) -> bool:
    if kind == "image/png":
        return stored == new or _same_pixels(str(stored), str(new))
    return _same_text(stored, new) if isinstance(stored, str) and isinstance(new, str) else stored == new


def _same_pixels(stored: str, new: str) -> bool:
    try:
        one, other = (notebook_io.image(png).convert("RGBA") for png in (stored, new))
    except (OSError, ValueError):  # no picture: only the same bytes are the same
        return False
    return one.size == other.size and ImageChops.difference(one, other).getbbox(alpha_only=False) is None


def _same_text(stored: str, new: str) -> bool:
    lines, others = stored.split("\n"), new.split("\n")
    return len(lines) == len(others) and all(map(_same_line, lines, others))


def _same_line(stored: str, new: str) -> bool:
    if stored == new:
        return True
    if not (stored.startswith("≈") and new.startswith("≈")) or NUMBER.split(stored) != NUMBER.split(new):
        return False
    return all(map(_close, NUMBER.findall(stored), NUMBER.findall(new)))


def _close(stored: str, new: str) -> bool:
    try:
        one, other = (float(number.replace(",", "")) for number in (stored, new))
    except ValueError:  # such as 1.2.3, a version
        return stored == new
    return max(one, other) <= FACTOR * min(one, other)

"""A student's work in a notebook, carried over into a newer version of it, cell by cell.

Standard library only. Cells are matched by their ids, and exercises also by theirs, since old editors drop
the ids of cells. Questions that are answered by letters or in writing count as exercises here. Outputs come
with the cell that they belong to, so they never conflict.
"""

import copy
import json
import re
from dataclasses import dataclass, field
from typing import Any

ASKED = re.compile(r"""\b(check|recall|my_prediction|conclude)\(\s*["'](\w+(?:\.\w+)?)["']\s*,""")
NOT_YET = re.compile(r"(?i)\bnot (?:tried|answered|predicted|written) yet\b")
Cell = dict[str, Any]


@dataclass
class Carried:
    """A new notebook with a student's work: what was kept, and what was not, by exercise or by cell."""

    notebook: dict[str, Any]
    kept: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def parsed(text: str) -> dict[str, Any]:
    """A notebook from its JSON. Raises ValueError if it is none, as with git's conflict marks."""
    notebook = json.loads(text)
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ValueError("no cells")
    return notebook


def written(notebook: dict[str, Any]) -> str:
    """The text of a notebook's file, as Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def merged(base: dict[str, Any], mine: dict[str, Any], new: dict[str, Any]) -> Carried:
    """`new`, with what a student changed in `base` to get `mine`: cells that they wrote, added or edited.

    Where both sides edited a cell, an exercise keeps the student's answer, and any other cell is the new one.
    """
    before = {cell.get("id"): text(cell) for cell in base["cells"]}
    places, result = places_of(mine, new), Carried(copy.deepcopy(new))
    added: dict[int, list[Cell]] = {}  # the student's own cells, by the number of the cell that they follow
    here = -1
    for cell, place in zip(mine["cells"], places, strict=True):
        if place is None:
            was = [before.get(cell["id"])] if "id" in cell else before.values()
            if text(cell).strip() and text(cell) not in was:
                added.setdefault(here, []).append(cell)
                result.kept.append(label(cell))
            continue
        here = place
        was, now = before.get(new["cells"][place].get("id")), text(new["cells"][place])
        if text(cell) in (was, now):
            continue
        if now == was or exercises(cell):
            put(result, place, cell)
        else:
            result.left.append(label(cell))
    cells = enumerate(result.notebook["cells"])
    ordered = [one for number, cell in cells for one in (cell, *added.get(number, []))]
    result.notebook["cells"] = [*added.get(-1, []), *ordered]
    return result


def answered(mine: dict[str, Any], new: dict[str, Any]) -> Carried:
    """`new`, with the answers of `mine` to the exercises that are not tried yet in `new`.

    For a copy of which nobody knows what it was before the student worked in it.
    """
    result = Carried(copy.deepcopy(new))
    for cell, place in zip(mine["cells"], places_of(mine, new), strict=True):
        if place is None or not exercises(cell) or not tried(cell):
            continue
        there = new["cells"][place]
        if text(cell) != text(there):
            if tried(there):
                result.left.append(label(cell))
            else:
                put(result, place, cell)
    return result


def places_of(mine: dict[str, Any], new: dict[str, Any]) -> list[int | None]:
    """For each cell of `mine`, the number of the same cell in `new`, or None.

    The same cell has the same id; failing that, the same exercise; without ids, also the same text.
    """
    numbers = list(enumerate(new["cells"]))[::-1]  # of equal cells, the first counts
    by_id = {cell["id"]: number for number, cell in numbers if "id" in cell}
    by_exercise = {one: number for number, cell in numbers for one in exercises(cell)[:1]}
    by_text = {text(cell): number for number, cell in numbers}
    # Colab's ids lie in the metadata.
    ids = [(cell.get("id"), cell.get("metadata", {}).get("id")) for cell in mine["cells"]]
    places = [next((by_id[one] for one in both if one in by_id), None) for both in ids]
    for i, cell in enumerate(mine["cells"]):
        if places[i] is None:
            place = next((by_exercise[key] for key in exercises(cell)[:1] if key in by_exercise), None)
            if place is None and "id" not in cell:
                place = by_text.get(text(cell))
            places[i] = None if place in places else place
    return places


def put(result: Carried, place: int, cell: Cell) -> None:
    """Write a student's source and its outputs into a cell of the new notebook."""
    target = result.notebook["cells"][place]
    target["source"] = cell["source"]
    if target["cell_type"] == "code":
        target["outputs"], target["execution_count"] = cell.get("outputs", []), cell.get("execution_count")
    result.kept.append(label(cell))


def text(cell: Cell) -> str:
    return "".join(cell.get("source", ""))


def exercises(cell: Cell) -> list[str]:
    """The exercises that a cell checks, and the questions that it answers, such as "recall 05"."""
    found = ASKED.findall(text(cell)) if cell.get("cell_type") == "code" else []
    return [key if function == "check" else f"{function} {key}" for function, key in found]


def tried(cell: Cell) -> bool:
    """Whether a cell's output is that of an attempt; the notebooks are delivered with "not tried yet"."""
    outputs = cell.get("outputs", [])
    texts = [one.get("text") or one.get("data", {}).get("text/plain", "") for one in outputs]
    said = "".join(map("".join, texts))
    return bool(said) and len(NOT_YET.findall(said)) < len(exercises(cell))


def label(cell: Cell) -> str:
    """A cell in words: its exercises, or how it begins."""
    return ", ".join(exercises(cell)) or beginning(text(cell)) or "an empty cell"


def beginning(text: str) -> str:
    """The first line of a text that says anything, shortened; empty if none does."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 40 else f"{line[:39]}…"

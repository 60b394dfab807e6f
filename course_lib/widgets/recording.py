"""A map explorer for pages without a kernel: all that it shows while its controls go through their values."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets

from course_lib.widgets.heatmap import Heatmap
from course_lib.widgets.map_explorer import MapExplorer
from course_lib.widgets.trace_packing import Numbers

LAST = -1  # index of a control's last value, wherever that is

Tree = list[Any]  # nested lists, one level per control; the leaves are indices of frames


def values(control: ipywidgets.Widget) -> list[Any]:
    """Every value that the control can take; for a text field, only its text with the last word repeated.

    Raises ValueError for an unknown kind of control.
    """
    if hasattr(control, "options"):
        return [option[1] if isinstance(option, tuple) else option for option in control.options]
    if isinstance(control, ipywidgets.Text):
        return [f"{control.value} {control.value.split()[-1]}"]  # every vocabulary has that word
    if isinstance(control.value, bool):
        return [False, True]
    if not isinstance(getattr(control, "max", None), int | float):
        raise ValueError(f"no values are known for a {type(control).__name__}")
    steps = math.floor((control.max - control.min) / control.step + 1e-6)
    places = [control.min + i * control.step for i in range(steps + 1)]
    return [control.base**place for place in places] if hasattr(control, "base") else places


class Recorder:
    """Moves the controls of an explorer and keeps what it shows.

    options: the controls to move, each with its values, the present one among them; None for all that it
    has. A control whose range depends on another one comes after it.
    """

    def __init__(self, explorer: MapExplorer, options: Mapping[str, Sequence[Any] | None]):
        explorer.maps.alive = True  # so that no picture is drawn
        self.explorer, self.options = explorer, options
        self.controls = {name: explorer.controls[name] for name in options}
        self.longest: dict[str, Sequence[Any]] = {name: () for name in options}
        self.numbers, self.maps, self.frames = Numbers(), Table(), Table()

    def recording(self) -> dict[str, Any]:
        """What js/static_maps.js reads: controls, indices of their present values, and what is shown.

        parts: one for each value of the first control, as a header for JSON and the bytes of its arrays.
        effects: for each control and each of its values, the controls that it moves, and where to.
        """
        maps = self.explorer.maps
        names = list(self.options)
        start = [self.values(name).index(self.controls[name].value) for name in names]
        parts = [self.part(value) for value in self.values(names[0])]
        effects = [self.effects(k) for k in range(len(names))]
        return {
            "controls": [
                {
                    "label": control.description,
                    "kind": "range" if "Slider" in type(control).__name__ else "select",
                    "options": [str(value) for value in self.longest[name]],
                }
                for name, control in self.controls.items()
            ],
            "start": start,
            "effects": effects,
            "look": {"shared": maps.shared, "height": maps.height, "cell": maps.cell},
            "parts": parts,
        }

    def values(self, name: str) -> Sequence[Any]:
        """The values of a control, as it is now."""
        found = self.options[name] or values(self.controls[name])
        self.longest[name] = max(self.longest[name], found, key=len)
        return found

    def part(self, value: Any) -> tuple[dict[str, Any], bytes]:
        """What is shown for one value of the first control."""
        self.numbers, self.maps, self.frames = Numbers(), Table(), Table()
        first, *rest = self.options
        self.controls[first].value = value
        tree = self.swept(rest)
        header = {"tree": tree, "frames": self.frames.rows, "maps": self.maps.rows}
        return header, b"".join(self.numbers.parts)

    def swept(self, names: Sequence[str]) -> Tree | int:
        """Move these controls through all their values, the last one fastest."""
        if not names:
            return self.frames.index(self.frame())
        found = []
        for value in self.values(names[0]):
            self.controls[names[0]].value = value
            found.append(self.swept(names[1:]))
        return found

    def frame(self) -> dict[str, Any]:
        """What is shown now. rows: the text for each selected row, where it depends on that."""
        maps, text = self.explorer.maps, self.explorer.text
        shown = [self.maps.index(self.packed(heatmap)) for heatmap in maps.heatmaps]
        frame = {"maps": shown, "widths": maps.widths, "text": text.value}
        if not any(heatmap.row_sets or heatmap.column_sets for heatmap in maps.heatmaps):
            rows = []
            for row in range(len(maps.heatmaps[0].rows)):
                maps.select(row=row)
                rows.append(text.value)
            maps.select()
            if any(row != text.value for row in rows):
                frame["rows"] = rows
        return frame

    def packed(self, heatmap: Heatmap) -> dict[str, Any]:
        """The map with the places of its bytes, and what a selected row or column sets."""
        sets = {
            name: [list(self.options).index(one.control), one.first - self.controls[one.control].min]
            for name, one in (("rowSets", heatmap.row_sets), ("columnSets", heatmap.column_sets))
            if one is not None
        }
        return self.without_bytes(heatmap.state()) | sets

    def without_bytes(self, state: Any) -> Any:
        """The state with the places of its bytes in their stead."""
        if isinstance(state, bytes):
            return self.numbers.add_bytes(state, size=len(state))
        if isinstance(state, dict):
            return {name: self.without_bytes(value) for name, value in state.items()}
        return state

    def effects(self, k: int) -> list[dict[int, int]]:
        """The controls after this one that move by themselves when it takes each of its values."""
        name, later = list(self.options)[k], list(self.options)[k + 1 :]
        found = []
        for i, value in enumerate(self.values(name)):
            self.controls[name].value = self.values(name)[i - 1]
            before = {one: self.values(one)[0] for one in later}
            for one, first in before.items():
                self.controls[one].value = first
            self.controls[name].value = value
            moved = [one for one in later if self.controls[one].value != before[one]]
            found.append({list(self.options).index(one): self.index(one) for one in moved})
        return found

    def index(self, name: str) -> int:
        """Index of a control's value; LAST for the last one, since that differs between sentences."""
        control = self.controls[name]
        return LAST if control.value == self.values(name)[-1] else self.values(name).index(control.value)


class Table:
    """Rows for JSON, equal ones only once."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.places: dict[str, int] = {}

    def index(self, row: dict[str, Any]) -> int:
        """Index of the row, which is appended if it is new."""
        key = json.dumps(row)
        if key not in self.places:
            self.places[key] = len(self.rows)
            self.rows.append(row)
        return self.places[key]

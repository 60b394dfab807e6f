"""Attention maps in the browser: hover over a weight, click a row, a column or a cell."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import anywidget
import traitlets

from course_lib.widgets.heatmap import Heatmap, Place
from course_lib.widgets.modules import joined


class AttentionMap(anywidget.AnyWidget):
    """One or several heatmaps that can be pointed at; arrays travel as bytes, JavaScript only draws.

    widths: relative widths of the maps beside each other; more maps continue on the next line.
    shared: all maps have the same labels, which only the outer ones show, and the same selection.
    height: of all lines together, in pixels; cell: largest width of a cell, in pixels.
    selected: a dict with the fields of `Place`, the same in the kernel and on the page.
    alive: whether some page draws the maps.
    """

    _esm = joined("attention_widget.js")

    maps = traitlets.List(traitlets.Dict()).tag(sync=True)
    widths = traitlets.List(traitlets.Float(), [1.0]).tag(sync=True)
    shared = traitlets.Bool(False).tag(sync=True)
    height = traitlets.Int(400).tag(sync=True)
    cell = traitlets.Int(44).tag(sync=True)
    selected = traitlets.Dict(default_value=Place()._asdict()).tag(sync=True)
    alive = traitlets.Bool(False).tag(sync=True)

    def __init__(self, **traits: Any):
        self.heatmaps: list[Heatmap] = []
        self._callbacks: dict[str, list[Callable[[Place], object]]] = {"select": [], "press": []}
        self._showing = False
        super().__init__(**traits)
        self.observe(self._selected, names="selected")
        self.on_msg(self._message)

    @property
    def place(self) -> Place:
        """What is selected."""
        return Place(**self.selected)

    def framed(self, index: int) -> Place:
        """What is framed in a map: its own mark, or what is selected; maps that share labels share it."""
        heatmap, place = self.heatmaps[index], self.place
        if heatmap.marked is not None:
            return heatmap.marked
        if place.map == index:
            return place
        if not self.shared or place.map >= len(self.heatmaps):
            return Place(index)
        same = len(heatmap.columns) == len(self.heatmaps[place.map].columns)
        return Place(index, place.row, place.column if same else None)

    def show(self, weights: Any, *, rows: Sequence[str], columns: Sequence[str], **more: Any) -> None:
        """Show a single map; more: the other fields of `Heatmap`."""
        self.show_maps([Heatmap(weights=weights, rows=rows, columns=columns, **more)])

    def show_maps(
        self,
        heatmaps: Sequence[Heatmap],
        *,
        widths: Sequence[float | int] | None = None,
        selected: Place | None = None,
    ) -> None:
        """Show these maps. selected: calls nobody back; None keeps what is selected."""
        self.heatmaps = list(heatmaps)
        with self._quiet(), self.hold_sync():
            if widths is not None:
                self.widths = [float(width) for width in widths]
            if selected is not None:
                self.selected = selected._asdict()
            self.maps = [heatmap.state() for heatmap in heatmaps]

    def select(self, row: int | None = None, column: int | None = None, map: int = 0) -> None:
        """Select a place, as a click or an arrow key does."""
        self.selected = Place(map, row, column)._asdict()

    def press(self, row: int, column: int, map: int = 0) -> None:
        """Press a cell, as a click does after selecting it, and Enter or the space bar."""
        self._call("press", Place(map, row, column))

    def on_select(self, callback: Callable[[Place], object]) -> None:
        """Call back whenever another place is selected."""
        self._callbacks["select"].append(callback)

    def on_press(self, callback: Callable[[Place], object]) -> None:
        """Call back whenever a cell is pressed, the same one included."""
        self._callbacks["press"].append(callback)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        self._showing = True
        try:
            yield
        finally:
            self._showing = False

    def _selected(self, change: dict) -> None:
        if not self._showing:
            self._call("select", self.place)

    def _message(self, widget: Any, content: dict, buffers: list) -> None:
        if "press" in content:
            self._call("press", Place(**content["press"]))

    def _call(self, event: str, place: Place) -> None:
        for callback in self._callbacks[event]:
            callback(place)

"""Attention maps in the browser: hover over a weight, click a row, a column or a cell."""

from collections.abc import Callable, Sequence
from typing import Any

import anywidget
import traitlets

from course_lib.widgets.heatmap import Heatmap, Place
from course_lib.widgets.modules import joined


class AttentionMap(anywidget.AnyWidget):
    """Interactive heatmaps, one or several. The kernel sends arrays as bytes; JavaScript only draws them.

    widths: relative widths of the maps on one line; further maps continue on the next line.
    shared: the maps have the same labels, drawn along the outer edges only, and the same selection.
    height: of all lines together, in pixels. cell: largest width of a cell, in pixels.
    selected: a dict with the fields of `Place`, the same in the kernel and on the page.
    answered: the selection for which the maps were drawn; while the kernel is behind, an older one.
    alive: whether a page is drawing the maps.
    """

    _esm = joined("attention_widget.js")

    maps = traitlets.List(traitlets.Dict()).tag(sync=True)
    widths = traitlets.List(traitlets.Float(), [1.0]).tag(sync=True)
    shared = traitlets.Bool(False).tag(sync=True)
    height = traitlets.Int(400).tag(sync=True)
    cell = traitlets.Int(44).tag(sync=True)
    selected = traitlets.Dict(default_value=Place()._asdict()).tag(sync=True)
    answered = traitlets.Dict(default_value=Place()._asdict()).tag(sync=True)
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
        """Place that a map frames: its own mark, or the selection, which maps with shared labels share.

        A mark without a row leaves the row to the user, and one without a column, the column.
        """
        heatmap, place = self.heatmaps[index], self.place
        own = place if place.map == index else Place(index)
        if heatmap.marked is not None:
            _, row, column = heatmap.marked
            return Place(index, own.row if row is None else row, own.column if column is None else column)
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
        """Show these maps.

        selected: the new selection, set without calling back; None keeps the present one.
        """
        self.heatmaps = list(heatmaps)
        self._showing = True
        try:
            with self.hold_sync():
                if widths is not None:
                    self.widths = [float(width) for width in widths]
                if selected is not None:
                    self.selected = selected._asdict()
                self.answered = self.selected
                self.maps = [heatmap.state() for heatmap in heatmaps]
        finally:
            self._showing = False

    def select(self, row: int | None = None, column: int | None = None, map: int = 0) -> None:
        """Select a place, as a click or an arrow key does."""
        self.selected = Place(map, row, column)._asdict()

    def press(self, row: int, column: int, map: int = 0) -> None:
        """Press a cell, as a click on it does (after selecting it), and as Enter or the space bar does."""
        self._call("press", Place(map, row, column))

    def on_select(self, callback: Callable[[Place], object]) -> None:
        """Call this function with the new place whenever the selection changes."""
        self._callbacks["select"].append(callback)

    def on_press(self, callback: Callable[[Place], object]) -> None:
        """Call this function with the place whenever a cell is pressed, even the same one again."""
        self._callbacks["press"].append(callback)

    def _selected(self, change: dict) -> None:
        if not self._showing:
            self._call("select", self.place)

    def _message(self, widget: Any, content: dict, buffers: list) -> None:
        if "press" in content:
            self._call("press", Place(**content["press"]))

    def _call(self, event: str, place: Place) -> None:
        for callback in self._callbacks[event]:
            callback(place)

"""Explorer whose picture is an attention map: drawn by the browser, or else shown as a PNG."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets

from course_lib.viz import figures
from course_lib.viz.style import is_projected, style_context
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.explorer import PROJECTED, Explorer
from course_lib.widgets.heatmap import Place
from course_lib.widgets.heatmap_picture import draw_heatmaps
from course_lib.widgets.markup import Markup


class MapExplorer(Explorer):
    """Controls above one or several heatmaps and a line of text.

    picture: as in `Explorer`, with an `AttentionMap` instead of the figure. The function that it returns also
        gets `selected`, the selected `Place`, and draws with `show_maps`.
    widths, shared, cell: as in `AttentionMap`.
    on_select, on_press: called with a `Place` before the picture is redrawn; they may change controls.
    A heatmap whose rows or columns set a control needs no on_select.
    """

    def __init__(
        self,
        controls: Mapping[str, ipywidgets.Widget],
        picture: Callable[[AttentionMap], Callable[..., str | tuple[str, Markup]]],
        summary: str,
        size: tuple[float, float] = (7.0, 3.0),
        widths: Sequence[float | int] = (1,),
        shared: bool = False,
        cell: int = 44,
        on_select: Callable[[Place], object] | None = None,
        on_press: Callable[[Place], object] | None = None,
    ):
        scale = PROJECTED if is_projected() else 1.0
        width = round(size[0] * scale * figures.CSS_DPI)
        self.maps = AttentionMap(
            widths=[float(width) for width in widths],
            shared=shared,
            cell=round(cell * scale),
            height=round(size[1] * scale * figures.CSS_DPI),
            layout={"width": "100%" if is_projected() else f"{width}px", "max_width": "100%"},
        )
        self._on_select, self._selecting = on_select, False
        super().__init__(controls, lambda figure: picture(self.maps), summary, size)
        self.image.add_class("course-map-fallback")  # a page that draws the maps hides it
        self.maps.on_select(self._select)
        if on_press:
            self.maps.on_press(on_press)

    def snapshot(self) -> bytes:
        with style_context(self.projected):
            self._draw_picture()
        return super().snapshot()

    def redraw(self, change: Any = None) -> None:
        if not self._selecting:
            super().redraw(change)

    def _select(self, place: Place) -> None:
        """Move the controls to the selected place, and redraw once."""
        self._selecting = True  # a picture for the new row with the old column would be wrong
        try:
            self._set_controls(place)
            if self._on_select:
                self._on_select(place)
        finally:
            self._selecting = False
        self.redraw(place)

    def _set_controls(self, place: Place) -> None:
        """Set the controls of the selected row and column, as `row_sets` and `column_sets` say."""
        for heatmap in self.maps.heatmaps[place.map : place.map + 1]:
            for index, sets in ((place.row, heatmap.row_sets), (place.column, heatmap.column_sets)):
                if index is not None and sets is not None:
                    control = self.controls[sets.control]
                    control.value = min(sets.first + index, control.max)

    def _values(self) -> dict[str, Any]:
        return super()._values() | {"selected": self.maps.place}

    def _pictures(self) -> list[ipywidgets.Widget]:
        return [self.image, self.maps]

    def _draw(self) -> None:
        if not self.maps.alive:
            self._draw_picture()

    def _draw_picture(self) -> None:
        draw_heatmaps(self.figure, self.maps, self.maps.height / figures.CSS_DPI)
        self.image.value = self.canvas.png()

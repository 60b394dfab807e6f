"""What all widgets are made of: controls that redraw one picture and one line of text."""

import html
import io
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from PIL import Image

from course_lib import show
from course_lib.widgets.markup import Markup

# Colab answers from far away: there a slider speaks when it is let go, not at every step.
LIVE = "google.colab" not in sys.modules
SHARPNESS = 1.5  # picture pixels to a browser's pixel: more costs time at each redraw
PROJECTED = 1.5  # how much larger a picture is for the projector
LABELS = "<style>.course-projected, .course-projected * { font-size: 24px }</style>"

_projecting = False


def projector(on: bool = True) -> None:
    """Make every widget and figure that is built from now on readable from the last row."""
    global _projecting
    _projecting = on
    show.style(projector=on)


class Canvas:
    """Turns a figure into PNGs: what stands still is drawn once, the animated artists each time."""

    def __init__(self, figure: Figure):
        self.agg = FigureCanvasAgg(figure)
        self.still = None

    def png(self) -> bytes:
        """The figure as it is now, on white; `Figure.savefig` takes three times as long."""
        with show.any_script():
            self.draw()
        size = self.agg.get_width_height(physical=True)
        buffer = io.BytesIO()
        picture = Image.frombuffer("RGBA", size, self.agg.buffer_rgba(), "raw", "RGBA", 0, 1)
        picture.save(buffer, format="png", compress_level=1)
        return buffer.getvalue()

    def draw(self) -> None:
        """Bring the figure's pixels up to date."""
        moving = self.agg.figure.findobj(lambda artist: artist.get_animated())
        moving.sort(key=lambda artist: artist.zorder)
        if self.still is None or not moving:
            self.agg.draw()
            self.still = self.agg.copy_from_bbox(self.agg.figure.bbox)
        self.agg.restore_region(self.still)
        for artist in moving:
            self.agg.figure.draw_artist(artist)


class Explorer:
    """Controls above a picture and a line of text; whatever is moved, both are drawn anew.

    controls: widgets with a `value`, by the names under which they are handed on.
    picture: puts axes and artists on the empty figure, once, and returns the function that moves them: it
        takes the values by name and returns the line that says what is seen, or that line and some `Markup`
        to stand below it. Artists made with animated=True are all that may change then; where there are none,
        every move draws the whole figure, more slowly.
    summary: what stands in place of the widget where widgets are not drawn.
    size: of the picture, in inches; letters keep their size in points.
    """

    def __init__(
        self,
        controls: Mapping[str, ipywidgets.Widget],
        picture: Callable[[Figure], Callable[..., str | tuple[str, Markup]]],
        summary: str,
        size: tuple[float, float] = (7.0, 3.0),
    ):
        self.controls, self.summary = dict(controls), summary
        self.shown: dict[str, Any] | None = None
        scale = PROJECTED if _projecting else 1.0
        self.figure = Figure(figsize=(size[0] * scale, size[1] * scale), layout="none")
        self.figure.set_dpi(show.CSS_DPI * SHARPNESS)
        self.canvas = Canvas(self.figure)
        self.update = picture(self.figure)
        self.image = ipywidgets.Image(
            format="png", width=round(size[0] * scale * show.CSS_DPI), layout={"max_width": "100%"}
        )
        self.text = ipywidgets.HTML()
        self.box = ipywidgets.VBox([self._panel(), self.image, self.text])
        if _projecting:
            self.box.add_class("course-projected")
        for control in self.controls.values():
            control.observe(self.redraw, names="value")
        self.redraw()

    def redraw(self, change: Any = None) -> None:
        """Draw the picture and the text for the present values of the controls."""
        values = {name: control.value for name, control in self.controls.items()}
        if change is not None and values == self.shown:
            return  # a control that moved another one had the same drawn already
        seen = self.update(**values)
        line, below = seen if isinstance(seen, tuple) else (seen, Markup())
        self.image.value = self.canvas.png()
        self.text.value = f'<div role="status" style="line-height: 1.4">{html.escape(line)}</div>{below}'
        self.shown = values

    def _panel(self) -> ipywidgets.Box:
        row = ipywidgets.Box(list(self.controls.values()), layout={"flex_flow": "row wrap"})
        if not _projecting:
            return row
        return ipywidgets.VBox([ipywidgets.HTML(LABELS), row])

    def _ipython_display_(self) -> None:
        show.show_widget(self.box, self.summary)


def slider(kind: type[ipywidgets.Widget], label: str, **settings: Any) -> ipywidgets.Widget:
    """A slider or choice with its label written out, that moves by the arrow keys."""
    style = {"description_width": "initial"}
    if "continuous_update" in kind.class_trait_names():
        settings["continuous_update"] = LIVE
    return kind(description=label, style=style, **settings)


def set_most(slider: ipywidgets.Widget, most: int) -> None:
    """Let a slider of whole numbers run up to `most`; where that leaves one place, switch it off.

    A browser cannot draw a slider whose two ends are the same.
    """
    slider.max = max(most, slider.min + 1)
    slider.disabled = most <= slider.min


def numbered_bars(bars: BarContainer) -> Callable[[Sequence[float]], None]:
    """Write each bar's number at its end; the function that comes back moves bars and numbers together.

    A bar whose length is NaN is not there.
    """
    upright = bars.orientation == "vertical"
    shift, align = (
        ((0, 2), {"ha": "center", "va": "bottom"}) if upright else ((4, 0), {"ha": "left", "va": "center"})
    )
    centres = [bar.get_center() for bar in bars]
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    look = {"xytext": shift, "textcoords": "offset points", "bbox": box, "animated": True} | align
    numbers = [bars[0].axes.annotate("", (0, 0), **look) for _ in bars]
    for bar in bars:
        bar.set_animated(True)

    def move(lengths: Sequence[float]) -> None:
        for bar, number, (x, y), length in zip(bars, numbers, centres, lengths, strict=True):
            there = not math.isnan(length)
            bar.set(**{"height" if upright else "width": length if there else 0.0})
            number.xy = (x, length) if upright else (length, y)
            number.set_text(f"{length:.2f}".removeprefix("0" if upright else "") if there else "")

    return move

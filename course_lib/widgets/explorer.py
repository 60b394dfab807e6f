"""What all widgets are made of: controls that redraw one picture and one line of text."""

import html
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from course_lib.text.unicode_text import check_text
from course_lib.viz import figures
from course_lib.viz.style import is_projected, style_context, use_style
from course_lib.widgets.canvas import Canvas
from course_lib.widgets.layout import arrange
from course_lib.widgets.markup import Markup
from course_lib.widgets.snapshot import snapshot

# Colab's kernel is far away: there, a slider sends its value when it is released, not at every step.
LIVE = "google.colab" not in sys.modules
SHARPNESS = 1.5  # picture pixels to a browser's pixel: more costs time at each redraw
ALIVE = " It responds while the notebook is running."  # the end of every summary
PROJECTED = 1.5  # how much larger a picture is for the projector


def projector(on: bool = True) -> None:
    """Make every widget and figure that is built from now on readable from the last row."""
    use_style(projector=on)


class Explorer:
    """Controls beside or above a picture and a line of text; each change of a control redraws both.

    controls: widgets with a `value`, by the names under which they are passed to the picture.
    picture: puts axes and artists on the empty figure, once, and returns the function that moves them: it
        takes the values by name and returns the line that says what is seen, or that line and some `Markup`
        to show below it. Artists made with animated=True are all that may change then; where there are none,
        every move draws the whole figure, more slowly.
    summary: what the widget lets one change and see, for screen readers and for pages without pictures.
    size: of the picture, in inches; letters keep their size in points.
    """

    def __init__(
        self,
        controls: Mapping[str, ipywidgets.Widget],
        picture: Callable[[Figure], Callable[..., str | tuple[str, Markup]]],
        summary: str,
        size: tuple[float, float] = (7.0, 3.0),
    ):
        self.controls, self.summary = dict(controls), summary + ALIVE
        self.shown: dict[str, Any] | None = None
        self.projected = is_projected()
        scale = PROJECTED if self.projected else 1.0
        with style_context(self.projected):
            self.figure = Figure(figsize=(size[0] * scale, size[1] * scale), layout="none")
            self.figure.set_dpi(figures.CSS_DPI * SHARPNESS)
            self.canvas = Canvas(self.figure)
            self.update = picture(self.figure)
        width = round(size[0] * scale * figures.CSS_DPI)
        self.image, self.photos = (
            ipywidgets.Image(format="png", width=width, layout={"max_width": "100%"}) for _ in range(2)
        )
        self.photos.add_class("course-photos")
        self.text = ipywidgets.HTML()
        for control in self.controls.values():
            control.layout.max_width = "100%"  # of a telephone
        panel, shape = list(self.controls.values()), size[1] / size[0]
        self.box = arrange(panel, self._pictures(), self.text, shape, self.projected)
        for control in self.controls.values():
            control.observe(self.redraw, names="value")
        self.redraw()

    def redraw(self, change: Any = None) -> None:
        """Draw the picture and the text for the present values of the controls."""
        values = self._values()
        if change is not None and values == self.shown:
            return  # a control that moved another one had the same drawn already
        with style_context(self.projected):
            seen = self._see(values)
            self.line, below = seen if isinstance(seen, tuple) else (seen, Markup())
            self._draw()
        self.text.value = f'<div role="status" style="line-height: 1.4">{html.escape(self.line)}</div>{below}'
        self.shown = values

    def _values(self) -> dict[str, Any]:
        """What the picture is drawn for, by the names under which it is passed."""
        return {name: control.value for name, control in self.controls.items()}

    def _pictures(self) -> list[ipywidgets.Widget]:
        """The widgets between the controls and the text."""
        return [self.image, self.photos] if self.canvas.photographs() else [self.image]

    def _draw(self) -> None:
        self.image.value, self.photos.value = self.canvas.png(), self.canvas.photos()

    def _see(self, values: dict[str, Any]) -> str | tuple[str, Markup]:
        try:
            for value in values.values():
                if isinstance(value, str):
                    check_text(value)
        except ValueError as error:  # neither Matplotlib nor the message to the browser could hold it
            return f"{error} The picture still shows the previous text."
        return self.update(**values)

    def snapshot(self) -> bytes:
        """The widget as a PNG: what its controls are set to, its picture, and its line of text."""
        with style_context(self.projected):
            picture = bytes(self.image.value)  # ipywidgets gives a view of them
            return snapshot(self.figure, picture, self.controls.values(), self.line)

    def _ipython_display_(self) -> None:
        figures.show_widget(self.box, self.summary, self.snapshot())


def slider(kind: type[ipywidgets.Widget], label: str, **settings: Any) -> ipywidgets.Widget:
    """A slider or choice with its label written out, that moves by the arrow keys."""
    style = {"description_width": "initial"}
    if "continuous_update" in kind.class_trait_names():
        settings["continuous_update"] = LIVE
    return kind(description=label, style=style, **settings)


def choice(label: str, options: Sequence[Any], **settings: Any) -> ipywidgets.ToggleButtons:
    """Buttons of which one is pressed: a choice among a few short texts, all of which are seen."""
    style = {"button_width": "auto", "description_width": "initial"}
    return ipywidgets.ToggleButtons(description=label, options=options, style=style, **settings)


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

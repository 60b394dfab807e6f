"""Parts of diagrams: an empty canvas, boxes, arrows."""

from typing import TypeAlias

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

LINE, PALE = "0.4", "0.8"
MIDDLE = {"ha": "center", "va": "center"}
Number: TypeAlias = float | int
Point: TypeAlias = tuple[Number, Number]


def canvas(width: Number, height: Number) -> tuple[Figure, Axes]:
    """Empty axes in tenths of an inch, at the ordinary font size."""
    scale = plt.rcParams["font.size"] / 100
    figure = plt.figure(figsize=(width * scale, height * scale), layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    return figure, axes


def box(axes: Axes, center: Point, text: str, width: Number, color: str = LINE) -> None:
    corner = center[0] - width / 2, center[1] - 2
    look = {"boxstyle": "round,pad=0,rounding_size=0.7", "facecolor": "white", "linewidth": 1.6}
    axes.add_patch(FancyBboxPatch(corner, width, 4, edgecolor=color, **look))
    axes.text(*center, text, **MIDDLE, color=color if color == PALE else "black")


def arrow(axes: Axes, start: Point, end: Point, color: str = LINE) -> None:
    look = {"arrowstyle": "-|>", "color": color, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=look, zorder=0.5)


def framed(
    axes: Axes, x: Number, y: Number, text: str, color: str, pad: float = 0.3, size: int | None = None
) -> None:
    """Text in a frame that fits it. pad: the space around it, in font sizes. size: of the font, in points."""
    frame = {"boxstyle": f"round,pad={pad}", "facecolor": "white", "edgecolor": color, "linewidth": 2}
    axes.text(x, y, text, bbox=frame, size=size, **MIDDLE)


def open_arrow(axes: Axes, start: Point, end: Point, color: str, width: float = 1.5) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "linewidth": width, "color": color})

"""Static picture of attention maps, drawn by matplotlib for pages that run no JavaScript."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps, rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib.viz.figures import CSS_DPI
from course_lib.viz.style import PALETTE, style_context
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.heatmap import Heatmap, Place, shortened

MASKED = (0.35, 0.35, 0.35, 1.0)
GAP = 0.15  # between two maps; all lengths here are in inches
SHEET = 0.06  # from one matrix of a stack to the next
LETTER, LINE = 0.62, 1.25  # width of a letter and distance of lines, in font sizes


@dataclass
class Panel:
    """Layout of one map: the space that it gets, labels included, and the resulting sizes."""

    heatmap: Heatmap
    x: float | int
    width: float | int
    height: float | int
    row_labels: bool
    column_labels: bool

    def __post_init__(self) -> None:
        rows, columns = self.heatmap.weights.shape
        self.title = 2 * font_size() / 72 if self.heatmap.title else 0.05
        self.title += SHEET * (self.heatmap.sheets - 1)
        self.left = label_room(self.heatmap.rows) if self.row_labels else 0.0
        self.below = label_room(self.heatmap.columns) if self.column_labels else 0.05
        self.cell_width = (self.width - self.left) / max(columns, 1)
        self.cell_height = (self.height - self.title - self.below) / max(rows, 1)

    def shrink(self, most: float | int) -> None:
        """Limit the width of the cells, and their height to their width; a picture keeps its proportions."""
        proportion = self.heatmap.proportion
        self.cell_width = min(most, self.cell_width)
        self.cell_height = min(self.cell_width * proportion, self.cell_height)
        if self.heatmap.picture is not None:
            self.cell_width = self.cell_height / proportion
        self.height = self.title + self.cell_height * self.heatmap.weights.shape[0] + self.below


@style_context()
def draw_heatmaps(figure: Figure, maps: AttentionMap, height: float | int) -> None:
    """Draw the maps on the figure, replacing its contents, and fit its height to them.

    height: the largest height, in inches.
    """
    figure.clear()
    panels = panels_of(maps, figure.get_figwidth(), height)
    lines = [panels[i : i + len(maps.widths)] for i in range(0, len(panels), len(maps.widths))]
    heights = [max(panel.height for panel in line) for line in lines] or [0.5]
    figure.set_figheight(sum(heights))
    top = 0.0
    for line, high in zip(lines, heights, strict=False):
        for panel in line:
            draw_panel(figure, panel, top, maps.framed(panels.index(panel)))
        top += high


def panels_of(maps: AttentionMap, width: float | int, height: float | int) -> list[Panel]:
    """Divide the width and the height among the maps, arranged as in the browser."""
    heatmaps, across = maps.heatmaps, len(maps.widths)
    widths = maps.widths[: len(heatmaps)]
    if not heatmaps:
        return []
    left = label_room(heatmaps[0].rows) if maps.shared else 0.0
    below = label_room(heatmaps[0].columns) if maps.shared else 0.0
    unit = (width - left - GAP * (len(widths) + 1)) / sum(widths)
    line = (height - below) / math.ceil(len(heatmaps) / across)
    panels = []
    for i, heatmap in enumerate(heatmaps):
        column = i % across
        first, last = not maps.shared or column == 0, not maps.shared or i + across >= len(heatmaps)
        x = GAP * (column + 0.5) + unit * sum(widths[:column]) + (left if column else 0.0)
        wide, high = unit * widths[column] + first * left, line + last * below
        panels.append(Panel(heatmap, x, wide, high, first, last))
        panels[-1].shrink(maps.cell / CSS_DPI)
    return panels


def label_room(labels: Sequence[str]) -> float:
    """Room for the longest of the labels and for the name of the axis."""
    letters = max((len(shortened(label)) for label in labels), default=0)
    return (letters * LETTER + 2 * LINE) * font_size() / 72


def font_size() -> float:
    return float(rcParams["xtick.labelsize"])


def draw_panel(figure: Figure, panel: Panel, top: float | int, place: Place) -> None:
    """Draw one map, `top` inches below the upper edge of the figure, and frame the selected place."""
    heatmap, (rows, columns) = panel.heatmap, panel.heatmap.weights.shape
    if not rows or not columns:
        return
    width, height = figure.get_size_inches()
    wide, high = panel.cell_width * columns, panel.cell_height * rows
    bottom = height - top - panel.title - high
    axes = figure.add_axes(((panel.x + panel.left) / width, bottom / height, wide / width, high / height))
    picture = cell_colors(heatmap) if heatmap.picture is None else heatmap.picture
    extent = (-0.5, columns - 0.5, rows - 0.5, -0.5)
    axes.imshow(picture, aspect="auto", interpolation="nearest", extent=extent)
    axes.grid(visible=False)
    pad = 4 + 72 * SHEET * (heatmap.sheets - 1)
    axes.set_title(shortened(heatmap.title, 40), parse_math=False, fontsize=font_size() + 1, pad=pad)
    draw_labels(axes, panel)
    if heatmap.numbers:
        draw_numbers(axes, heatmap, panel.cell_width)
    draw_frames(axes, place, rows, columns)
    draw_sheets(axes, heatmap.sheets, wide, high)


def cell_colors(heatmap: Heatmap) -> Float[np.ndarray, "rows columns 4"]:
    """Color of each cell: blue, or orange to purple; gray where it is masked, nothing where it is NaN."""
    fraction = (heatmap.weights - heatmap.low) / (heatmap.high - heatmap.low)
    colors = colormaps["PuOr" if heatmap.diverging else "Blues"](np.ma.masked_invalid(fraction))
    if heatmap.masked is not None:
        colors[heatmap.masked] = MASKED
    return colors


def draw_labels(axes: Axes, panel: Panel) -> None:
    """Label rows and columns, as many as there is room for."""
    heatmap, line = panel.heatmap, LINE * font_size() / 72
    letters = max(len(shortened(column)) for column in heatmap.columns)
    upright = letters * LETTER * font_size() / 72 > panel.cell_width
    for axis, labels, shown, room in (
        (axes.yaxis, heatmap.rows, panel.row_labels, panel.cell_height),
        (axes.xaxis, heatmap.columns, panel.column_labels, panel.cell_width if upright else line),
    ):
        places = range(0, len(labels) if shown else 0, max(1, math.ceil(line / room)))
        axis.set_ticks(places, [shortened(labels[i]) for i in places], fontsize=font_size(), parse_math=False)
    axes.tick_params(length=0, pad=3)
    axes.tick_params(axis="x", rotation=90 if upright else 0)
    axes.set_ylabel(heatmap.row_name if panel.row_labels else "", fontsize=font_size(), parse_math=False)
    axes.set_xlabel(
        heatmap.column_name if panel.column_labels else "", fontsize=font_size(), parse_math=False
    )


def draw_numbers(axes: Axes, heatmap: Heatmap, width: float | int) -> None:
    """Write each cell's number, black or white by what is behind it, if the longest one fits."""
    rows, columns = heatmap.weights.shape
    texts = {place: heatmap.text(*place) for place in np.ndindex(rows, columns)}
    longest = max(len(line) for text in texts.values() for line in text.split("\n"))
    if longest * LETTER * font_size() / 72 > width:
        return
    dark = cell_colors(heatmap)[..., :3] ** 2.2 @ (0.21, 0.72, 0.07) < 0.18
    look = {"ha": "center", "va": "center", "fontsize": font_size(), "parse_math": False}
    if heatmap.picture is not None:
        dark, below = np.zeros_like(dark), 0.45
        look |= {"va": "bottom", "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.5}}
    else:
        below = 0.0
    for (row, column), text in texts.items():
        axes.text(column, row + below, text, color="white" if dark[row, column] else "black", **look)


def draw_frames(axes: Axes, place: Place, rows: int, columns: int) -> None:
    """Frame the selected row and column."""
    look = {"fill": False, "edgecolor": PALETTE[1], "linewidth": 2, "clip_on": False}
    if place.row is not None and place.row < rows:
        axes.add_patch(Rectangle((-0.5, place.row - 0.5), columns, 1, **look))
    if place.column is not None and place.column < columns:
        axes.add_patch(Rectangle((place.column - 0.5, -0.5), 1, rows, **look))


def draw_sheets(axes: Axes, count: int, width: float | int, height: float | int) -> None:
    """The other matrices of a stack, behind this one, which has this width and height in inches."""
    look = {"facecolor": "0.95", "edgecolor": "0.6", "transform": axes.transAxes, "clip_on": False}
    for i in range(1, count):
        axes.add_patch(Rectangle((SHEET * i / width, SHEET * i / height), 1, 1, zorder=-i, **look))

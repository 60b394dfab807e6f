"""Diagram of attention masks: padding and causal mask combined, and what a mask does to one row of scores."""

from collections.abc import Sequence
from typing import TypeAlias

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.layers.masks import Mask, causal_mask
from course_lib.viz.figures import show
from course_lib.viz.style import PALETTE, style_context

TOKENS = ("I", "see", "you", "PAD")
SCORES = ("0", "log 2", "log 5", "0")  # of the query `see`
MASKED = ("0", "log 2", "−∞", "−∞")
WEIGHTS = ("1/3", "2/3", "0", "0")
QUERY = TOKENS.index("see")
WIDTH, HEIGHT = 15.2, 9.1  # of the picture, in cells
LEFT = (1.5, 6.2, 10.9)  # left edges of the tables
VISIBLE, HIDDEN = PALETTE[0], "0.55"
Point: TypeAlias = tuple[float | int, float | int]

MASKS_IN_WORDS = """Diagram of masks for the sentence I, see, you, PAD: tables of 4 queries by 4 keys, 1 where
a query may attend to a key. Padding mask: the column of PAD is 0. Causal mask: the lower triangle with the
diagonal is 1. Both: the lower triangle without the column of PAD. Below, the row of the query see: its
scores are 0, log 2, log 5 and 0; masked, the last two become minus infinity; after the softmax, the weights
are 1/3, 2/3, 0 and 0."""


def diagram_masks() -> None:
    """Show a padding mask, a causal mask and both combined; below, one row of scores masked."""
    show(masks_figure(), alt=MASKS_IN_WORDS)


@style_context()
def masks_figure() -> Figure:
    """Draw the diagram of `diagram_masks`."""
    cell = 0.042 * plt.rcParams["font.size"]  # in inches
    figure = plt.figure(figsize=(WIDTH * cell, HEIGHT * cell), layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.set_axis_off()
    for x, title, mask in zip(LEFT, ("padding mask", "causal mask", "both"), masks(), strict=True):
        rows = [[str(number) for number in row] for row in mask.int().tolist()]
        _table(axes, (x, 0.9), rows, mask, title)
        _labels(axes, x, 5.3)
    _text(axes, (0.25, 2.9), "queries", rotation=90)
    for row, token in enumerate(TOKENS):
        _text(axes, (LEFT[0] - 0.2, 1.4 + row), token, ha="right")
    row = masks()[2][[QUERY]]
    steps = ("scores of “see”", SCORES, row | ~row), ("masked", MASKED, row), ("weights", WEIGHTS, row)
    for x, (title, cells, mask) in zip(LEFT, steps, strict=True):
        _table(axes, (x, 7.8), [cells], mask, title)
    for x, upper, lower in ((5.85, "&", "→"), (10.55, "=", "→")):
        _text(axes, (x, 2.9), upper, weight="bold")
        _text(axes, (x, 8.3), lower, weight="bold")
    return figure


def masks() -> tuple[Mask, Mask, Mask]:
    """Padding mask, causal mask and both, for `TOKENS`: True where a query (row) may attend to a key."""
    tokens = len(TOKENS)
    padding = torch.tensor([token != "PAD" for token in TOKENS]).expand(tokens, tokens)
    causal = causal_mask(tokens)
    return padding, causal, padding & causal


def _table(axes: Axes, corner: Point, rows: Sequence[Sequence[str]], mask: Mask, title: str) -> None:
    """A table of square cells below its title, gray where the mask is False."""
    left, top = corner
    _text(axes, (left + len(rows[0]) / 2, top - 0.45), title, weight="bold")
    for y, (row, shown) in enumerate(zip(rows, mask.tolist(), strict=True)):
        for x, (text, visible) in enumerate(zip(row, shown, strict=True)):
            place = left + x, top + y
            color = VISIBLE if visible else HIDDEN
            axes.add_patch(plt.Rectangle(place, 1, 1, facecolor=color, alpha=0.4))
            axes.add_patch(plt.Rectangle(place, 1, 1, fill=False, edgecolor="white", linewidth=2))
            _text(axes, (place[0] + 0.5, place[1] + 0.5), text)


def _labels(axes: Axes, left: float | int, y: float | int) -> None:
    """The tokens below a table, as its keys."""
    for column, token in enumerate(TOKENS):
        _text(axes, (left + column + 0.5, y), token)
    _text(axes, (left + 2, y + 0.7), "keys")


def _text(axes: Axes, center: Point, text: str, **look: str | float | int) -> None:
    axes.text(*center, text, **{"ha": "center", "va": "center"} | look)

"""Diagrams of Transformer blocks: the residual stream, the two norm placements, what a norm averages over."""

from collections.abc import Sequence
from itertools import product

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from course_lib.viz.diagrams import LINE, arrow, box, canvas
from course_lib.viz.figures import show
from course_lib.viz.style import PALETTE, style_context

STREAM, ATTENTION, CROSS, FEED_FORWARD, NORM = "0.2", PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[4]
SUBLAYERS = (("self-attention", ATTENTION), ("feed-forward", FEED_FORWARD))
PLUS = 1.6  # radius of the circle of a sum

BLOCK_IN_WORDS = """Diagram of an encoder block. A vertical line, the residual stream, carries the tokens x
from the bottom to the top. Two branches leave it and are added back to it: the first one goes through a
norm and self-attention, the second one through a norm and a feed-forward layer. Nothing lies on the line
itself but the two sums. Every arrow carries a tensor of shape (batch, tokens, d_model)."""
PLACEMENTS_IN_WORDS = """Two diagrams of an encoder block side by side. Post-norm: the branches hold only
self-attention and feed-forward, and a norm lies on the residual stream after each sum. Pre-norm: each
branch begins with a norm, and the residual stream passes only through sums, up to one final norm after the
last block."""
DECODER_IN_WORDS = """Diagram of a decoder block. Three branches leave the residual stream and are added
back to it: norm and causal self-attention, norm and cross-attention, norm and feed-forward. Cross-attention
also reads the memory, the output of the encoder, as its keys and values."""
AXES_IN_WORDS = """Two sentences of three tokens with four features. LayerNorm: each row of four numbers is
a group with its own mean, six in all. BatchNorm: each column through both sentences is a group, four in
all."""


def diagram_block() -> None:
    """Show an encoder block as two branches of the residual stream."""
    show(block_figure(), alt=BLOCK_IN_WORDS)


def diagram_norm_placements() -> None:
    """Show post-norm and pre-norm side by side."""
    show(norm_placements_figure(), alt=PLACEMENTS_IN_WORDS)


def diagram_decoder_block() -> None:
    """Show a decoder block as three branches of the residual stream, one of which reads the memory."""
    show(decoder_block_figure(), alt=DECODER_IN_WORDS)


def diagram_norm_axes() -> None:
    """Show which numbers share a mean in LayerNorm and in BatchNorm."""
    show(norm_axes_figure(), alt=AXES_IN_WORDS)


@style_context()
def block_figure() -> Figure:
    """Draw the diagram of `diagram_block`."""
    figure, axes = canvas(62, 43)
    x = 16
    _stream(axes, x, 4, 42)
    for y, part in zip((8, 23), SUBLAYERS, strict=True):
        _branch(axes, x, y, (("norm", NORM), part))
    box(axes, (x, 3), "x", 8)
    for y, text in ((41, "to the next block"), (3, "from the block before")):
        axes.text(x + 6, y, text, ha="left", va="center")
    for y, text in ((18, "tokens exchange\ninformation"), (33, "each token\nby itself")):
        axes.text(40, y, text, ha="left", va="center")
    axes.text(x - 2.5, 21, "residual\nstream", ha="right", va="center", weight="bold")
    return figure


@style_context()
def norm_placements_figure() -> Figure:
    """Draw the diagram of `diagram_norm_placements`."""
    figure, axes = canvas(62, 47)
    columns = (
        (7, "post-norm", "norm(x + sublayer(x))"),
        (38, "pre-norm", "x + sublayer(norm(x))"),
    )
    for x, title, formula in columns:
        _stream(axes, x, 1, 41)
        for y, part in zip((3, 19), SUBLAYERS, strict=True):
            if x == columns[0][0]:
                top = _branch(axes, x, y, (part,), width=15)
                box(axes, (x, top + 4.2), "norm", 9, NORM)
            else:
                _branch(axes, x, y, (("norm", NORM), part), width=15)
        axes.text(x - 5, 45.5, title, ha="left", va="center", weight="bold")
        axes.text(x - 5, 42.2, formula, ha="left", va="center")
    box(axes, (columns[1][0] + 1, 36.9), "final norm, once", 17, NORM)
    return figure


@style_context()
def decoder_block_figure() -> Figure:
    """Draw the diagram of `diagram_decoder_block`."""
    figure, axes = canvas(62, 52)
    x, names = 10, (("causal self-attention", ATTENTION), ("cross-attention", CROSS), SUBLAYERS[1])
    _stream(axes, x, 1, 51)
    for y, part in zip((3, 18.5, 34), names, strict=True):
        _branch(axes, x, y, (("norm", NORM), part), width=22)
    box(axes, (53, 28.5), "memory", 12)
    arrow(axes, (47, 28.5), (37, 28.5), CROSS)
    axes.text(53, 25.3, "from the encoder:\nkeys and values", ha="center", va="top")
    return figure


@style_context()
def norm_axes_figure() -> Figure:
    """Draw the diagram of `diagram_norm_axes`: the number in a square is that of its group."""
    figure, axes = canvas(62, 30)
    for left, title in ((14, "LayerNorm"), (44, "BatchNorm")):
        axes.text(left + 6, 28, title, ha="center", va="center", weight="bold")
        for row, feature in product(range(6), range(4)):
            group = row if title == "LayerNorm" else feature
            corner = left + 3 * feature, 22 - 3.4 * row - 1.6 * (row > 2)
            axes.add_patch(plt.Rectangle(corner, 2.8, 3.1, facecolor=PALETTE[group], alpha=0.5))
            axes.text(corner[0] + 1.4, corner[1] + 1.5, str(group + 1), ha="center", va="center")
        axes.text(left + 6, 1.2, "4 features", ha="center", va="center")
    for y, number in ((20, 1), (8, 2)):
        axes.text(12.5, y, f"sentence {number}\n3 tokens", ha="right", va="center")
    return figure


def _stream(axes: Axes, x: float | int, bottom: float | int, top: float | int) -> None:
    """The residual stream, from the bottom up."""
    look = {"arrowstyle": "-|>", "color": STREAM, "linewidth": 3.5, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (x, top), (x, bottom), arrowprops=look, zorder=0.4)


def _branch(
    axes: Axes, x: float | int, bottom: float | int, parts: Sequence[tuple[str, str]], width: float | int = 17
) -> float | int:
    """A branch that leaves the stream at `bottom`; returns the height of the sum where it ends."""
    middle = x + 5 + width / 2
    axes.plot([x, middle], [bottom, bottom], color=LINE, linewidth=1.2, zorder=0.5)
    y = bottom
    for name, color in parts:
        arrow(axes, (middle, y), (middle, y + 3))
        box(axes, (middle, y + 5), name, width, color)
        y += 7 if name == parts[-1][0] else 5
    top = y + 1.5
    axes.plot([middle, middle], [y, top], color=LINE, linewidth=1.2, zorder=0.5)
    arrow(axes, (middle, top), (x + PLUS, top))
    axes.add_patch(Circle((x, top), PLUS, facecolor="white", edgecolor=STREAM, linewidth=1.6))
    axes.text(x, top, "+", ha="center", va="center", weight="bold")
    return top

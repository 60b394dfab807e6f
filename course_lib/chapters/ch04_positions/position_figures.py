"""Figures of positions: sines and cosines as clock hands, RoPE and its two pairings, long inputs."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Circle, Rectangle
from torch import Tensor

from course_lib.layers.positions import sinusoidal
from course_lib.viz.figures import show
from course_lib.viz.style import PALETTE, style_context

LINE = "0.4"
QUERY, KEY = PALETTE[0], PALETTE[1]
CLOCKS = 6  # positions in the diagram of the clock hands
SLOWER = 10  # how many times slower the second hand is: base 100, d_model 4
STEP = 40.0  # degrees that the diagram of RoPE rotates by per position
PAIRS = 4  # in the diagram of the pairings
Point: TypeAlias = tuple[float | int, float | int]
STYLES = (":", "--", "-.", "-")

HANDS_IN_WORDS = f"""Two rows of {CLOCKS} clocks, one for each position from 0 to {CLOCKS - 1}. The hand of
pair 0 turns by 57 degrees from each position to the next; that of pair 1 turns by 5.7 degrees, {SLOWER} times
slower. The sine is how far the hand reaches to the right, the cosine how far it reaches up."""
ROTARY_IN_WORDS = """Two circles with a query and a key drawn as arrows. On the left, the key has position
1 and the query position 2; on the right, they have positions 5 and 6. Both arrows are rotated further on the
right, but the angle between them is the same on both sides, and so is their dot product."""
PAIRINGS_IN_WORDS = """Two rows of eight features, 0 to 7, in four colors, one color for each pair.
Neighbors: 0 and 1, 2 and 3, 4 and 5, 6 and 7 have the same color. Halves: 0 and 4, 1 and 5, 2 and 6, 3 and 7
have the same color."""


def diagram_clock_hands() -> None:
    """Show two pairs of sinusoidal positions as the hands of clocks, a fast one and a slow one."""
    show(clock_hands_figure(), alt=HANDS_IN_WORDS)


def diagram_rotary() -> None:
    """Show that rotating query and key by their positions leaves the angle of a given distance as it is."""
    show(rotary_figure(), alt=ROTARY_IN_WORDS)


def diagram_pairings() -> None:
    """Show which features form a pair in the two pairings of RoPE: neighbors, and halves."""
    show(pairings_figure(), alt=PAIRINGS_IN_WORDS)


@style_context()
def plot_dot_products(tables: Sequence[tuple[int, int]], *, alt: str) -> None:
    """Show the dot product of two sinusoidal positions against their distance, for each (d_model, base)."""
    distances = torch.arange(-40, 41)
    figure, axes = plt.subplots(figsize=(5.4, 3.2))
    for (d_model, base), style in zip(tables, ("-", "--", ":"), strict=False):
        table = sinusoidal(81, d_model, float(base))
        axes.plot(distances, table @ table[40] / (d_model / 2), style, label=f"d = {d_model}, base {base}")
    axes.set(xlabel="distance k", ylabel="dot product / (d/2)", ylim=(-0.75, 1.5), yticks=(-0.5, 0, 0.5, 1))
    axes.legend(loc="upper center", ncols=2)
    show(figure, alt=alt)


@style_context()
def plot_by_position(
    curves: Mapping[str, Float[Tensor, " positions"]],
    first: int,
    trained: int,
    chance: float | int,
    *,
    alt: str,
) -> None:
    """Show accuracies by position, with a line where the training length ends and one at chance level.

    first: the position of the first value of each curve. trained: the training length.
    """
    figure, axes = plt.subplots(figsize=(6.2, 3.4))
    for (name, curve), style in zip(curves.items(), STYLES, strict=False):
        axes.plot(range(first, first + len(curve)), curve, style, label=name)
    axes.axvline(trained - 0.5, color=LINE, linewidth=1)
    axes.text(trained + 0.5, 1.04, "training length ends here")
    axes.axhline(chance, color="0.6", linewidth=1)
    axes.set(xlabel="position", ylabel="accuracy", ylim=(0, 1.12), yticks=(0, chance, 0.5, 1))
    axes.set_yticklabels(("0", "chance", "0.5", "1"))
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    show(figure, alt=alt)


@style_context()
def plot_by_distance(
    weights: Float[Tensor, " distances"], trained: int, marked: Sequence[int], *, alt: str
) -> None:
    """Show one query's attention weights against the distance of the key.

    trained: distances from here on never occurred in training. marked: the distances on the axis.
    """
    figure, axes = plt.subplots(figsize=(5.6, 3))
    axes.axvspan(trained - 0.5, len(weights), color="0.94")
    axes.bar(range(len(weights)), weights.tolist(), color=PALETTE[3], width=1)
    axes.text(trained + 1, 0.92, "never seen in training", transform=axes.get_xaxis_transform())
    axes.set(xlabel="distance from the query", ylabel="mean weight", xlim=(-1, len(weights)), xticks=marked)
    axes.grid(axis="x", visible=False)
    show(figure, alt=alt)


@style_context()
def clock_hands_figure() -> Figure:
    """Draw the diagram of `diagram_clock_hands`: the tip of a hand is the point (sine, cosine)."""
    figure, axes = _canvas(6.3, 2.6)
    for row, (y, divisor) in enumerate(((3.6, 1), (0.7, SLOWER))):
        axes.text(-3.7, y, f"pair {row}\nangle p" + (f"/{divisor}" if row else ""), ha="left", va="center")
        for position in range(CLOCKS):
            angle, x = position / divisor, 2.6 * position
            axes.add_patch(Circle((x, y), 1, facecolor="white", edgecolor=LINE))
            _arrow(axes, (x, y), (x + math.sin(angle), y + math.cos(angle)), PALETTE[row])
            if row == 0:
                axes.text(x, 5.2, f"p = {position}", ha="center", va="center")
    axes.set(xlim=(-3.8, 14.2), ylim=(-0.9, 5.6))
    return figure


@style_context()
def rotary_figure() -> Figure:
    """Draw the diagram of `diagram_rotary`."""
    figure, axes = _canvas(6.3, 2.9)
    for x, position in ((0, 1), (4.4, 5)):
        axes.add_patch(Circle((x, 0), 1, facecolor="white", edgecolor="0.8"))
        angles = {"key": 10 + STEP * position, "query": 30 + STEP * (position + 1)}
        for (name, angle), color, at in zip(angles.items(), (KEY, QUERY), (0, 1), strict=True):
            tip = x + math.cos(math.radians(angle)), math.sin(math.radians(angle))
            _arrow(axes, (x, 0), tip, color)
            label = x + 1.25 * (tip[0] - x), 1.25 * tip[1]
            side = "left" if tip[0] > x + 0.2 else "right" if tip[0] < x - 0.2 else "center"
            axes.text(*label, f"{name} at {position + at}", color=color, ha=side, va="center")
        axes.add_patch(Arc((x, 0), 0.8, 0.8, theta1=angles["key"], theta2=angles["query"], color=LINE))
        middle = math.radians(sum(angles.values()) / 2)
        size = plt.rcParams["xtick.labelsize"]
        between = f"{angles['query'] - angles['key']:.0f}°"
        axes.text(x + 0.62 * math.cos(middle), 0.62 * math.sin(middle), between, ha="center", va="center",
                  size=size)  # fmt: skip
    axes.set(xlim=(-2, 6.6), ylim=(-1.6, 1.6))
    return figure


@style_context()
def pairings_figure() -> Figure:
    """Draw the diagram of `diagram_pairings`."""
    figure, axes = _canvas(6.3, 2.2)
    rows = (("neighbors\n2i and 2i + 1", lambda feature: feature // 2),
            ("halves\ni and i + d/2", lambda feature: feature % PAIRS))  # fmt: skip
    for (name, pair_of), y in zip(rows, (1.8, 0), strict=True):
        axes.text(-0.3, y + 0.5, name, ha="right", va="center")
        for feature in range(2 * PAIRS):
            color = PALETTE[pair_of(feature)]
            square = Rectangle((feature, y), 1, 1, facecolor=color, alpha=0.35, edgecolor=LINE)
            axes.add_patch(square)
            axes.text(feature + 0.5, y + 0.5, str(feature), ha="center", va="center")
    axes.set(xlim=(-3.2, 8.2), ylim=(-0.3, 3.1))
    return figure


def _canvas(width: float | int, height: float | int) -> tuple[Figure, Axes]:
    """Empty axes in which a circle is round."""
    figure = plt.figure(figsize=(width, height), layout="none")
    axes = figure.add_axes((0, 0, 1, 1), aspect="equal")
    axes.set_axis_off()
    return figure, axes


def _arrow(axes: Axes, start: Point, end: Point, color: str) -> None:
    look = {"arrowstyle": "-|>", "color": color, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=look)

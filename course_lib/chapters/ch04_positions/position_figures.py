"""Figures of positions: sines and cosines as clock hands, RoPE and its two pairings, long inputs."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.layers.positions import sinusoidal
from course_lib.viz.figures import picture, show
from course_lib.viz.style import PALETTE, style_context

LINE = "0.4"
STYLES = (":", "--", "-.", "-")

diagram_clock_hands = picture(
    __file__,
    "clock_hands",
    "Show two pairs of sinusoidal positions as the hands of clocks, a fast one and a slow one.",
)
diagram_rotary = picture(
    __file__,
    "rotary",
    "Show that rotating query and key by their positions leaves the angle of a given distance as it is.",
)
diagram_pairings = picture(
    __file__,
    "pairings",
    "Show which features form a pair in the two pairings of RoPE: neighbors, and halves.",
)


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

"""Figures that several chapters show."""

import itertools
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.viz.diagrams import MIDDLE, framed, open_arrow
from course_lib.viz.figures import show
from course_lib.viz.style import PALETTE, style_context

FROZEN, ADDED = "0.5", PALETTE[1]


@style_context()
def plot_seeds(
    x: Sequence[int | float],
    runs: Mapping[str, Sequence[Sequence[float]]],
    xlabel: str,
    ylabel: str,
    alt: str,
    chance: float | None = None,
) -> None:
    """Show a fraction over a setting on a logarithmic axis: every seed as a dot, their mean as a line.

    runs: for each method, one list per setting, with one fraction per seed.
        A method may have fewer settings than x.
    alt: what the picture shows, without the numbers of one run: they differ from machine to machine.
    chance: the fraction that guessing gives, if it has a meaning.
    """
    figure, axes = plt.subplots(figsize=(5, 3))
    for (name, fractions), marker in zip(runs.items(), itertools.cycle("os^D"), strict=False):
        places, values = x[: len(fractions)], torch.tensor(fractions)
        (line,) = axes.plot(places, values.mean(dim=-1), f"{marker}-", markersize=2, label=name)
        axes.plot(places, values, marker, color=line.get_color(), alpha=0.7, markersize=5)
    if chance is not None:
        axes.axhline(chance, color="0.5", linewidth=1)
        axes.text(x[-1], chance - 0.03, "chance", ha="right", va="top")
    axes.set(xscale="log", xlabel=xlabel, xticks=x, xticklabels=x, ylabel=ylabel, ylim=(-0.03, 1.05))
    axes.minorticks_off()
    axes.legend(loc="center right")
    show(figure, alt=f"{ylabel.capitalize()} over the {xlabel}, one dot per seed. {alt}")


@style_context()
def plot_truncation(tokens: Sequence[str], rows: Mapping[str, Float[Tensor, " tokens"]]) -> None:
    """Show next-token distributions before and after truncation, one panel each."""
    figure, panels = plt.subplots(1, len(rows), figsize=(6.4, 2.2), sharey=True)
    for axes, (title, row) in zip(panels, rows.items(), strict=True):
        axes.barh(range(len(tokens)), row.tolist(), color=[PALETTE[0] if p else "0.85" for p in row.tolist()])
        for place, p in enumerate(row.tolist()):
            axes.text(p + 0.02, place, f"{p:.2f}", va="center")
        axes.set(title=title, xlim=(0, 1.0), xticks=[])
        axes.set_yticks(range(len(tokens)), tokens)
        axes.grid(visible=False)
    panels[0].invert_yaxis()
    said = "; ".join(f"{title}: {', '.join(f'{p:.2f}' for p in row.tolist())}" for title, row in rows.items())
    show(figure, alt=f"Bars of the probabilities of {', '.join(tokens)}. {said}.")


@style_context()
def checkpoints_figure(
    steps: Sequence[int], loss: Sequence[float], scores: Mapping[str, Sequence[float]]
) -> Figure:
    """The validation loss above, and scores from 0 to 100 below, against the steps of the checkpoints."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.4, 4.2), sharex=True)
    above.plot(steps, loss, "o-", color=PALETTE[0])
    above.set(ylabel="validation loss", ylim=(0, 1.1 * max(loss)))
    for (name, values), style, color in zip(scores.items(), ("o-", "s--"), PALETTE[1:], strict=False):
        below.plot(steps, values, style, label=name, color=color)
    below.set(xlabel="step of the checkpoint", ylabel="score", ylim=(-3, 100))
    if len(steps) <= 8:
        below.set(xticks=list(steps))
    below.legend()
    return figure


@style_context()
def diagram_lora() -> None:
    """Show a frozen linear layer and its low-rank update, side by side."""
    figure, axes = plt.subplots(figsize=(6.2, 2.3))
    axes.text(-0.2, 0.5, "x", size=13, **MIDDLE)
    framed(axes, 2.9, 1.1, "W, frozen: d_out × d_in", FROZEN)
    framed(axes, 1.5, -0.1, "A: r × d_in", ADDED)
    framed(axes, 3.2, -0.1, "B: d_out × r", ADDED)
    framed(axes, 4.8, -0.1, "× α / r", ADDED)
    axes.text(6.2, 0.5, "+", size=16, **MIDDLE)
    for start, end, color in (
        ((-0.05, 0.6), (1.7, 1.0), FROZEN),
        ((-0.05, 0.4), (0.9, -0.05), ADDED),
        ((2.05, -0.1), (2.55, -0.1), ADDED),
        ((3.85, -0.1), (4.35, -0.1), ADDED),
        ((4.1, 1.0), (6.05, 0.6), FROZEN),
        ((5.2, -0.02), (6.05, 0.4), ADDED),
        ((6.35, 0.5), (6.8, 0.5), "0.2"),
    ):
        open_arrow(axes, start, end, color)
    axes.text(6.85, 0.5, "output", ha="left", va="center")
    axes.text(3.2, -0.6, "starts at zero", color=ADDED, **MIDDLE)
    axes.set(xlim=(-0.4, 7.7), ylim=(-0.8, 1.45))
    axes.set_axis_off()
    show(
        figure,
        alt="The input x takes two ways: through the frozen matrix W, and through the small matrices A and "
        "B, times α / r. B starts at zero. The two results are added.",
    )

"""Figures that several chapters show."""

import itertools
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.viz.figures import picture, show
from course_lib.viz.style import PALETTE, style_context


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


diagram_lora = picture(__file__, "lora", "Show a frozen linear layer and its low-rank update, side by side.")

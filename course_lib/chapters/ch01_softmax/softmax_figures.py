"""Figures of chapter 1: softmax step by step, temperature, the softmax axis, and scaling by √d."""

import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from course_lib.viz.figures import heatmap, picture, show
from course_lib.viz.style import PALETTE, style_context

STYLES = ("-", "--", "-.", ":")

diagram_softmax = picture(
    __file__,
    "softmax",
    "Show softmax in three columns: scores, their exponentials, and these divided by their sum.",
)


@style_context()
def plot_temperature(
    temperatures: Float[Tensor, " n"], weights: Float[Tensor, "n keys"], entropy: Float[Tensor, " n"]
) -> None:
    """Show weights and entropy over the temperature, which runs on a logarithmic axis."""
    keys = weights.shape[-1]
    figure, (above, below) = plt.subplots(2, 1, figsize=(4.6, 4.6), sharex=True)
    for key, style in zip(range(keys), STYLES, strict=False):
        above.plot(temperatures, weights[:, key], style, label=f"key {key}")
    above.set(ylabel="weight", ylim=(-0.03, 1.03))
    above.legend()
    below.plot(temperatures, entropy, color="black")
    below.axhline(math.log(keys), color="0.5", linestyle="--")
    below.text(temperatures[0], 0.9 * math.log(keys), f"log {keys}: all equal", va="top")
    below.set(xscale="log", xlabel="temperature T", ylabel="entropy")
    below.set(xticks=(0.1, 1, 10), xticklabels=("0.1", "1", "10"), ylim=(-0.05, 1.08 * math.log(keys)))
    sharp, flat = weights[0].max() > 0.99, (weights[-1] - 1 / keys).abs().max() < 0.05
    if sharp and flat and entropy[0] < 0.05 and entropy[-1] > 0.95 * math.log(keys):
        said = (
            f"At low T one key has the weight 1 and the entropy is 0; at high T all {keys} weights approach "
            f"1/{keys} and the entropy approaches log {keys}."
        )
    else:
        said = "; ".join(
            f"T = {temperatures[i]:.2g}: largest weight {weights[i].max():.2f}, entropy {entropy[i]:.2f}"
            for i in (0, -1)
        )
    show(figure, alt=f"Weights and entropy over the temperature. {said}")


@style_context()
def plot_both_axes(
    over_keys: Float[Tensor, "queries keys"],
    over_queries: Float[Tensor, "queries keys"],
    tokens: Sequence[str],
) -> None:
    """Show the weights of a softmax over the keys beside those of a softmax over the queries."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.6))
    labels = {"queries": tokens, "keys": tokens}
    heatmap(over_keys, title="over the keys: rows sum to 1", ax=left, **labels)
    heatmap(over_queries, title="over the queries: columns sum to 1", ax=right, **labels).set(ylabel="")
    totals, sums = (
        ", ".join(f"{total:.1f}" for total in weights.sum(dim=-1).tolist())
        for weights in (over_keys, over_queries)
    )
    every = bool((over_keys.sum(dim=-1) - 1).abs().max() < 1e-3)
    show(
        figure,
        alt="Two tables of weights, one row per query and one column per key. Left, softmax over the keys: "
        f"{'every row sums to 1' if every else f'the rows sum to {totals}'}. Right, softmax over the "
        f"queries: the rows sum to {sums}.",
    )


@style_context()
def plot_random_walks(walks: Float[Tensor, "walks steps"]) -> None:
    """Show dot products as random walks: partial sums of d terms, and the band of ± √d around them."""
    steps = torch.arange(1, walks.shape[1] + 1)
    figure, axes = plt.subplots(figsize=(5.6, 3.2))
    axes.plot(steps, walks.T, color=PALETTE[0], linewidth=0.7, alpha=0.35)
    for sign in (1, -1):
        axes.plot(
            steps, sign * steps.sqrt(), color=PALETTE[3], linewidth=2.2, label="± √d" if sign > 0 else None
        )
    axes.set(xlabel="number of terms d", ylabel="dot product")
    axes.legend(loc="upper left")
    fan_out = bool(walks[:, -1].abs().mean() > 2 * walks[:, 0].abs().mean())
    within = (walks[:, -1].abs() <= len(steps) ** 0.5).float().mean().item()
    show(
        figure,
        alt=f"{len(walks)} dot products as they grow term by term, up to {len(steps)} terms: random walks"
        f"{' that fan out from 0' if fan_out else ''}. About {round(10 * within)} in 10 end between the "
        "curves ± √d.",
    )


@style_context()
def plot_widths(
    unscaled: Mapping[int, Float[Tensor, " queries"]],
    scaled: Mapping[int, Float[Tensor, " queries"]],
    quantity: str,
    log: bool = False,
) -> None:
    """Show the median of a quantity and the middle 80% of it over the width d, with and without scaling."""
    figure, axes = plt.subplots(figsize=(4.8, 3))
    _band(axes, unscaled, PALETTE[1], "o-", "unscaled")
    _band(axes, scaled, PALETTE[0], "s-", "divided by √d")
    widths = list(scaled)
    axes.set(xscale="log", xlabel="width d", xticks=widths, xticklabels=widths, ylabel=quantity)
    axes.minorticks_off()
    axes.set(yscale="log") if log else axes.set(ylim=(0, 1.03))
    axes.legend(loc="lower left" if log else "center right")
    first, last = ((unscaled[d].median().item(), scaled[d].median().item()) for d in (widths[0], widths[-1]))
    show(
        figure,
        alt=f"Median and middle 80% of the {quantity} over the width d. Unscaled, the median goes from "
        f"{first[0]:.1g} at d = {widths[0]} to {last[0]:.0g} at d = {widths[-1]}; divided by √d, from "
        f"{first[1]:.1g} to {last[1]:.1g}.",
    )


def _band(
    axes: Axes, values: Mapping[int, Float[Tensor, " queries"]], color: str, marker: str, label: str
) -> None:
    """The median as a line, and the range from the 10th to the 90th percentile as a band."""
    ranges = torch.stack([values[d].quantile(torch.tensor([0.1, 0.5, 0.9])) for d in values])
    low, middle, high = ranges.T
    axes.fill_between(list(values), low, high, color=color, alpha=0.2)
    axes.plot(list(values), middle, marker, color=color, label=label)

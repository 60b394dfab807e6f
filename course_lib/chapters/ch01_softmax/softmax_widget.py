"""Softmax under temperature and scaling."""

import math
from collections.abc import Callable, Sequence

import ipywidgets
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, numbered_bars, slider

KEYS = 8
QUERIES = 9
WIDTHS = (4, 16, 64, 256, 1024)


def softmax_explorer() -> Explorer:
    """Softmax weights of a random query over eight random keys: temperature, dimension d, scaling by √d."""
    return Explorer(
        {
            "temperature": slider(
                ipywidgets.FloatLogSlider, "temperature", value=1.0, base=10, min=-1, max=2, step=0.1,
                readout_format=".2f",
            ),
            "d": slider(ipywidgets.SelectionSlider, "d", options=WIDTHS, value=64),
            "query": slider(ipywidgets.IntSlider, "query", value=1, min=1, max=QUERIES),
            "scaled": ipywidgets.Checkbox(value=True, description="divide by √d", indent=False),
        },
        softmax_picture,
        "sliders for the temperature, d and the query, and a checkbox for the division by √d, with the "
        "scores of eight keys and the weights that the softmax makes of them.",
        size=(7.0, 3.7),
    )  # fmt: skip


def dot_products(d: int, query: int) -> Float[Tensor, " keys"]:
    """Dot products of a random query with eight random keys of dimension d, with components of variance 1."""
    generator = torch.Generator().manual_seed(query)
    q, k = torch.randn(d, generator=generator), torch.randn(KEYS, d, generator=generator)
    return k @ q


def jacobian_norm(weights: Float[Tensor, " keys"]) -> float:
    """Sensitivity of the weights to the scores: the Frobenius norm of the Jacobian diag(p) − p pᵀ."""
    return torch.linalg.matrix_norm(torch.diag(weights) - torch.outer(weights, weights)).item()


def softmax_picture(figure: Figure) -> Callable[..., str]:
    """Scores before the softmax, below them the weights after it, and three measures on the right."""
    grid = figure.add_gridspec(2, 2, width_ratios=(2, 1))
    figure.subplots_adjust(left=0.11, right=0.98, bottom=0.15, top=0.9, wspace=0.42, hspace=0.22)
    scores_axes, weights_axes = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[1, 0])
    measures_axes = figure.add_subplot(grid[:, 1])
    set_scores = _draw_scores(scores_axes)
    set_weights = _draw_weights(weights_axes)
    set_measures = _draw_measures(measures_axes)

    def update(temperature: float, d: int, query: int, scaled: bool) -> str:
        products = dot_products(d, query)
        scores = products / (math.sqrt(d) if scaled else 1.0)
        logits = scores / temperature
        weights = logits.softmax(dim=-1)
        largest, gradient = weights.max().item(), jacobian_norm(weights)
        entropy = torch.special.entr(weights).sum().item()
        set_scores(products.tolist(), logits.tolist())
        set_weights(weights.tolist())
        set_measures([largest, entropy / math.log(KEYS), gradient])
        return (
            f"d = {d}, scores {'' if scaled else 'not '}divided by √d, temperature {temperature:.2f}. "
            f"Standard deviation of the scores {scores.std().item():.2f}, largest weight {largest:.2f}, "
            f"entropy {entropy:.2f} of {math.log(KEYS):.2f}, gradient {gradient:.2g}. "
            + _verdict(largest, gradient)
        )

    return update


def _draw_scores(axes: Axes) -> Callable[[list[float], list[float]], None]:
    """Dot products as outlines, what enters the softmax as bars. Returns the function that sets both."""
    axes.set(ylabel="score", xticks=(), yscale="symlog", ylim=(-1000, 1000))
    axes.set_yticks((-100, -10, 0, 10, 100), ("−100", "−10", "0", "10", "100"))
    axes.minorticks_off()
    axes.grid(axis="x", visible=False)
    axes.axhline(0, color="0.4", linewidth=1)
    keys, zeros = range(1, KEYS + 1), [0.0] * KEYS
    entering = axes.bar(keys, zeros, width=0.5, color=PALETTE[0])
    before = axes.bar(keys, zeros, fill=False, edgecolor="0.35")
    legend = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 2, "borderaxespad": 0.0}
    axes.legend([before, entering], ["q · k", "what the softmax gets"], handlelength=1.2, **legend)
    for bar in (*entering, *before):
        bar.set_animated(True)

    def move(products: list[float], logits: list[float]) -> None:
        for bars, heights in ((before, products), (entering, logits)):
            for bar, height in zip(bars, heights, strict=True):
                bar.set_height(height)

    return move


def _draw_weights(axes: Axes) -> Callable[[Sequence[float]], None]:
    """Weight of each key, on an axis from 0 to 1. Returns the function that sets them."""
    axes.set(ylabel="weight", xlabel="key", xticks=range(1, KEYS + 1), ylim=(0, 1.1))
    axes.set_yticks((0, 1 / KEYS, 0.5, 1), ("0", "1/8", "0.5", "1"))
    axes.spines["left"].set_bounds(0, 1)
    axes.grid(axis="x", visible=False)
    return numbered_bars(axes.bar(range(1, KEYS + 1), [0.0] * KEYS, color=PALETTE[0]))


def _draw_measures(axes: Axes) -> Callable[[Sequence[float]], None]:
    """Largest weight, entropy and gradient. Returns the function that sets them."""
    axes.set(xlim=(0, 1.4), xticks=(0, 0.5, 1), ylim=(2.6, -0.6))
    axes.set_yticks(range(3), ("largest\nweight", "entropy\n/ log 8", "gradient"))
    axes.spines["bottom"].set_bounds(0, 1)
    axes.grid(axis="y", visible=False)
    return numbered_bars(axes.barh(range(3), [0.0] * 3, color=PALETTE[2]))


def _verdict(largest: float, gradient: float) -> str:
    if gradient < 0.01:
        return "All the weight is on one key, so almost no gradient reaches the scores in training."
    if largest < 2 / KEYS:
        return "The weights are nearly uniform: the query barely distinguishes the keys."
    if largest > 0.8:
        return "One key has most of the weight."
    return "The query prefers some keys but still attends to others."

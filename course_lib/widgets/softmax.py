"""Softmax under temperature and scaling."""

import math
from collections.abc import Callable

import ipywidgets
import torch
from jaxtyping import Float
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
        "sliders for the temperature, d and the query, and a checkbox for the division "
        "by √d, above the weights of eight keys. It responds while the notebook is running.",
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
    """Weights of the keys on the left; on the right three summary measures between 0 and 1."""
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    figure.subplots_adjust(left=0.08, right=0.98, bottom=0.2, top=0.95, wspace=0.5)
    left.set(xlabel="key", ylabel="weight", xticks=range(1, KEYS + 1), ylim=(0, 1.1))
    left.set_yticks((0, 1 / KEYS, 0.5, 1), ("0", "1/8", "0.5", "1"))
    left.grid(axis="x", visible=False)
    right.set(xlim=(0, 1.25), xticks=(0, 0.5, 1), ylim=(2.6, -0.6))
    right.set_yticks(range(3), ("largest\nweight", "entropy\n/ log 8", "gradient"))
    right.grid(axis="y", visible=False)
    set_weights = numbered_bars(left.bar(range(1, KEYS + 1), [0.0] * KEYS, color=PALETTE[0]))
    set_measures = numbered_bars(right.barh(range(3), [0.0] * 3, color=PALETTE[2]))

    def update(temperature: float, d: int, query: int, scaled: bool) -> str:
        scores = dot_products(d, query) / (math.sqrt(d) if scaled else 1.0)
        weights = (scores / temperature).softmax(dim=-1)
        largest, gradient = weights.max().item(), jacobian_norm(weights)
        entropy = torch.special.entr(weights).sum().item()
        set_weights(weights.tolist())
        set_measures([largest, entropy / math.log(KEYS), gradient])
        return (
            f"d = {d}, scores {'' if scaled else 'not '}divided by √d, temperature {temperature:.2f}. "
            f"Standard deviation of the scores {scores.std().item():.2f}, largest weight {largest:.2f}, "
            f"entropy {entropy:.2f} of {math.log(KEYS):.2f}, gradient {gradient:.2g}. "
            + _verdict(largest, gradient)
        )

    return update


def _verdict(largest: float, gradient: float) -> str:
    if gradient < 0.01:
        return "All the weight is on one key, so almost no gradient reaches the scores in training."
    if largest < 2 / KEYS:
        return "The weights are nearly uniform: the query barely distinguishes the keys."
    if largest > 0.8:
        return "One key has most of the weight."
    return "The query prefers some keys but still attends to others."

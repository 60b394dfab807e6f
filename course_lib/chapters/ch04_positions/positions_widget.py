"""Sinusoidal position encodings and their dot products, and rotary positions beside them."""

import math
from collections.abc import Callable

import ipywidgets
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from torch import Tensor

from course_lib.layers.positions import RotaryPositions, sinusoidal
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, slider

TOKENS = 64
WIDTHS = (4, 8, 16, 32, 64, 128)
BASES = (10, 100, 1000, 10_000, 100_000)
BACK = 3  # how far back the rotary query looks
RISES = 0.5  # if the curve rises by more than this after its minimum, distant positions are similar again


def positions_explorer() -> Explorer:
    """Sinusoidal and rotary positions by base and d_model: how similar a position is to all others.

    Source: Vaswani et al. 2017, section 3.5; Su et al. 2021, section 3.2.2.
    """
    return Explorer(
        {
            "base": slider(ipywidgets.SelectionSlider, "base", options=BASES, value=10_000),
            "d_model": slider(ipywidgets.SelectionSlider, "d_model", options=WIDTHS, value=64),
            "position": slider(ipywidgets.IntSlider, "position", value=20, min=0, max=TOKENS - 1),
        },
        positions_picture,
        "sliders for the base, d_model and a position, with a heatmap of the sinusoidal position encodings, "
        "the dot product of the chosen position with every other, and the score of a rotary query at this "
        "position with a key at every position.",
        size=(7.0, 3.4),
    )


def alike(table: Float[Tensor, "tokens d_model"], position: int) -> Float[Tensor, " tokens"]:
    """Normalized dot products of one row with all rows: 1 with itself, where the raw value is d_model/2."""
    return table @ table[position] / (table.shape[1] / 2)


def rotary_scores(d_model: int, base: float, position: int) -> Float[Tensor, " tokens"]:
    """Rotary scores of a query at this position with one key placed at every position.

    The query is (1, 0, 1, 0, …); the key is the same vector rotated by `BACK` extra positions, which W_q and
    W_k can learn. So the largest score, 1, is `BACK` positions before the query.
    """
    rotary = RotaryPositions(TOKENS, d_model, base)
    query = torch.tensor([1.0, 0.0]).repeat(d_model // 2).expand(TOKENS, d_model)
    key = rotary(query[:1], start=BACK).expand(TOKENS, d_model)
    return rotary(key) @ rotary(query)[position] / (d_model / 2)


def positions_picture(figure: Figure) -> Callable[..., str]:
    """Encodings on the left, one row per position; on the same rows, dot products and rotary scores."""
    left, middle, right = figure.subplots(1, 3, sharey=True, width_ratios=(1.3, 1, 1))
    figure.subplots_adjust(left=0.09, right=0.98, bottom=0.25, top=0.83, wspace=0.2)
    settings = {"cmap": "RdBu", "vmin": -1, "vmax": 1, "aspect": "auto", "interpolation": "nearest"}
    extent = (0, 1, TOKENS - 0.5, -0.5)
    image = left.imshow(torch.zeros(TOKENS, 4).numpy(), extent=extent, animated=True, **settings)
    left.set(xlabel="feature", ylabel="position", title="sinusoidal\n(red −1, blue 1)")
    left.set_xticks((0, 1), ("first", "last"))
    left.set_yticks((0, 16, 32, 48, 63))
    left.grid(visible=False)
    middle.set(title="sinusoidal", xlabel="dot product\n/ (d_model/2)")
    right.set(title=f"rotary query that\nlooks {BACK} tokens back", xlabel="score\n/ (d_model/2)")
    curves = [_curve(axes, color) for axes, color in ((middle, PALETTE[0]), (right, PALETTE[2]))]
    look = {"color": PALETTE[3], "linestyle": "--", "animated": True}
    marks = [axes.axhline(0, **look) for axes in (left, middle, right)]

    def update(base: int, d_model: int, position: int) -> str:
        table = sinusoidal(TOKENS, d_model, float(base))
        similar = alike(table, position)
        image.set_data(table.numpy())
        for curve, values in zip(
            curves, (similar, rotary_scores(d_model, float(base), position)), strict=True
        ):
            curve.set_data(values.numpy(), range(TOKENS))
        for mark in marks:
            mark.set_ydata((position, position))
        still = (table.amax(dim=0) - table.amin(dim=0) < 0.1).sum().item()
        return (
            f"{describe(base, d_model, position, similar)} {still} of {d_model} features barely change over "
            f"{TOKENS} positions. " + verdict(alike(table, 0))
        )

    return update


def _curve(axes: Axes, color: str) -> Line2D:
    """An empty curve on an axis from −1 to 1."""
    axes.set(xlim=(-1.1, 1.1), xticks=(-1, 0, 1))
    axes.axvline(0, color="0.5", linewidth=1)
    return axes.plot([], [], color=color, animated=True)[0]


def describe(base: int, d_model: int, position: int, similar: Float[Tensor, " tokens"]) -> str:
    """Status line, first part: base, d_model, wavelengths and three points of the curve."""
    longest = 2 * math.pi * base ** ((d_model - 2) / d_model)
    other = position + 10 if position + 10 < TOKENS else position - 10
    neighbour = position + (1 if other > position else -1)
    own = d_model / 2
    return (
        f"Base {base:,}, d_model = {d_model}: wavelengths from 6.3 to {longest:,.1f} positions. "
        f"Dot product of position {position} with itself: {own:.0f}; with position {neighbour}: "
        f"{own * similar[neighbour].item():.1f}; with position {other}: {own * similar[other].item():.1f}."
    )


def verdict(by_distance: Float[Tensor, " tokens"]) -> str:
    """Status line, second part: whether similarity falls with distance or rises again."""
    lowest = int(by_distance.argmin())
    again = lowest + int(by_distance[lowest:].argmax())
    if by_distance[again] - by_distance[lowest] > RISES:
        return f"The curve rises again: at distance {again} the similarity is {by_distance[again]:.2f}."
    return (
        "Nearby positions are more similar than distant ones: the curve falls from 1 to "
        f"{by_distance[-1]:.2f} at the longest distance, and its shape is the same at every position."
    )

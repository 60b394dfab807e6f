"""Sinusoidal position encodings and their dot products."""

import math
from collections.abc import Callable

import ipywidgets
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.layers.positions import sinusoidal
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, slider

TOKENS = 64
WIDTHS = (4, 8, 16, 32, 64, 128)
BASES = (10, 100, 1000, 10_000, 100_000)
RISES = 0.5  # if the curve rises by more than this after its minimum, distant positions are similar again


def positions_explorer() -> Explorer:
    """Sinusoidal position encodings by base and d_model, and the similarity of a position to all others.

    Source: Vaswani et al. 2017, section 3.5.
    """
    return Explorer(
        {
            "base": slider(ipywidgets.SelectionSlider, "base", options=BASES, value=10_000),
            "d_model": slider(ipywidgets.SelectionSlider, "d_model", options=WIDTHS, value=64),
            "position": slider(ipywidgets.IntSlider, "position", value=20, min=0, max=TOKENS - 1),
        },
        positions_picture,
        "sliders for the base, d_model and a position, above a heatmap of the sinusoidal position "
        "encodings and the dot product of the chosen position with every other. It responds while the "
        "notebook is running.",
        size=(7.0, 3.6),
    )


def alike(table: Float[Tensor, "tokens d_model"], position: int) -> Float[Tensor, " tokens"]:
    """Normalized dot products of one row with all rows: 1 with itself, where the raw value is d_model/2."""
    return table @ table[position] / (table.shape[1] / 2)


def positions_picture(figure: Figure) -> Callable[..., str]:
    """Encodings on the left, one row per position; dot products on the right, on the same rows."""
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.4, 1))
    figure.subplots_adjust(left=0.1, right=0.97, bottom=0.19, top=0.9, wspace=0.12)
    settings = {"cmap": "RdBu", "vmin": -1, "vmax": 1, "aspect": "auto", "interpolation": "nearest"}
    extent = (0, 1, TOKENS - 0.5, -0.5)
    image = left.imshow(torch.zeros(TOKENS, 4).numpy(), extent=extent, animated=True, **settings)
    left.set(xlabel="feature", ylabel="position", title="red −1, white 0, blue 1")
    left.set_xticks((0, 1), ("first", "last"))
    left.set_yticks((0, 16, 32, 48, 63))
    left.grid(visible=False)
    right.set(xlabel="dot product / (d_model/2)", xlim=(-1.05, 1.05), xticks=(-1, 0, 1))
    right.axvline(0, color="0.6", linewidth=1)
    look = {"color": PALETTE[1], "linestyle": "--", "animated": True}
    marks = [axes.axhline(0, **look) for axes in (left, right)]
    (curve,) = right.plot([], [], color=PALETTE[0], animated=True)

    def update(base: int, d_model: int, position: int) -> str:
        table = sinusoidal(TOKENS, d_model, float(base))
        similar = alike(table, position)
        image.set_data(table.numpy())
        curve.set_data(similar.numpy(), range(TOKENS))
        for mark in marks:
            mark.set_ydata((position, position))
        still = (table.amax(dim=0) - table.amin(dim=0) < 0.1).sum().item()
        return (
            f"{describe(base, d_model, position, similar)} {still} of {d_model} features barely change here. "
            + verdict(alike(table, 0))
        )

    return update


def describe(base: int, d_model: int, position: int, similar: Float[Tensor, " tokens"]) -> str:
    """Status line, first part: base, d_model, wavelengths and three points of the curve."""
    longest = 2 * math.pi * base ** ((d_model - 2) / d_model)
    other = position + 10 if position + 10 < TOKENS else position - 10
    neighbour = position + (1 if other > position else -1)
    own = d_model / 2
    return (
        f"Base {base:,}, d_model = {d_model}: wavelengths from 6.3 to {longest:,.1f} positions. "
        f"Dot product of position {position} with itself {own:.0f}, with {neighbour} "
        f"{own * similar[neighbour].item():.1f}, with {other} {own * similar[other].item():.1f}."
    )


def verdict(by_distance: Float[Tensor, " tokens"]) -> str:
    """Status line, second part: whether similarity falls with distance or rises again."""
    lowest = int(by_distance.argmin())
    again = lowest + int(by_distance[lowest:].argmax())
    if by_distance[again] - by_distance[lowest] > RISES:
        return f"The curve rises again: at distance {again} the similarity is {by_distance[again]:.2f}."
    return (
        f"Near positions are more similar than distant ones: the curve falls from 1 to {by_distance[-1]:.2f} "
        "at the longest distance, and its shape is the same at every position."
    )

"""The sinusoidal table, and how alike two positions look in it."""

import math
from collections.abc import Callable

import ipywidgets
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.positions import sinusoidal
from course_lib.show import PALETTE
from course_lib.widgets.explorer import Explorer, slider

TOKENS = 64
WIDTHS = (4, 8, 16, 32, 64, 128)
BASES = (10, 100, 1000, 10_000, 100_000)
RISES = 0.5  # where the curve comes up by more than this after its lowest point, positions look alike again


def positions_explorer() -> Explorer:
    """Base and width of the sinusoidal table; how alike a chosen position and all others look in it."""
    return Explorer(
        {
            "base": slider(ipywidgets.SelectionSlider, "base", options=BASES, value=10_000),
            "d_model": slider(ipywidgets.SelectionSlider, "d_model", options=WIDTHS, value=64),
            "position": slider(ipywidgets.IntSlider, "position", value=20, min=0, max=TOKENS - 1),
        },
        positions_picture,
        "sliders for the base, for d_model and for a position, above the table of sines and cosines as "
        "colours and the dot product of the chosen position with every other. It answers while the "
        "notebook is running.",
        size=(7.0, 3.6),
    )


def alike(table: Float[Tensor, "tokens d_model"], position: int) -> Float[Tensor, " tokens"]:
    """The dot products of one row of the table with all rows, divided by that with itself, d_model/2."""
    return table @ table[position] / (table.shape[1] / 2)


def positions_picture(figure: Figure) -> Callable[..., str]:
    """On the left the table, one row for each position; on the right the curve, beside the same rows."""
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
            f"{describe(base, d_model, position, similar)} {still} of {d_model} features hardly change here. "
            + verdict(alike(table, 0))
        )

    return update


def describe(base: int, d_model: int, position: int, similar: Float[Tensor, " tokens"]) -> str:
    """The sizes in words, and three points of the curve."""
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
    """What the curve over the distance, from 0 on, is good for."""
    lowest = int(by_distance.argmin())
    again = lowest + int(by_distance[lowest:].argmax())
    if by_distance[again] - by_distance[lowest] > RISES:
        return f"The curve comes up again: positions {again} apart look {by_distance[again]:.0%} alike."
    return (
        f"Near positions look more alike than far ones: the curve falls from 1 to {by_distance[-1]:.2f} "
        "over the longest distance, in the same way wherever the position is."
    )

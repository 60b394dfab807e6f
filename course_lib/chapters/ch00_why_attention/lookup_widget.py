"""Attention as soft dictionary lookup: the closer a key, the more of its value is returned."""

from collections.abc import Callable

import ipywidgets
import torch
from jaxtyping import Float
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from torch import Tensor

from course_lib.layers.multi_head_attention import attention
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, slider

NAMES = "abcde"
PLACES = torch.tensor([20.0, 85.0, 150.0, 220.0, 300.0])  # angles of the keys on the circle, in degrees
VALUES = torch.tensor([2.0, 8.0, 5.0, 1.0, 6.0])
CIRCLE = torch.arange(360.0)
THICKEST = 9.0  # line width at weight 1, in points


def lookup_explorer() -> Explorer:
    """Soft lookup with five keys on a circle, a query of any direction, and its sharpness."""
    return Explorer(
        {
            "angle": slider(ipywidgets.IntSlider, "query, in degrees", value=60, min=0, max=359),
            "sharpness": slider(
                ipywidgets.FloatLogSlider, "sharpness", value=10**0.6, base=10, min=-1, max=3, step=0.1,
                readout_format=".1f",
            ),
            "hard": ipywidgets.Checkbox(value=False, description="best match only", indent=False),
        },
        lookup_picture,
        "sliders for the direction and sharpness of a query, and a checkbox for hard lookup, above five keys "
        "on a circle with their weights, and the value returned for every direction of the query.",
    )  # fmt: skip


def on_circle(degrees: Float[Tensor, " points"]) -> Float[Tensor, "points 2"]:
    """Points on the unit circle at these angles."""
    radians = degrees.deg2rad()
    return torch.stack((radians.cos(), radians.sin()), dim=-1)


def look_up(
    degrees: Float[Tensor, " queries"], sharpness: float, hard: bool
) -> tuple[Float[Tensor, " queries"], Float[Tensor, "queries keys"]]:
    """Values returned for queries in these directions, and the weight of each key.

    sharpness: length of the query vectors. hard: the key with the largest score gets all the weight.
    """
    keys = on_circle(PLACES)
    averages, weights = attention(sharpness * on_circle(degrees), keys, VALUES[:, None])
    if hard:
        scores = on_circle(degrees) @ keys.T  # rounding can make the weights equal
        weights = torch.nn.functional.one_hot(scores.argmax(dim=-1), len(NAMES)).float()
        averages = weights @ VALUES[:, None]
    return averages[:, 0], weights


def lookup_picture(figure: Figure) -> Callable[..., str]:
    """Keys and query on the left; the value returned for each direction on the right."""
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.35))
    figure.subplots_adjust(left=0.01, right=0.965, bottom=0.2, top=0.95, wspace=0.22)
    set_weights, set_query = _draw_keys(left)
    curve, now = _draw_values(right)

    def update(angle: int, sharpness: float, hard: bool) -> str:
        averages, weights = look_up(CIRCLE, sharpness, hard)
        set_weights(weights[angle].tolist())
        set_query(angle)
        curve.set_ydata(averages)
        now.set_data([angle], [averages[angle].item()])
        change = (averages[(angle + 1) % 360] - averages[angle]).item()
        return _words(angle, sharpness, hard, weights[angle].tolist(), averages[angle].item(), change)

    return update


def _draw_keys(axes: Axes) -> tuple[Callable[[list[float]], None], Callable[[int], None]]:
    """Draw the circle. Returns functions that set the weights of the keys and the query angle."""
    axes.set(xlim=(-2.1, 2.1), ylim=(-1.4, 1.4), aspect="equal")
    axes.set_axis_off()
    x, y = on_circle(torch.linspace(0, 360, 181)).T
    axes.plot(x, y, color="0.55", linewidth=1)
    keys = on_circle(PLACES)
    lines = [axes.plot([0, kx], [0, ky], color=PALETTE[0], animated=True)[0] for kx, ky in keys.tolist()]
    words = [
        axes.text(1.16 * kx, 1.16 * ky, "", animated=True, **_outside(kx, ky)) for kx, ky in keys.tolist()
    ]
    axes.plot(*keys.T, "o", color=PALETTE[0], zorder=3)
    query = axes.plot([], [], "--", color=PALETTE[1], animated=True, zorder=4)[0]
    tip = axes.plot([], [], "D", color=PALETTE[1], animated=True, zorder=5)[0]

    def set_weights(weights: list[float]) -> None:
        for name, line, word, weight in zip(NAMES, lines, words, weights, strict=True):
            line.set_linewidth(THICKEST * weight)
            word.set_text(f"{name}: {weight:.2f}")

    def set_query(angle: int) -> None:
        qx, qy = (0.72 * on_circle(CIRCLE[angle : angle + 1])[0]).tolist()
        query.set_data([0, qx], [0, qy])
        tip.set_data([qx], [qy])

    return set_weights, set_query


def _outside(x: float, y: float) -> dict[str, str]:
    """Alignment that keeps a label at this point outside the circle."""
    across = "center" if abs(x) < 0.3 else "left" if x > 0 else "right"
    return {"ha": across, "va": "bottom" if y > 0.9 else "center"}


def _draw_values(axes: Axes) -> tuple[Line2D, Line2D]:
    """Draw keys and hard lookup. Returns the curve of values and the marker of the current one."""
    axes.set(xlabel="direction of the query, in degrees", ylabel="value returned")
    axes.set(xlim=(0, 360), xticks=range(0, 361, 90), ylim=(0, 9.4), yticks=range(0, 9, 2))
    axes.plot(CIRCLE, look_up(CIRCLE, 1.0, hard=True)[0], ":", color="0.45")
    axes.plot(PLACES, VALUES, "o", color=PALETTE[0])
    above = rcParams["lines.markersize"]
    for name, place, value in zip(NAMES, PLACES.tolist(), VALUES.tolist(), strict=True):
        axes.annotate(name, (place, value), (0, above), textcoords="offset points", ha="center")
    curve = axes.plot(CIRCLE, CIRCLE, color=PALETTE[0], animated=True)[0]
    now = axes.plot([], [], "D", color=PALETTE[1], animated=True, zorder=4)[0]
    return curve, now


def _words(
    angle: int, sharpness: float, hard: bool, weights: list[float], average: float, change: float
) -> str:
    best = max(range(len(NAMES)), key=weights.__getitem__)
    if hard:
        then = (
            f"it jumps by {change:+.0f}" if change else "nothing changes: there is no gradient to learn from"
        )
        return (
            f"Query at {angle}°: key {NAMES[best]} matches best and its value {average:.0f} is returned. "
            f"One degree further, {then}."
        )
    return (
        f"Query at {angle}°, sharpness {sharpness:.1f}: {average:.2f} is returned, with weight "
        f"{weights[best]:.2f} on key {NAMES[best]}, whose value is {VALUES[best]:.0f}. "
        f"One degree further, the answer changes by {change:+.2g}. " + _verdict(weights[best], change)
    )


def _verdict(largest: float, change: float) -> str:
    if largest > 0.99:
        return "Almost hard lookup: a single key answers."
    if largest < 0.3:
        return "The query barely distinguishes the keys: the result is close to the mean of all values."
    if abs(change) > 0.25:
        return "Between two keys, a sharp query switches within a few degrees."
    return "Several keys share the weight, and the answer varies smoothly with the query."

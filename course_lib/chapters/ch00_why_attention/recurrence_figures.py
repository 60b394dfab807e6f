"""Figures of chapter 0: recurrence, paths between tokens, fading gradients, and a query that learns."""

import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.viz.figures import show, show_picture
from course_lib.viz.style import PALETTE, style_context

COLORS = {"red": PALETTE[3], "green": PALETTE[2], "blue": PALETTE[0]}
MARKERS = "s^D"


def diagram_recurrence() -> None:
    """Show a recurrent network unrolled over four inputs, with the path from the first input marked."""
    show_picture(__file__, "recurrence")


def diagram_paths() -> None:
    """Show the path from the first of five tokens to the last: recurrent, convolution, self-attention."""
    show_picture(__file__, "paths")


@style_context()
def plot_reach(reached: Mapping[str, Float[Tensor, " steps"]]) -> None:
    """Show the gradient that reaches each input, relative to the newest one, on a logarithmic axis."""
    figure, axes = plt.subplots(figsize=(6, 3.6))
    for (name, ratio), style in zip(reached.items(), ("-", "--", "-."), strict=False):
        axes.plot(ratio, style, label=name)
    axes.set(yscale="log", ylim=(1e-12, 1e3), xlabel="steps back", ylabel="gradient, relative to the newest")
    axes.legend(loc="upper right", ncols=3)
    said = " ".join(f"{_reach_in_words(name, ratio)}." for name, ratio in reached.items())
    show(figure, alt=f"Gradient over the steps back, on a logarithmic axis. {said}")


def _reach_in_words(name: str, ratio: Float[Tensor, " steps"]) -> str:
    subject = f"The {name}" if name[0].isupper() else name.capitalize()
    steps, rest, last = len(ratio) - 1, ratio[1:], ratio[-1].item()
    halfway = ratio[steps // 2].item()
    straight = 0 < last < halfway and last < 1 and 0.45 < math.log(halfway) / math.log(last) < 0.55
    if rest.max() < 1.5 * rest.min():
        return f"{subject} is flat after the first step"
    if straight and steps > 50 and ratio[50] < 1e-9:
        return f"{subject} falls along a straight line, below 1e-9 at 50 steps"
    if straight and last > 1e-3:
        return f"{subject} falls slowly"
    return f"{subject} goes from {ratio[0]:.0e} to {last:.0e} at {steps} steps"


@style_context()
def plot_query_path(
    keys: Float[Tensor, "keys 2"], path: Float[Tensor, "steps 2"], names: Sequence[str]
) -> None:
    """Show keys in the plane, and the path of a query from its start to its end."""
    figure, axes = plt.subplots(figsize=(5.2, 3.6))
    for (x, y), name, marker in zip(keys.tolist(), names, MARKERS, strict=True):
        axes.plot(x, y, marker, color=COLORS[name], markersize=11)
        below = {"xytext": (0, -18), "ha": "center"} if y < 0.5 else {"xytext": (-12, 0), "ha": "right"}
        axes.annotate(f"key of {name}", (x, y), textcoords="offset points", va="center", **below)
    axes.plot(*path.T, ".-", color="black", linewidth=1, markersize=5)
    for place, word in ((path[0], "start"), (path[-1], f"after {len(path)} steps")):
        axes.annotate(word, place.tolist(), (8, 4), textcoords="offset points")
    axes.set(
        xlim=(-1.35, 1.35), ylim=(-0.35, 1.7), aspect="equal", xlabel="first number", ylabel="second number"
    )
    places = ", ".join(f"{name} {_side(*key)}" for name, key in zip(names, keys.tolist(), strict=True))
    show(figure, alt=f"Three keys in a plane: {places}. {_path_in_words(keys, path, names)}")


def _side(x: float, y: float) -> str:
    """Where a point of the plane lies, in words."""
    if abs(x) < abs(y):
        return "at the top" if y > 0 else "at the bottom"
    return "on the right" if x > 0 else "on the left"


def _path_in_words(
    keys: Float[Tensor, "keys 2"], path: Float[Tensor, "steps 2"], names: Sequence[str]
) -> str:
    if not path.isfinite().all():
        return "The path of the query is not finite."
    (near, _), (start, end) = (x.tolist() for x in torch.cdist(path[[0, -1]], keys).min(dim=1))
    begins = "near" if near < 0.5 else "nearest to"
    up = bool((path[1:, 1] > path[:-1, 1]).all())
    past = bool(path[-1] @ keys[end] > keys[end] @ keys[end])
    then = "moves step by step up and past" if up and past else "ends nearest to"
    return f"The query starts {begins} the {names[start]} key and {then} the {names[end]} key."

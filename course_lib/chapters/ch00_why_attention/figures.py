"""Figures of chapter 0: recurrence, fading gradients, a query that learns, and maps of rearranged letters."""

import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.viz.figures import picture, show
from course_lib.viz.style import PALETTE, style_context

COLORS = {"red": PALETTE[3], "green": PALETTE[2], "blue": PALETTE[0]}
MARKERS = "s^D"
PATTERNS = {  # in words: the key that the query at position i of n attends to
    "the mirror diagonal, from the top right to the bottom left": lambda i, n: n - 1 - i,
    "the diagonal one place left of the main one, and in the first row on the last letter": lambda i, n: (
        (i - 1) % n
    ),
    "the main diagonal": lambda i, n: i,
}

diagram_recurrence = picture(
    __file__,
    "recurrence",
    "Show a recurrent network unrolled over four inputs, with the path from the first input marked.",
)
diagram_paths = picture(
    __file__,
    "paths",
    "Show the path from the first of five tokens to the last: recurrent, convolution, self-attention.",
)


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


@style_context()
def plot_letter_maps(string: str, maps: Mapping[str, tuple[str, Float[Tensor, "queries keys"]]]) -> None:
    """Show attention maps of models that rearrange a string, side by side, from white (0) to blue (1).

    maps: by name of the task, the answer, whose letters label the rows, and the weights.
    Raises ValueError for an answer or weights that do not have the length of the string.
    """
    n = len(string)
    for name, (answer, weights) in maps.items():
        if len(answer) != n or weights.shape != (n, n):
            raise ValueError(
                f"{name}: {len(answer)} letters and weights {tuple(weights.shape)} do not fit {n} letters"
            )
    figure, panels = plt.subplots(1, len(maps), figsize=(4.2 * len(maps), 4.2), squeeze=False)
    for axes, (name, (answer, weights)) in zip(panels[0], maps.items(), strict=True):
        axes.imshow(weights.numpy(), cmap="Blues", vmin=0, vmax=1)
        axes.set(title=name, xlabel="letter of the string", ylabel="letter of the answer")
        axes.set_xticks(range(n), string)
        axes.set_yticks(range(n), answer)
        axes.grid(False)
    said = " ".join(
        f"{name.capitalize()}: {_letters_in_words(weights)}." for name, (_, weights) in maps.items()
    )
    show(figure, alt=f"Attention weights, a row for each letter of the answer. {said}")


def _letters_in_words(weights: Float[Tensor, "queries keys"]) -> str:
    """On which diagonal the largest weights of the rows lie, and how much of the weight."""
    n = len(weights)
    for words, key in PATTERNS.items():
        places = torch.tensor([key(i, n) for i in range(n)])
        if (weights.argmax(dim=-1) == places).all():
            on_it = weights[torch.arange(n), places].mean().item()
            amount = "nearly all of the" if on_it > 0.9 else "most of the" if on_it > 0.5 else "the largest"
            return f"{amount} weight is on {words}"
    return "the largest weights lie on no diagonal"

"""Figures of chapter 0: attention maps of a small Transformer that rearranges letters."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.viz.figures import show
from course_lib.viz.style import style_context

PATTERNS = {  # in words: the key that the query at position i of n attends to
    "the mirror diagonal, from the top right to the bottom left": lambda i, n: n - 1 - i,
    "the diagonal one place left of the main one, and in the first row on the last letter": lambda i, n: (
        (i - 1) % n
    ),
    "the main diagonal": lambda i, n: i,
}


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
    said = " ".join(f"{name.capitalize()}: {_in_words(weights)}." for name, (_, weights) in maps.items())
    show(figure, alt=f"Attention weights, a row for each letter of the answer. {said}")


def _in_words(weights: Float[Tensor, "queries keys"]) -> str:
    """On which diagonal the largest weights of the rows lie, and how much of the weight."""
    n = len(weights)
    for words, key in PATTERNS.items():
        places = torch.tensor([key(i, n) for i in range(n)])
        if (weights.argmax(dim=-1) == places).all():
            on_it = weights[torch.arange(n), places].mean().item()
            amount = "nearly all of the" if on_it > 0.9 else "most of the" if on_it > 0.5 else "the largest"
            return f"{amount} weight is on {words}"
    return "the largest weights lie on no diagonal"

"""Figures of training a translation model: the shift by one, training losses, cross-attention, smoothed
targets."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch.nn.functional as F
from jaxtyping import Float
from matplotlib.ticker import MaxNLocator
from torch import Tensor, tensor

from course_lib.viz.figures import heatmap, show, show_picture
from course_lib.viz.style import style_context


def diagram_shift() -> None:
    """Show what the decoder reads and what it must predict at each position."""
    show_picture(__file__, "shift")


@style_context()
def plot_losses(losses: Mapping[str, Sequence[float]], mean_of: int = 10, *, alt: str) -> None:
    """Show the training loss of several runs, each point a mean over `mean_of` steps."""
    figure, axes = plt.subplots(figsize=(5.6, 3))
    for (name, run), style in zip(losses.items(), ("-", "--", "-.", ":"), strict=False):
        means = [sum(run[i : i + mean_of]) / mean_of for i in range(0, len(run) - mean_of + 1, mean_of)]
        axes.plot([mean_of * (i + 1) for i in range(len(means))], means, style, label=name)
    axes.set(xlabel="step", ylabel="training loss", xlim=(0, None), ylim=(0, None))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.legend()
    show(figure, alt=alt)


@style_context()
def plot_cross_attention(
    weights: Float[Tensor, "queries keys"], predicted: Sequence[str], source: Sequence[str], *, alt: str
) -> None:
    """Show where the decoder attends to in the source when it predicts each token."""
    axes = heatmap(weights, queries=predicted, keys=source, title="last layer, mean of the heads")
    axes.set(ylabel="predicts", xlabel="attends to")
    show(axes.figure, alt=alt)


@style_context()
def plot_label_smoothing(
    labels: Sequence[str] = ("El", "gato", "duerme", ".", "EOS"),
    vocabulary: Sequence[str] = ("EOS", ".", "El", "duerme", "gato", "perro"),
    epsilon: float = 0.3,
) -> None:
    """Show the target matrix, one row per position: one-hot, and after label smoothing with ε = `epsilon`.

    Raises ValueError for a label that is not in the vocabulary.
    """
    figure, panels = plt.subplots(1, 2, figsize=(6.4, 0.45 * len(labels) + 1.0), sharey=True)
    for axes, smoothing in zip(panels, (0.0, epsilon), strict=True):
        targets = smoothed_targets([vocabulary.index(label) for label in labels], len(vocabulary), smoothing)
        axes.pcolormesh(targets, vmin=0, vmax=1, cmap="Blues", edgecolors="0.9")
        for row, values in enumerate(targets.tolist()):
            for column, p in enumerate(values):
                color = "white" if p > 0.715 else "black"
                axes.text(
                    column + 0.5,
                    row + 0.5,
                    f"{p:.2f}" if p % 1 else f"{p:.0f}",
                    ha="center",
                    va="center",
                    color=color,
                )
        axes.set(title="one-hot: ε = 0" if smoothing == 0 else f"label smoothing: ε = {smoothing}")
        axes.set_xticks([i + 0.5 for i in range(len(vocabulary))], vocabulary, rotation=45)
        axes.set(ylim=(len(labels), 0), xlabel="token of the vocabulary")
        axes.grid(visible=False)
    panels[0].set_yticks([i + 0.5 for i in range(len(labels))], labels)
    panels[0].set_ylabel("label")
    rest = epsilon / len(vocabulary)
    show(
        figure,
        alt=f"Two matrices of targets, with a row for each of the labels {' '.join(labels)} and a column for "
        f"each of {len(vocabulary)} tokens. Left, one-hot: 1 at the label, 0 elsewhere. Right, "
        f"smoothed with ε = {epsilon}: {1 - epsilon + rest:.2f} at the label and {rest:.2f} at each other "
        "token. Each row adds up to 1.",
    )


def smoothed_targets(labels: Sequence[int], vocab: int, epsilon: float) -> Float[Tensor, "positions vocab"]:
    """Label smoothing: the target distribution of each position, as `F.cross_entropy` uses it.

    >>> smoothed_targets([2], vocab=3, epsilon=0.3)
    tensor([[0.1000, 0.1000, 0.8000]])
    """
    return (1 - epsilon) * F.one_hot(tensor(labels), vocab) + epsilon / vocab

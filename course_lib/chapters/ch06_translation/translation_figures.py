"""Figures of training a translation model: the shift by one, training losses, cross-attention."""

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


def smoothed_targets(labels: Sequence[int], vocab: int, epsilon: float) -> Float[Tensor, "positions vocab"]:
    """Label smoothing: the target distribution of each position, as `F.cross_entropy` uses it.

    >>> smoothed_targets([2], vocab=3, epsilon=0.3)
    tensor([[0.1000, 0.1000, 0.8000]])
    """
    return (1 - epsilon) * F.one_hot(tensor(labels), vocab) + epsilon / vocab

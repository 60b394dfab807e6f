"""Figure of the appendix on the d2l system: the mean over batches, where the last batch is small."""

from collections.abc import Sequence
from statistics import fmean

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from course_lib.viz.style import PALETTE


def batch_means(losses: Sequence[float], batch: int) -> list[tuple[int, float]]:
    """Number of sentences and mean loss of each batch, in order."""
    parts = [losses[i : i + batch] for i in range(0, len(losses), batch)]
    return [(len(part), fmean(part)) for part in parts]


def plot_batch_means(losses: Sequence[float], batches: Sequence[int]) -> Figure:
    """Mean loss of each batch, and its mean over batches and over sentences, for several batch sizes.

    losses: the loss of each sentence.
    """
    fig, axes = plt.subplots(1, len(batches), figsize=(3.2 * len(batches), 3.2), sharey=True, squeeze=False)
    for ax, batch in zip(axes[0], batches, strict=True):
        start, means = 0, batch_means(losses, batch)
        for size, mean in means:
            ax.bar(start, mean, width=size, align="edge", color=PALETTE[9], edgecolor="0.2", linewidth=1)
            start += size
        over_batches = fmean(mean for _, mean in means)
        ax.axhline(
            over_batches, color=PALETTE[3], linestyle="--", label="mean over batches, as plotted by d2l"
        )
        ax.axhline(fmean(losses), color=PALETTE[0], label="mean over sentences")
        ax.grid(axis="x", visible=False)
        ax.set(title=f"batches of {batch}", xlabel="sentences", xlim=(0, len(losses) + 2))
    axes[0, 0].set_ylabel("loss")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig

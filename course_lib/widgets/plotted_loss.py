"""Validation loss as d2l plots it: the mean over batches, even if the last batch is small."""

from collections.abc import Callable, Sequence
from statistics import fmean

import ipywidgets
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib.experiments.d2l_system import SEEDS, runs_of
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, slider

SEES = {"later tokens, as plotted": "future", "no later tokens, as trained": "masked"}
SMALLEST = 16  # smallest batch size


def plotted_loss_explorer() -> Explorer:
    """Loss of each batch by batch size, with the mean over batches and the mean over sentences."""
    sentences = len(runs_of("lecture")[0].losses["future"])
    return Explorer(
        {
            "batch": slider(ipywidgets.IntSlider, "batch size", value=128, min=SMALLEST, max=sentences),
            "sees": slider(ipywidgets.Dropdown, "the decoder sees", options=list(SEES)),
            "seed": slider(ipywidgets.Dropdown, "seed", options=list(SEEDS), value=1),
        },
        plotted_loss_picture,
        "a slider for the batch size and menus for what the decoder sees and for the seed, above a bar for "
        "each batch (its width is the number of sentences, its height the loss) and lines that mark the "
        "mean over batches, which d2l plots, and the mean over sentences. It responds "
        "while the notebook is running.",
    )


def batch_means(losses: Sequence[float], batch: int) -> list[tuple[int, float]]:
    """Number of sentences and mean loss of each batch, in order."""
    parts = [losses[i : i + batch] for i in range(0, len(losses), batch)]
    return [(len(part), fmean(part)) for part in parts]


def plotted_loss_picture(figure: Figure) -> Callable[..., str]:
    """A bar for each batch, and lines at the two means."""
    axes = figure.subplots()
    figure.subplots_adjust(left=0.09, right=0.98, bottom=0.17, top=0.86)
    losses = {(run.seed, way): run.losses[way] for run in runs_of("lecture") for way in SEES.values()}
    sentences = len(losses[0, "future"])
    sizes = range(SMALLEST, sentences + 1)
    highest = max(mean for one in losses.values() for size in sizes for _, mean in batch_means(one, size))
    axes.set(xlim=(0, sentences + 1), ylim=(0, 1.1 * highest), xlabel="validation sentences", ylabel="loss")
    axes.grid(axis="x", visible=False)
    look = {"facecolor": PALETTE[9], "edgecolor": "white", "animated": True}
    bars = [axes.add_patch(Rectangle((0, 0), 0, 0, **look)) for _ in range(-(-sentences // SMALLEST))]
    plotted = axes.axhline(0, color=PALETTE[1], linestyle="--", label="mean over batches", animated=True)
    right = axes.axhline(0, color=PALETTE[0], label="mean over sentences", animated=True)
    legend = axes.legend(loc="lower right", bbox_to_anchor=(1, 0.99), ncols=2, borderaxespad=0.1)
    for line in legend.get_lines():
        line.set_animated(False)

    def update(batch: int, sees: str, seed: int) -> str:
        means = batch_means(losses[seed, SEES[sees]], batch)
        start = 0
        for i, bar in enumerate(bars):
            size, mean = means[i] if i < len(means) else (0, 0.0)
            bar.set_bounds(start, 0, size, mean)
            bar.set_facecolor(PALETTE[4] if i == len(means) - 1 and size < batch else PALETTE[9])
            start += size
        of_batches = fmean(mean for _, mean in means)
        of_sentences = fmean(losses[seed, SEES[sees]])
        plotted.set_ydata([of_batches] * 2)
        right.set_ydata([of_sentences] * 2)
        return sentence(means, of_batches, of_sentences)

    return update


def sentence(means: list[tuple[int, float]], of_batches: float, of_sentences: float) -> str:
    """Status line: the last batch and the two means."""
    size, loss = means[-1]
    if len(means) == 1:
        head = f"One batch of all {size} sentences."
    else:
        many = f"{size} sentence{'s' * (size > 1)}"
        head = f"{len(means)} batches; the last one has {many} and a loss of {loss:.2f}."
    gap = of_batches - of_sentences
    tail = f"{abs(gap):.2f} too {'high' if gap > 0 else 'low'}" if round(abs(gap), 2) else "the same"
    return (
        f"{head} The mean over batches, which d2l plots, is {of_batches:.2f}; the mean over sentences is "
        f"{of_sentences:.2f}: {tail}."
    )

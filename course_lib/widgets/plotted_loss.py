"""A validation loss as d2l plots it: the mean of batches, however few sentences the last one has."""

from collections.abc import Callable, Sequence

import ipywidgets
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib.lectures.d2l_runs import SEEDS, runs_of
from course_lib.show import PALETTE
from course_lib.widgets.explorer import Explorer, slider

SEES = {"later words, as plotted": "future", "no later word, as trained": "masked"}
SMALLEST = 16  # sentences in a batch


def plotted_loss_explorer() -> Explorer:
    """A slider for the size of a batch: the batches' losses, and the two means that can be made of them."""
    sentences = len(runs_of("lecture")[0].losses["future"])
    return Explorer(
        {
            "batch": slider(
                ipywidgets.IntSlider, "sentences in a batch", value=128, min=SMALLEST, max=sentences
            ),
            "sees": slider(ipywidgets.Dropdown, "the decoder sees", options=list(SEES)),
            "seed": slider(ipywidgets.Dropdown, "seed", options=list(SEEDS), value=1),
        },
        plotted_loss_picture,
        "sliders and lists for the number of sentences in a batch, for what the decoder sees and for the "
        "seed, above a bar for each batch, as wide as it has sentences and as high as its loss; one line "
        "marks the mean of the batches, which is plotted, the other the mean of the sentences. It answers "
        "while the notebook is running.",
    )


def batch_means(losses: Sequence[float], batch: int) -> list[tuple[int, float]]:
    """The number of sentences and the mean loss of each batch, in order."""
    parts = [losses[i : i + batch] for i in range(0, len(losses), batch)]
    return [(len(part), sum(part) / len(part)) for part in parts]


def plotted_loss_picture(figure: Figure) -> Callable[..., str]:
    """A bar for each batch and two lines."""
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
    plotted = axes.axhline(0, color=PALETTE[1], linestyle="--", label="mean of the batches", animated=True)
    right = axes.axhline(0, color=PALETTE[0], label="mean of the sentences", animated=True)
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
        of_batches = sum(mean for _, mean in means) / len(means)
        of_sentences = sum(losses[seed, SEES[sees]]) / sentences
        plotted.set_ydata([of_batches] * 2)
        right.set_ydata([of_sentences] * 2)
        return sentence(means, of_batches, of_sentences)

    return update


def sentence(means: list[tuple[int, float]], of_batches: float, of_sentences: float) -> str:
    """What is shown, in words and numbers."""
    size, loss = means[-1]
    if len(means) == 1:
        head = f"One batch with all {size} sentences."
    else:
        head = f"{len(means)} batches; the last one has {size} of the sentences and a loss of {loss:.2f}."
    gap = of_batches - of_sentences
    tail = f"{abs(gap):.2f} too {'high' if gap > 0 else 'low'}" if round(abs(gap), 2) else "the same"
    return (
        f"{head} The mean of the batches, which d2l plots, is {of_batches:.2f}; the mean of the sentences is "
        f"{of_sentences:.2f}: {tail}."
    )

"""Figures of chapter 8c: shifted patches, learning curves, mixed images, convolutional tokens."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from course_lib.chapters.ch08_images.vit_figures import Image, Images, draw_bare, draw_confusion
from course_lib.viz.figures import picture, show
from course_lib.viz.style import PALETTE, style_context
from course_lib.viz.trends import span, trend

FIRST, SECOND = PALETTE[0], PALETTE[1]
MARKERS = "osD^v"


@style_context()
def plot_shifted_patches(before: Image, after: Image, patch: int) -> None:
    """Show an image and a changed one, cut into patches, with a cross in each patch that is different."""
    figure, panels = plt.subplots(1, 2, figsize=(5.4, 3.0))
    side, different = before.shape[-1], 0
    for axes, image, title in zip(panels, (before, after), ("before", "after"), strict=True):
        _draw(axes, image, title)
        for edge in range(0, side + 1, patch):
            axes.axhline(edge - 0.5, color=SECOND, linewidth=1)
            axes.axvline(edge - 0.5, color=SECOND, linewidth=1)
    for y in range(0, side, patch):
        for x in range(0, side, patch):
            place = (..., slice(y, y + patch), slice(x, x + patch))
            if not before[place].equal(after[place]):
                different += 1
                panels[1].plot(x + patch / 2 - 0.5, y + patch / 2 - 0.5, "x", color=SECOND, markersize=9)
    count = (side // patch) ** 2
    show(
        figure,
        alt=f"An image before and after a change, both cut into {count} patches. A cross marks each patch "
        f"whose pixels are different: {different} of {count}.",
    )


@style_context()
def plot_moved_features(
    images: Mapping[str, Image],
    features: Float[Tensor, "images maps height width"],
) -> None:
    """Show images, each with the five feature maps that are largest for the first one, and their means.

    images: by name: one, the same after a change, and another one to compare with.
    """
    means = features.mean(dim=(2, 3))
    figure, panels = plt.subplots(len(images), 6, figsize=(6.4, 3.9), layout="tight")
    for row, (line, (name, image)) in enumerate(zip(panels, images.items(), strict=True)):
        _draw(line[0], image, name)
        for axes, number in zip(line[1:], means[0].argsort(descending=True).tolist(), strict=False):
            title, look = f"mean {means[row, number]:.1f}", {"vmin": 0, "vmax": float(features.max())}
            draw_bare(axes, features[row, number], title, cmap="Blues", **look)
    first, changed, other = means[:3]
    near = (first - changed).norm() < 0.75 * (first - other).norm()
    show(
        figure,
        alt=f"{', '.join(images)}: each image, and five of its {means.shape[1]} feature maps with their "
        f"means. The means of all maps after the change are {'' if near else 'not much '}nearer to those "
        "before it than to those of the other image.",
    )


@style_context()
def plot_by_images(accuracies: Mapping[int, Sequence[float | int]]) -> None:
    """Show test accuracy over the number of training images: one point per seed, a line through the means."""
    figure, axes = plt.subplots(figsize=(5.6, 3.2))
    counts, means = list(accuracies), [sum(runs) / len(runs) for runs in accuracies.values()]
    for count, runs in accuracies.items():
        axes.semilogx([count] * len(runs), runs, "o", color=FIRST, alpha=0.6)
    axes.semilogx(counts, means, "-", color=FIRST, label="test")
    axes.axhline(1, color=SECOND, linestyle="--", label="training images")
    axes.set(xlabel="training images", ylabel="accuracy", ylim=(0, 1.05))
    axes.set_xticks(counts, [f"{count:,}" for count in counts])
    axes.minorticks_off()
    axes.legend(loc="lower right")
    seeds = span([len(runs) for runs in accuracies.values()])
    line = "rises" if all(before < after for before, after in pairwise(means)) else trend(means, 2)
    show(
        figure,
        alt=f"Test accuracy over the number of training images, {counts[0]} to {counts[-1]:,}, with {seeds} "
        f"points at each, one per seed. The line through the means {line}. "
        f"{'Above it, a' if max(means) < 1 else 'A'} dashed line at 1: the accuracy on the training images.",
    )


@style_context()
def plot_conditions(results: Mapping[str, Mapping[str, Sequence[float | int]]]) -> None:
    """Show accuracies of several ways of training: one panel for each test, one point per seed.

    results: by title of the panel and by way of training.
    """
    figure, panels = plt.subplots(1, len(results), figsize=(6.4, 2.8), sharey=True, squeeze=False)
    names = list(next(iter(results.values())))
    for axes, (title, runs) in zip(panels[0], results.items(), strict=True):
        for y, name in enumerate(names):
            marker, color = MARKERS[y % len(MARKERS)], PALETTE[y]
            axes.plot(runs[name], [y] * len(runs[name]), marker, color=color, alpha=0.7)
            axes.plot([np.mean(runs[name])] * 2, [y - 0.3, y + 0.3], color=color)
        axes.set(title=title, xlabel="accuracy", xlim=(0, 1), ylim=(len(names) - 0.4, -0.6))
        axes.set_yticks(range(len(names)), names)
    show(
        figure,
        alt=f"{len(results)} panels of accuracy: {'; '.join(results)}. In each, a row of points for "
        f"{', '.join(names)}: one point per seed, and a line at the mean.",
    )


@style_context()
def plot_checkpoint_losses(
    steps: Sequence[int], training: Sequence[float | int], validation: Sequence[float | int], kept: int
) -> None:
    """Show training and validation loss at each checkpoint, and which one is kept."""
    figure, axes = plt.subplots(figsize=(5.6, 3.2))
    axes.plot(steps, training, "s--", color=SECOND, label="training images")
    axes.plot(steps, validation, "o-", color=FIRST, label="validation images")
    axes.axvline(kept, color="0.4", linestyle=":", label="checkpoint kept")
    axes.set(xlabel="step", ylabel="loss", ylim=(0, None))
    axes.legend(loc="best")
    toward_zero = "falls toward 0" if 0 <= training[-1] < 0.1 * training[0] else trend(training)
    far = max(3 * training[-1], validation[0] / 4)
    apart = all(loss > far for loss in validation)
    show(
        figure,
        alt=f"Loss at {len(steps)} checkpoints. On the training images it {toward_zero}. On the validation "
        f"images it {'stays far above' if apart else trend(validation)}. A vertical line marks the "
        "checkpoint that is kept.",
    )


@style_context()
def plot_mixtures(
    rows: Mapping[str, tuple[Images, Float[Tensor, "images classes"]]],
) -> None:
    """Show rows of images, each with the classes that its label mixes."""
    count = len(next(iter(rows.values()))[0])
    figure, panels = plt.subplots(
        len(rows), count, figsize=(6.4, 1.45 * len(rows)), squeeze=False, layout="tight"
    )
    for line, (name, (pixels, labels)) in zip(panels, rows.items(), strict=True):
        for axes, image, label in zip(line, pixels, labels, strict=True):
            parts = [f"{100 * label[i]:.0f}% {i}" for i in label.nonzero().flatten().tolist()]
            _draw(axes, image, " + ".join(parts))
            axes.title.set_fontsize(9)
        line[0].set_ylabel(name)
    show(
        figure,
        alt=f"{len(rows)} rows of {count} images, each with its label above: {', '.join(rows)}. Where two "
        "images are mixed, the label gives a percentage to each of the two classes.",
    )


@style_context()
def plot_confusion_percent(percent: Float[Tensor, "classes classes"], classes: Sequence[str]) -> None:
    """Show a confusion matrix whose rows sum to 100."""
    figure, axes = plt.subplots(figsize=(6.2, 5.2))

    def cell(row: int, column: int) -> tuple[str, str]:
        return f"{percent[row, column]:.0f}", "white" if percent[row, column] > 55 else "black"

    draw_confusion(axes, percent, 100, cell, classes, rotation=90)
    dark = int((percent.diag() > 50).sum())
    off = percent.nan_to_num().fill_diagonal_(-1)
    true, taken = divmod(int(off.argmax()), len(classes))
    show(
        figure,
        alt=f"Confusion matrix in percent, {len(classes)} true classes by {len(classes)} predicted; dark "
        f"on the diagonal{'' if dark == len(classes) else f' for {dark} of them'}. The largest number beside "
        f"it: {off[true, taken]:.0f} percent of the class {classes[true]} are predicted as {classes[taken]}.",
    )


diagram_convolutional_tokens = picture(
    __file__,
    "convolutional_tokens",
    "Show which pixels of one line each token reads: patches, and two convolutions of stride 2.",
)


def _draw(axes: Axes, image: Image, title: str) -> None:
    draw_bare(axes, image[0], title, cmap="gray", vmin=0, vmax=255)

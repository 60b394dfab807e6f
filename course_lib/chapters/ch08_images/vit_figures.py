"""Figures of chapter 8: patches, the vision Transformer, its training, the confusion matrix, ablations."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float, Int, UInt8
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from torch import Tensor

from course_lib.viz.diagrams import MIDDLE
from course_lib.viz.figures import picture, show
from course_lib.viz.style import PALETTE, style_context
from course_lib.viz.trends import trend

GRID, EVALUATED = PALETTE[1], PALETTE[2]
MARKERS = "os^Dv"
Image = UInt8[Tensor, "channels height width"]
Images = UInt8[Tensor, "images channels height width"]


@style_context()
def plot_patches(image: Image, size: int, alt: str) -> None:
    """Show an image with the grid of its patches, and below it the patches as a sequence."""
    side = image.shape[-1] // size
    figure = plt.figure(figsize=(6.4, 3.2))
    above, below = figure.subfigures(2, 1, height_ratios=(2.5, 1))
    axes = above.subplots()
    draw_image(axes, image)
    for place in range(1, side):
        axes.axhline(size * place - 0.5, color=GRID)
        axes.axvline(size * place - 0.5, color=GRID)
    for number, axes in enumerate(below.subplots(1, side * side)):
        row, column = divmod(number, side)
        top, left = size * row, size * column
        draw_image(axes, image[:, top : top + size, left : left + size])
        axes.set_xlabel(number)
    show(figure, alt=alt)


diagram_patch_embedding = picture(
    __file__,
    "patch_embedding",
    "Show an image of 4 × 4 pixels, its four patches as rows of numbers, and the vectors made of them.",
)
diagram_vit = picture(
    __file__, "vit", "Show a vision Transformer: patches, class token, positions, encoder blocks, head."
)


@style_context()
def plot_image_rows(rows: Mapping[str, Images], alt: str) -> None:
    """Show rows of images. rows: by the label on the left; all of the same number of images."""
    across = len(next(iter(rows.values())))
    figure, panels = plt.subplots(len(rows), across, figsize=(6.2, 6.2 / across * len(rows)), squeeze=False)
    for row, (title, images) in zip(panels, rows.items(), strict=True):
        for axes, image in zip(row, images, strict=True):
            draw_image(axes, image)
        row[0].set_ylabel(title)
    show(figure, alt=alt)


@style_context()
def plot_training(losses: Sequence[float], evaluations: Sequence[Mapping[str, float | int]]) -> None:
    """Show the training loss of each step, and below it the validation accuracy."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.6, 4.0), sharex=True)
    above.plot(range(1, len(losses) + 1), losses, linewidth=1)
    above.set(ylabel="training loss", ylim=(0, 2.5))
    accuracies = [score["accuracy"] for score in evaluations]
    below.plot([score["step"] for score in evaluations], accuracies, "o-", color=EVALUATED)
    below.set(xlabel="step", ylabel="validation accuracy", ylim=(0, 1.03))
    # of a run that succeeds, only what every machine gives
    learned = losses and np.mean(losses[-20:]) < 0.3 < losses[0]
    falls = f"falls from {losses[0]:.1f} to below 0.3" if learned else trend(losses)
    reads = accuracies and max(0.8, accuracies[0]) < accuracies[-1]
    rises = "rises to more than 8 in 10" if reads else trend(accuracies, 2)
    show(
        figure,
        alt=f"Above, the training loss over the steps {falls}. Below, the validation accuracy {rises}.",
    )


@style_context()
def plot_confusion(table: Int[Tensor, "classes classes"], classes: Sequence[str]) -> None:
    """Show a confusion matrix: counts, and a shade for the fraction of the row."""
    figure, axes = plt.subplots(figsize=(5, 4.6))
    fractions = table / table.sum(dim=1, keepdim=True).clamp(min=1)

    def cell(row: int, column: int) -> tuple[str, str]:
        pale = "black" if table[row, column] else "0.75"
        return str(table[row, column].item()), "white" if fractions[row, column] > 0.6 else pale

    draw_confusion(axes, fractions, 1, cell, classes)
    right, total = int(table.trace()), int(table.sum())
    many = "Nearly all images lie" if right > 0.9 * total else f"{right:,} of {total:,} images lie"
    show(
        figure,
        alt=f"Confusion matrix, {len(classes)} by {len(classes)}: a row per true class, a column per "
        f"predicted class, counts in the cells. {many} on the diagonal.",
    )


@style_context()
def plot_errors(images: Images, titles: Sequence[str], panels: int = 5) -> None:
    """Show at most `panels` misclassified images, each with its title."""
    figure, row = plt.subplots(1, panels, figsize=(6.2, 1.9))
    for axes in row:
        axes.set_axis_off()
    for axes, image, title in zip(row, images, titles, strict=False):
        axes.set_axis_on()
        draw_image(axes, image)
        axes.set_title(title, fontsize=9)
    show(
        figure,
        alt="The misclassified test images with the lowest confidence, each with its true class, its "
        "predicted class and the confidence."
        if len(images)
        else "Empty: no test image is misclassified.",
    )


@style_context()
def plot_ways(scores: Mapping[str, Sequence[float]], chance: float) -> None:
    """Show the accuracy of several ways to train, one row per way and one marker per seed."""
    figure, axes = plt.subplots(figsize=(6.2, 0.42 * len(scores) + 1.0))
    for y, (values, marker) in enumerate(zip(scores.values(), MARKERS, strict=False)):
        axes.plot(values, [y] * len(values), marker, color=PALETTE[y], markersize=8, alpha=0.75)
    axes.axvline(chance, color="0.5", linestyle=":", linewidth=1.5)
    axes.text(chance + 0.01, len(scores) - 0.6, "chance", va="center", color="0.35")
    axes.set_yticks(range(len(scores)), scores)
    axes.set(xlabel="accuracy on held-out images, one marker per seed", xlim=(0, 1.02))
    axes.set_ylim(len(scores) - 0.4, -0.6)
    show(
        figure,
        alt=f"Accuracy of {len(scores)} ways to train, one row each, one marker per seed: "
        f"{', '.join(scores)}. A dotted line marks chance.",
    )


def draw_confusion(
    axes: Axes,
    shades: Float[Tensor, "classes classes"],
    most: int,
    cell: Callable[[int, int], tuple[str, str]],
    classes: Sequence[str],
    rotation: int = 0,
) -> None:
    """Draw a confusion matrix. most: the darkest shade. cell: text and color by row and column."""
    axes.imshow(shades.numpy(), cmap="Blues", vmin=0, vmax=most)
    for row, column in np.ndindex(*shades.shape):
        text, color = cell(row, column)
        axes.text(column, row, text, color=color, **MIDDLE)
    axes.set(xlabel="predicted class", ylabel="true class")
    axes.set_xticks(range(len(classes)), classes, rotation=rotation)
    axes.set_yticks(range(len(classes)), classes)
    axes.grid(visible=False)


def draw_image(axes: Axes, image: Image, title: str = "") -> None:
    """Draw a small gray or color image without a frame."""
    draw_bare(axes, (image.float().permute(1, 2, 0) / 255).expand(-1, -1, 3), title)
    axes.spines[:].set_visible(False)


def draw_bare(axes: Axes, values: Any, title: str = "", **look: Any) -> AxesImage:
    """Draw an image or a map without ticks."""
    axes.set(xticks=[], yticks=[], title=title)
    axes.grid(visible=False)
    return axes.imshow(np.asarray(values), **look)

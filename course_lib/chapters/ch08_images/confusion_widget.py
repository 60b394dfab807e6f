"""Confusion matrix of an image classifier, on original and changed images, with those in each cell."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import ipywidgets
import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from course_lib.chapters.ch08_images.digits_vit import classifier_of
from course_lib.chapters.ch08_images.patch_picture import montage
from course_lib.datasets import ImageSplit
from course_lib.models.vit import ViT
from course_lib.tasks.image_classification import confusion_matrix, predict
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.explorer import slider
from course_lib.widgets.heatmap import Heatmap, Place
from course_lib.widgets.map_explorer import MapExplorer

ACROSS, MOST = 5, 15  # images in a line, and in all, shown for a cell
CELL = 64  # pixels: largest width of an image
LIKELIEST = 3  # classes named for an image
NOISE = 60.0  # standard deviation of the noise, for pixels from 0 to 255
Pixels = UInt8[Tensor, "images channels height width"]


@dataclass(frozen=True)
class Outcome:
    """Images as shown to the model, their labels and the predicted probabilities."""

    pixels: Pixels
    labels: Int[Tensor, " images"]
    probabilities: Float[Tensor, "images classes"]

    def matrix(self) -> Int[Tensor, "classes classes"]:
        classes = self.probabilities.shape[1]
        return confusion_matrix(self.labels, self.probabilities.argmax(dim=-1), classes)

    def behind(self, true: int, taken: int) -> list[int]:
        """Indices of the images in a cell: errors by falling confidence, correct ones by rising."""
        inside = (self.labels == true) & (self.probabilities.argmax(dim=-1) == taken)
        numbers = inside.nonzero()[:, 0]
        order = self.probabilities[numbers, taken].argsort(descending=true != taken, stable=True)
        return numbers[order].tolist()


def outcome(model: ViT, split: ImageSplit, change: Callable[[Pixels], Pixels]) -> Outcome:
    pixels = change(split.pixels)
    return Outcome(pixels.cpu(), split.labels.cpu(), predict(model, pixels).softmax(dim=-1).cpu())


def noisy(pixels: Pixels) -> Pixels:
    """Gaussian noise added to each pixel, with a fixed seed."""
    noise = torch.randn(pixels.shape, generator=torch.Generator().manual_seed(0)).to(pixels.device)
    return (pixels + NOISE * noise).clamp(0, 255).to(torch.uint8)


CHANGES: dict[str, Callable[[Pixels], Pixels]] = {
    "original": lambda pixels: pixels,
    "one pixel to the right": lambda pixels: F.pad(pixels, (1, -1)),  # the new first column is 0
    "half the contrast": lambda pixels: pixels // 2,
    "with noise": noisy,
}


def confusion_explorer(
    model: ViT | None = None, split: ImageSplit | None = None, classes: Sequence[str] = ()
) -> MapExplorer:
    """Confusion matrix, and the images in the cell of a true and a predicted class.

    Without a model, a small classifier and the test digits. classes: class names.
    Raises ValueError in the cases of `classifier_of`.
    """
    model, split, classes = classifier_of(model, split, classes)
    seen = lru_cache(maxsize=None)(lambda change: outcome(model, split, CHANGES[change]))
    mistakes = seen(next(iter(CHANGES))).matrix().fill_diagonal_(-1)
    true, taken = divmod(int(mistakes.argmax()), len(classes))
    controls = {
        "true": slider(ipywidgets.SelectionSlider, "true class", options=classes, value=classes[true]),
        "taken": slider(ipywidgets.SelectionSlider, "predicted class", options=classes, value=classes[taken]),
        "change": slider(ipywidgets.Dropdown, "images", options=list(CHANGES)),
    }

    def choose(place: Place) -> None:
        """Go to the selected cell of the matrix."""
        if place.map != 0:
            return
        for name, index in (("true", place.row), ("taken", place.column)):
            if index is not None:
                controls[name].value = classes[index]

    return MapExplorer(
        controls,
        lambda maps: confusion_picture(maps, seen, classes),
        "sliders for the true and the predicted class, and a menu of changes to the images, above the "
        "confusion matrix and the images in the chosen cell with their probabilities; a click chooses a cell "
        "or an image.",
        size=(7.0, 3.6),
        widths=(1, 1),
        cell=CELL,
        on_select=choose,
    )


def confusion_picture(
    maps: AttentionMap, seen: Callable[[str], Outcome], classes: Sequence[str]
) -> Callable[..., str]:
    """The matrix on the left, the images of one cell on the right."""

    def update(true: str, taken: str, change: str, selected: Place) -> str:
        row, column, shown = classes.index(true), classes.index(taken), seen(change)
        counts, inside = shown.matrix(), shown.behind(row, column)
        title = f"{true} predicted as {taken}: {len(inside)} of {counts[row].sum()}"
        images = gallery(shown, inside[:MOST], row, column, classes, title)
        maps.show_maps([matrix(counts, row, column, classes), images])
        return in_words(shown, row, column, classes, change) + of_image(images, selected)

    return update


def matrix(counts: Int[Tensor, "classes classes"], row: int, column: int, classes: Sequence[str]) -> Heatmap:
    """Counts, colored by their fraction of the true class; one cell is framed."""
    shares = counts / counts.sum(dim=1, keepdim=True).clamp(min=1)
    return Heatmap(
        weights=shares.sqrt(),  # the square root makes a single image visible
        rows=classes,
        columns=classes,
        title="confusion matrix",
        row_name="true class",
        column_name="predicted class",
        numbers=True,
        texts=[[str(number or "") for number in line] for line in counts.tolist()],
        descriptions=[
            [f"{number} ({share:.1%} of the class)" for number, share in zip(*line, strict=True)]
            for line in zip(counts.tolist(), shares.tolist(), strict=True)
        ],
        marked=Place(0, row, column),
    )


def gallery(
    shown: Outcome, inside: list[int], row: int, column: int, classes: Sequence[str], title: str
) -> Heatmap:
    """Images with the probability of the predicted class, then of the true class, below each."""
    probabilities, left_over = shown.probabilities[inside], -len(inside) % ACROSS
    asked = list(dict.fromkeys((column, row)))  # a single class on the diagonal
    weights = F.pad(probabilities[:, column], (0, left_over), value=math.nan).view(-1, ACROSS)

    side = shown.pixels.shape[-1]  # there is space below each image for the numbers
    right, below = math.ceil(side / 16), math.ceil(0.3 * len(asked) * side)

    def in_lines(texts: Iterable[str]) -> list[list[str]]:
        return np.reshape([*texts, *[""] * left_over], weights.shape).tolist()

    return Heatmap(
        weights=weights,
        rows=[""] * len(weights),
        columns=[""] * ACROSS,
        title=title,
        row_name="",
        column_name="",
        numbers=True,
        texts=in_lines("\n".join(f"{p:.2f}" for p in both) for both in probabilities[:, asked].tolist()),
        descriptions=in_lines(named(each, classes) for each in probabilities),
        picture=montage(shown.pixels[inside], ACROSS, right, below) if inside else None,
    )


def named(probabilities: Float[Tensor, " classes"], classes: Sequence[str]) -> str:
    """The likeliest classes of an image, such as "6: 0.93, 0: 0.05, 8: 0.01"."""
    best = probabilities.topk(min(LIKELIEST, len(classes)))
    return ", ".join(
        f"{classes[i]}: {p:.2f}" for p, i in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    )


def in_words(shown: Outcome, row: int, column: int, classes: Sequence[str], change: str) -> str:
    """Status line: accuracy, predictions for the true class, and the order of the images shown."""
    counts, inside = shown.matrix(), shown.behind(row, column)
    total, of_class, right = int(counts.sum()), int(counts[row].sum()), int(counts.trace())
    true, taken = classes[row], classes[column]
    others = [(int(n), classes[i]) for i, n in enumerate(counts[row]) if n and i != row]
    errors = ", ".join(f"{n} as {name}" for n, name in sorted(others, key=lambda one: -one[0]))
    head = (
        f"Images: {change}. Accuracy {100 * right / total:.1f}% ({right} of {total}). Of {of_class} of class "
        f"{true}, {int(counts[row, row])} are correct; errors: {errors or 'none'}. "
    )
    if not inside:
        return f"{head}No image of class {true} is predicted as {taken}."
    order = "the most confident errors" if row != column else "the least confident images"
    rest = f", {MOST} of {len(inside)}" if len(inside) > MOST else ""
    then = f", then of {true}" if row != column else ""
    mean = shown.probabilities[inside, column].mean()
    return (
        f"{head}Below each image: the probability of {taken}{then}. Shown are {order}{rest}. "
        f"Mean probability of {taken}: {mean:.2f}."
    )


def of_image(images: Heatmap, selected: Place) -> str:
    """Status line, last part: the likeliest classes of the image that is selected; empty without one."""
    number, row, column = selected
    if number != 1 or row is None or column is None or row >= len(images.rows):
        return ""
    said = images.descriptions[row][column]
    return f" Image {row * ACROSS + column + 1} of these: {said}." if said else ""

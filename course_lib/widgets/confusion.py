"""Confusion matrix of an image classifier, with the images in each cell."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import ipywidgets
from jaxtyping import Int
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.datasets import ImageSplit
from course_lib.experiments.digits_vit import classifier_of
from course_lib.models.vit import ViT
from course_lib.widgets.explorer import Explorer, slider
from course_lib.widgets.patch_picture import Frame, colours, empty, still_image
from course_lib.widgets.perturbations import CHANGES, Outcome, outcome

ACROSS, DOWN = 5, 3  # grid of images shown for a cell
NUMBERED = 12  # most classes for which the counts are printed
DARK = 0.715  # shade from which text is white


def confusion_explorer(
    model: ViT | None = None, split: ImageSplit | None = None, classes: Sequence[str] = ()
) -> Explorer:
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
    return Explorer(
        controls,
        lambda figure: confusion_picture(figure, seen, classes),
        "sliders for the true and the predicted class, and a menu of changes to the images, above the "
        "confusion matrix and the images in the chosen cell with their probabilities. It responds while "
        "the notebook is running.",
        size=(7.0, 3.6),
    )


def confusion_picture(
    figure: Figure, seen: Callable[[str], Outcome], classes: Sequence[str]
) -> Callable[..., str]:
    """The matrix on the left, the images of one cell on the right."""
    matrix, gallery = Matrix(figure.add_axes((0.1, 0.17, 0.4, 0.75)), classes), Gallery(figure)

    def update(true: str, taken: str, change: str) -> str:
        row, column, shown = classes.index(true), classes.index(taken), seen(change)
        counts, inside = shown.matrix(), shown.behind(row, column)
        matrix.draw(counts, row, column)
        gallery.title.set_text(f"{true} predicted as {taken}: {len(inside)} of {counts[row].sum()}")
        gallery.draw(shown, inside, row, column)
        return in_words(shown, counts, inside, (row, column), classes, change)

    return update


class Matrix:
    """Heatmap of counts, shaded by their fraction of the true class; one cell is framed."""

    def __init__(self, axes: Axes, classes: Sequence[str]):
        self.many = many = len(classes)
        self.image = axes.imshow(
            [[0.0]], vmin=0, vmax=1, cmap="Blues", aspect="auto", extent=(0, many, many, 0),
            interpolation="nearest", animated=True,
        )  # fmt: skip
        letters = max(map(len, classes))
        places = [i + 0.5 for i in range(many)]
        axes.set_xticks(places, classes, rotation=0 if letters < 3 else 90)
        axes.set_yticks(places, classes)
        axes.set(xlabel="predicted class", ylabel="true class")
        axes.tick_params(length=0, pad=2)
        axes.grid(visible=False)
        look = {"ha": "center", "va": "center", "size": rcParams["xtick.labelsize"], "animated": True}
        numbered = range(many if many <= NUMBERED else 0)
        self.cells = [[axes.text(x + 0.5, y + 0.5, "", **look) for x in numbered] for y in numbered]
        self.frame = Frame(axes)

    def draw(self, counts: Int[Tensor, "classes classes"], row: int, column: int) -> None:
        shade = (
            counts / counts.sum(dim=1, keepdim=True).clamp(min=1)
        ).sqrt()  # the square root makes a single image visible
        self.image.set_data(shade.numpy())
        self.frame.move(column, row, 1)
        for texts, numbers, shades in zip(self.cells, counts.tolist(), shade.tolist(), strict=False):
            for text, number, dark in zip(texts, numbers, shades, strict=True):
                text.set(text=str(number) if number else "", color="white" if dark > DARK else "black")


class Gallery:
    """Images with the probability of the predicted class, then of the true class, below each."""

    def __init__(self, figure: Figure):
        axes = empty(figure.add_axes((0.54, 0.06, 0.45, 0.86)))
        axes.set(xlim=(0, ACROSS), ylim=(DOWN, 0))
        small, large = rcParams["xtick.labelsize"], rcParams["axes.titlesize"]
        look = {"ha": "center", "animated": True}
        self.title = axes.text(
            0.5, 1.02, "", size=large, va="bottom", transform=axes.transAxes, parse_math=False, **look
        )
        places = [(x, y) for y in range(DOWN) for x in range(ACROSS)]
        self.images = [still_image(axes, extent=(x + 0.05, x + 0.95, y + 0.58, y + 0.03)) for x, y in places]
        self.texts = [axes.text(x + 0.5, y + 0.61, "", va="top", size=small, **look) for x, y in places]
        axes.set(xlim=(0, ACROSS), ylim=(DOWN, 0))

    def draw(self, shown: Outcome, inside: list[int], row: int, column: int) -> None:
        for place, (image, text) in enumerate(zip(self.images, self.texts, strict=True)):
            there = place < len(inside)
            image.set_visible(there)
            text.set_text("")
            if there:
                image.set_data(colours(shown.pixels[inside[place]]))
                p = shown.probabilities[inside[place]]
                text.set_text(f"{p[column]:.2f}" + (f"\n{p[row]:.2f}" if row != column else ""))


def in_words(
    shown: Outcome,
    counts: Int[Tensor, "classes classes"],
    inside: list[int],
    cell: tuple[int, int],
    classes: Sequence[str],
    change: str,
) -> str:
    """Status line: accuracy, predictions for the true class, and the order of the images shown."""
    row, column = cell
    total, of_class = int(counts.sum()), int(counts[row].sum())
    true, taken, right = classes[row], classes[column], int(counts.trace())
    others = [(int(n), classes[i]) for i, n in enumerate(counts[row]) if n and i != row]
    errors = ", ".join(f"{n} as {name}" for n, name in sorted(others, key=lambda one: -one[0]))
    head = (
        f"Images: {change}. Accuracy {100 * right / total:.1f}% ({right} of {total}). Of {of_class} of class "
        f"{true}, {int(counts[row, row])} are correct; errors: {errors or 'none'}. "
    )
    if not inside:
        return f"{head}No image of class {true} is predicted as {taken}."
    most = ACROSS * DOWN
    order = "the most confident errors" if row != column else "the least confident ones"
    rest = f", {most} of {len(inside)}" if len(inside) > most else ""
    then = f", then of {true}" if row != column else ""
    mean = shown.probabilities[inside, column].mean()
    return (
        f"{head}Below each image, {order} first{rest}: the probability of {taken}{then}. "
        f"Mean of {taken}: {mean:.2f}."
    )

"""What an image classifier confuses: the matrix, and the images behind each of its cells."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import ipywidgets
from jaxtyping import Int
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.datasets import ImageSplit
from course_lib.vit import ViT
from course_lib.widgets.digits import classifier_of
from course_lib.widgets.explorer import Explorer, slider
from course_lib.widgets.outcomes import CHANGES, Outcome, outcome
from course_lib.widgets.patch_picture import Frame, colours, empty, still_image

ACROSS, DOWN = 5, 3  # images that are shown of a cell
NUMBERED = 12  # classes, at most, whose counts are written down
DARK = 0.715  # from here on letters are white


def confusion_explorer(
    model: ViT | None = None, split: ImageSplit | None = None, classes: Sequence[str] = ()
) -> Explorer:
    """A true class, a predicted one, and the images behind that cell of the confusion matrix.

    Without a model, a small one that reads the embedded digits for the test. classes: their names.
    Raises ValueError as `classifier_of` does.
    """
    model, split, classes = classifier_of(model, split, classes)
    seen = lru_cache(maxsize=None)(lambda change: outcome(model, split, CHANGES[change]))
    mistakes = seen(next(iter(CHANGES))).matrix().fill_diagonal_(-1)
    true, taken = divmod(int(mistakes.argmax()), len(classes))
    controls = {
        "true": slider(ipywidgets.SelectionSlider, "true class", options=classes, value=classes[true]),
        "taken": slider(ipywidgets.SelectionSlider, "taken for", options=classes, value=classes[taken]),
        "change": slider(ipywidgets.Dropdown, "images", options=list(CHANGES)),
    }
    return Explorer(
        controls,
        lambda figure: confusion_picture(figure, seen, classes),
        "sliders for the true and for the predicted class, and a list of changes to the images, above the "
        "confusion matrix and the images behind the chosen cell with their probabilities. It answers while "
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
        gallery.title.set_text(f"{true} taken for {taken}: {len(inside)} of {counts[row].sum()}")
        gallery.draw(shown, inside, row, column)
        return in_words(shown, counts, inside, (row, column), classes, change)

    return update


class Matrix:
    """Counts, the darker the larger their share of the true class; one cell has a frame."""

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
        axes.set(xlabel="taken for", ylabel="true class")
        axes.tick_params(length=0, pad=2)
        axes.grid(visible=False)
        look = {"ha": "center", "va": "center", "size": rcParams["xtick.labelsize"], "animated": True}
        numbered = range(many if many <= NUMBERED else 0)
        self.cells = [[axes.text(x + 0.5, y + 0.5, "", **look) for x in numbered] for y in numbered]
        self.frame = Frame(axes)

    def draw(self, counts: Int[Tensor, "classes classes"], row: int, column: int) -> None:
        shade = (counts / counts.sum(dim=1, keepdim=True).clamp(min=1)).sqrt()  # so that one image is seen
        self.image.set_data(shade.numpy())
        self.frame.move(column, row, 1)
        for texts, numbers, shades in zip(self.cells, counts.tolist(), shade.tolist(), strict=False):
            for text, number, dark in zip(texts, numbers, shades, strict=True):
                text.set(text=str(number) if number else "", color="white" if dark > DARK else "black")


class Gallery:
    """Some images, and below each the probability of the class it is taken for, then of the true one."""

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
    """How many are right in all, what the true class is taken for, and what is shown of the cell."""
    row, column = cell
    total, of_class = int(counts.sum()), int(counts[row].sum())
    true, taken, right = classes[row], classes[column], int(counts.trace())
    others = [(int(n), classes[i]) for i, n in enumerate(counts[row]) if n and i != row]
    errors = ", ".join(f"{n} for {name}" for n, name in sorted(others, key=lambda one: -one[0]))
    head = (
        f"Images {change}: {right} of {total} right, {100 * right / total:.1f} %. Of {of_class} of class "
        f"{true}, {int(counts[row, row])} are recognised; taken for others: {errors or 'none'}. "
    )
    if not inside:
        return f"{head}No image of class {true} is taken for {taken}."
    most = ACROSS * DOWN
    order = "the surest mistakes" if row != column else "the least sure ones"
    rest = f", {most} of {len(inside)}" if len(inside) > most else ""
    then = f", then of {true}" if row != column else ""
    mean = shown.probabilities[inside, column].mean()
    return (
        f"{head}Below each image, {order} first{rest}: the probability of {taken}{then}. "
        f"Mean of {taken}: {mean:.2f}."
    )

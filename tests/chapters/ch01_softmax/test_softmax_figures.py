"""The figures of chapters 0 and 1: legible words that do not overlap, the right numbers, and alt text."""

import itertools
import re
from collections.abc import Callable, Iterator

import pytest
import torch
from helpers.drawn_text import Draw, drawing, undrawn
from matplotlib.figure import Figure
from matplotlib.text import Text

from course_lib import viz
from course_lib.chapters.ch00_why_attention import recurrence_figures
from course_lib.chapters.ch01_softmax import softmax_figures

KEYS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
SCORES = torch.tensor([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0], [0.0, 0.0, 3.0]])
WALKS = torch.tensor([[1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 1.0, 0.0], [-1.0, 0.0, 1.0, 2.0]])
BY_WIDTH = {4: torch.tensor([0.2, 0.4, 0.6]), 16: torch.tensor([0.02, 0.03, 0.04])}


def temperature() -> None:
    temperatures = torch.logspace(-1, 1, 9)
    weights = (SCORES[0] / temperatures[:, None]).softmax(-1)
    softmax_figures.plot_temperature(temperatures, weights, torch.special.entr(weights).sum(-1))


def both_axes() -> None:
    softmax_figures.plot_both_axes(SCORES.softmax(-1), SCORES.softmax(0), ["the", "cat", "sat"])


def seeds() -> None:
    runs = {"GRU": [[0.2, 0.4], [0.9, 1.0]], "attention": [[0.7, 0.8], [1.0, 1.0]]}
    viz.plot_seeds((4, 16), runs, chance=0.25, xlabel="width", ylabel="accuracy", alt="Both rise.")


FIGURES: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "softmax": (softmax_figures.diagram_softmax, "weights 1/8, 2/8, 5/8, whose sum is 1"),
    "temperature": (temperature, "all 3 weights approach 1/3"),
    "both axes": (both_axes, "the rows sum to 0.9, 1.1, 1.0"),
    "walks": (lambda: softmax_figures.plot_random_walks(WALKS), "3 dot products .* About 7 in 10"),
    "widths": (
        lambda: softmax_figures.plot_widths(BY_WIDTH, BY_WIDTH, "gradient"),
        "0.4 at d = 4 to 0.03 at",
    ),
    "log widths": (
        lambda: softmax_figures.plot_widths(BY_WIDTH, BY_WIDTH, "gradient", log=True),
        "of the gradient over the width d",
    ),
    "recurrence": (recurrence_figures.diagram_recurrence, "from the first input to the last state"),
    "paths": (recurrence_figures.diagram_paths, "one direct line"),
    "reach": (lambda: recurrence_figures.plot_reach({"GRU": 0.5 ** torch.arange(9)}), "steps back"),
    "query path": (
        lambda: recurrence_figures.plot_query_path(KEYS, KEYS[:2], ("red", "green", "blue")),
        "green at the top",
    ),
    "seeds": (seeds, "Accuracy over the width, one dot per seed. Both rise."),
}


@pytest.fixture
def draw() -> Iterator[Draw]:
    with drawing(FIGURES, recurrence_figures, softmax_figures) as by_name:
        yield by_name


def words(figure: Figure) -> list[Text]:
    drawn = set(figure.findobj(Text)) - set(undrawn(figure))
    return [text for text in drawn if text.get_visible() and text.get_text().strip()]


@pytest.mark.parametrize("name", FIGURES)
def test_words_are_legible_inside_the_figure_and_apart(name: str, draw: Draw) -> None:
    figure, _ = draw(name)
    boxes = {text: text.get_window_extent() for text in words(figure)}
    assert min(text.get_fontsize() for text in boxes) >= 9
    for one, box in boxes.items():
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1, one
    for one, other in itertools.combinations(boxes, 2):
        assert not boxes[one].overlaps(boxes[other]), (one.get_text(), other.get_text())


@pytest.mark.parametrize(("name", "said"), [(name, said) for name, (_, said) in FIGURES.items()])
def test_the_alt_text_has_the_numbers(name: str, said: str, draw: Draw) -> None:
    assert re.search(said, draw(name)[1])


def test_the_bars_of_softmax_are_a_softmax(draw: Draw) -> None:
    figure, _ = draw("softmax")
    scores, exponentials, weights = (
        torch.tensor([float(bar.get_height()) for bar in axes.patches]) for axes in figure.axes
    )
    assert torch.allclose(exponentials, scores.exp())
    assert torch.allclose(weights, scores.softmax(-1))


def test_every_seed_is_a_dot_and_the_line_is_their_mean(draw: Draw) -> None:
    figure, _ = draw("seeds")
    lines = [line.get_ydata() for line in figure.axes[0].lines]
    assert [list(y) for y in lines[:3]] == [pytest.approx(y) for y in ([0.3, 0.95], [0.2, 0.9], [0.4, 1.0])]

"""The figures of chapters 0 and 1: legible words that do not overlap, the right numbers, and alt text."""

from collections.abc import Callable

import pytest
import torch
from helpers.drawn_text import Draw, figure_tests

from course_lib import viz
from course_lib.chapters.ch00_why_attention import figures as first_figures
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
    "reach": (lambda: first_figures.plot_reach({"GRU": 0.5 ** torch.arange(9)}), "steps back"),
    "query path": (
        lambda: first_figures.plot_query_path(KEYS, KEYS[:2], ("red", "green", "blue")),
        "green at the top",
    ),
    "seeds": (seeds, "Accuracy over the width, one dot per seed. Both rise."),
}


draw, test_each_figure = figure_tests(FIGURES, widest=845)


def test_every_seed_is_a_dot_and_the_line_is_their_mean(draw: Draw) -> None:
    figure, _ = draw("seeds")
    lines = [line.get_ydata() for line in figure.axes[0].lines]
    assert [list(y) for y in lines[:3]] == [pytest.approx(y) for y in ([0.3, 0.95], [0.2, 0.9], [0.4, 1.0])]

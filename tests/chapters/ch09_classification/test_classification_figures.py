"""The figures of chapter 9: legible words that do not overlap, the right numbers, and alt text."""

from collections.abc import Callable

import pytest
from helpers.drawn_text import Draw, figure_tests

from course_lib.chapters.ch09_classification import classification_figures as drawn

SEEDS = {"class token": [98.9, 98.1, 98.3], "causal, last token": [99.1, 99.2, 97.0], "frozen": [61.0]}
WEIGHTS = (["[CLS]", "not", "cold", "."], [0.1, 0.4, 0.3, 0.2])
FIGURES: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "validation": (
        lambda: drawn.plot_validation({"mean": [0.6, 0.9], "max": [0.7, 0.8]}, 100, {"bag of words": 0.56}),
        "mean and max, with a line for bag of words",
    ),
    "variants": (
        lambda: drawn.plot_by_variant(SEEDS, {"bag of words": 56.2}),
        "class token; causal, last token; frozen. Lines: bag of words",
    ),
    "attention": (lambda: drawn.plot_class_attention([WEIGHTS, WEIGHTS]), "2 bar charts"),
}


draw, test_each_figure = figure_tests(FIGURES)


def test_every_seed_is_a_dot_and_the_stroke_is_their_mean(draw: Draw) -> None:
    lines = draw("variants")[0].axes[0].lines
    assert [list(line.get_xdata()) for line in lines[:2]] == [
        [pytest.approx(98.433, abs=0.01)],
        SEEDS["class token"],
    ]


def test_the_curves_begin_after_the_first_steps(draw: Draw) -> None:
    assert list(draw("validation")[0].axes[0].lines[0].get_xdata()) == [100, 200]

"""The figures of positions: legible words that do not overlap, and the numbers that they are given."""

import pytest
import torch
from helpers.drawn_text import Draw, figure_tests

from course_lib.chapters.ch04_positions import position_figures as figures

FIGURES = {
    "dot products": (lambda: figures.plot_dot_products([(64, 10000), (8, 10)], alt="Two curves."), "Two"),
    "by position": (
        lambda: figures.plot_by_position({"a": torch.ones(40), "b": torch.zeros(9)}, 3, 6, 1 / 8, alt="Two."),
        "Two",
    ),
    "by distance": (
        lambda: figures.plot_by_distance(torch.tensor([0.1, 0.7, 0.2] * 8), 2, [1], alt="Bars."),
        "Bars",
    ),
}
draw, test_each_figure = figure_tests(FIGURES)


def test_dot_products_are_one_at_distance_0(draw: Draw) -> None:
    for line in draw("dot products")[0].axes[0].lines:
        at = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
        assert at[0] == pytest.approx(1) and at[7] == pytest.approx(at[-7], abs=1e-5) and at[0] > at[3]


def test_curves_begin_at_their_first_position(draw: Draw) -> None:
    axes = draw("by position")[0].axes[0]
    assert list(axes.lines[1].get_xdata()) == list(range(3, 12)) and axes.lines[2].get_xdata()[0] == 5.5
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]


def test_bars_have_the_heights_of_the_weights(draw: Draw) -> None:
    heights = [bar.get_height() for bar in draw("by distance")[0].axes[0].containers[0]]
    assert heights == pytest.approx([0.1, 0.7, 0.2] * 8)

"""The figures of positions show the numbers that they are given."""

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.chapters.ch04_positions import position_figures as figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Figure, str]]:
    """The figures that were shown, with their words."""
    collected: list[tuple[Figure, str]] = []
    monkeypatch.setattr(figures, "show", lambda figure, alt: collected.append((figure, alt)))
    return collected


def axes_of(figure: Figure) -> Axes:
    (axes,) = figure.axes
    return axes


def test_dot_products_are_one_at_distance_0(shown: list[tuple[Figure, str]]) -> None:
    figures.plot_dot_products([(64, 10000), (8, 10)], alt="two curves")
    for line in axes_of(shown[0][0]).lines:
        by_distance = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
        assert by_distance[0] == pytest.approx(1) and by_distance[7] == pytest.approx(
            by_distance[-7], abs=1e-5
        )
    assert by_distance[0] > by_distance[3]


def test_curves_begin_at_their_first_position(shown: list[tuple[Figure, str]]) -> None:
    figures.plot_by_position({"a": torch.ones(5), "b": torch.zeros(5)}, 3, 6, 1 / 8, alt="two curves")
    axes = axes_of(shown[0][0])
    assert list(axes.lines[0].get_xdata()) == [3, 4, 5, 6, 7] and axes.lines[2].get_xdata()[0] == 5.5
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]


def test_bars_have_the_heights_of_the_weights(shown: list[tuple[Figure, str]]) -> None:
    figures.plot_by_distance(torch.tensor([0.1, 0.7, 0.2]), 2, [1], alt="three bars")
    heights = [bar.get_height() for bar in axes_of(shown[0][0]).containers[0]]
    assert heights == pytest.approx([0.1, 0.7, 0.2])

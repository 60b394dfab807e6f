"""The figures of positions: legible at the width of a page, nothing cut off, numbers that the code gives."""

import math
from collections.abc import Callable

import matplotlib.pyplot as plt
import pytest
import torch
from helpers.drawn_text import assert_legible
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

from course_lib.chapters.ch04_positions import position_figures as figures
from course_lib.layers import rotate, sinusoidal

DRAWN = (figures.clock_hands_figure, figures.rotary_figure, figures.pairings_figure)


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


def arrows(figure: Figure) -> list[torch.Tensor]:
    """From the tail to the tip of each arrow, in the order of drawing."""
    found = [text for text in figure.findobj(Annotation) if text.arrow_patch is not None]
    return [torch.tensor(arrow.xy) - torch.tensor(arrow.get_position()) for arrow in found]


@pytest.mark.parametrize("draw", DRAWN)
def test_words_are_legible_on_a_page_and_do_not_overlap(draw: Callable[[], Figure]) -> None:
    assert_legible(draw())


@pytest.mark.parametrize("name", ["diagram_clock_hands", "diagram_rotary", "diagram_pairings"])
def test_a_diagram_is_shown_with_its_words(name: str, shown: list[tuple[Figure, str]]) -> None:
    getattr(figures, name)()
    ((figure, alt),) = shown
    assert isinstance(figure, Figure) and len(alt.split()) > 20


def test_the_hands_are_the_rows_of_the_table() -> None:
    tips = torch.stack(arrows(figures.clock_hands_figure())).view(2, figures.CLOCKS, 2)
    table = sinusoidal(figures.CLOCKS, 4, base=100.0).unflatten(1, (2, 2)).transpose(0, 1)
    assert torch.allclose(tips.float(), table, atol=1e-5)


def test_the_angle_of_query_and_key_is_the_same_at_both_places() -> None:
    figure = figures.rotary_figure()
    key, query, later_key, later_query = arrows(figure)
    assert key @ query == pytest.approx((later_key @ later_query).item())
    assert not torch.allclose(key, later_key, atol=0.5)
    said = {text.get_text() for text in figure.findobj(Text)}
    assert f"{math.degrees(torch.acos(key @ query).item()):.0f}°" in said


def test_features_of_one_color_are_rotated_together() -> None:
    colors = [to_hex(square.get_facecolor()) for square in axes_of(figures.pairings_figure()).patches]
    one_hot, table = torch.eye(8)[:, None], sinusoidal(4, 8)[3:]
    together = rotate(one_hot, table)[:, 0] != 0
    neighbors = torch.tensor([[a == b for b in colors[:8]] for a in colors[:8]])
    assert torch.equal(neighbors, together)
    order = torch.cat([torch.arange(0, 8, 2), torch.arange(1, 8, 2)])
    halves = torch.tensor([[a == b for b in colors[8:]] for a in colors[8:]])
    assert torch.equal(halves, together[order][:, order])


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

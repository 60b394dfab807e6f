"""The positions explorer: what it shows is the table of the library, and its text says what is seen."""

import math
from statistics import fmean

import pytest
import torch

from course_lib.chapters.ch04_positions import positions_explorer
from course_lib.chapters.ch04_positions import positions_widget as positions
from course_lib.layers.positions import sinusoidal


@pytest.fixture
def explorer():
    return positions_explorer()


def test_the_picture_holds_the_table_and_its_dot_products(explorer) -> None:
    for base, d_model, position in ((10_000, 64, 20), (100, 4, 63), (10, 16, 0)):
        explorer.update(base=base, d_model=d_model, position=position)
        table = sinusoidal(positions.TOKENS, d_model, float(base))
        left, middle, right = explorer.figure.axes
        assert torch.equal(torch.tensor(left.images[0].get_array()), table)
        curve = next(line for line in middle.lines if len(line.get_xdata()) == positions.TOKENS)
        products = torch.tensor(curve.get_xdata()) * d_model / 2
        assert torch.allclose(products, table @ table[position], atol=1e-4)
        assert curve.get_xdata().argmax() == position
        assert all(list(axes.lines[-1].get_ydata()) == [position] * 2 for axes in (left, middle, right))


def test_both_curves_are_sums_of_cosines_of_the_distance_and_the_rotary_one_looks_three_back() -> None:
    for d_model, base, position in ((16, 100.0, 30), (64, 10_000.0, 5)):
        rotary = positions.rotary_scores(d_model, base, position)
        sums = positions.alike(sinusoidal(positions.TOKENS, d_model, base), position)
        frequencies = [base ** (-2 * i / d_model) for i in range(d_model // 2)]
        for curve, peak in ((rotary, position - positions.BACK), (sums, position)):
            for other in (0, 7, peak, 63):
                by_hand = fmean(math.cos((peak - other) * frequency) for frequency in frequencies)
                assert curve[other].item() == pytest.approx(by_hand, abs=1e-5)
            assert curve.argmax() == peak


def test_the_text_names_wavelengths_and_dot_products(explorer) -> None:
    explorer.controls["base"].value, explorer.controls["d_model"].value = 100, 4
    explorer.controls["position"].value = 5
    table = sinusoidal(20, 4, 100.0)
    longest = 2 * math.pi * 100**0.5
    assert f"Base 100, d_model = 4: wavelengths from 6.3 to {longest:.1f} positions." in explorer.line
    near, far = table[5] @ table[6], table[5] @ table[15]
    said = f"itself: 2; with position 6: {near:.1f}; with position 15: {far:.1f}."
    assert said in explorer.line


def test_the_text_counts_the_features_that_stand_still(explorer) -> None:
    explorer.controls["d_model"].value, explorer.controls["base"].value = 4, 100_000
    assert " 1 of 4 features barely change over 64 positions." in explorer.line  # cos(63/316) = 0.98
    explorer.controls["base"].value = 10
    assert " 0 of 4 features barely change over 64 positions." in explorer.line


def test_the_text_compares_with_positions_that_are_there() -> None:
    for position in range(positions.TOKENS):
        said = positions.describe(100, 8, position, positions.alike(sinusoidal(64, 8, 100.0), position))
        neighbour, other = (int(words.split(":")[0]) for words in said.split("with position ")[1:])
        assert abs(neighbour - position) == 1 and abs(other - position) == 10
        assert 0 <= other < positions.TOKENS


@pytest.mark.parametrize(
    ("curve", "said"),
    [
        ([1.0, 0.2, -0.4, 0.3, 0.9, 0.1], "at distance 4 the similarity is 0.90"),
        ([1.0, 0.9, 0.8, 0.75], "more similar than distant ones"),
        ([1.0, 0.5, 0.1, 0.2, 0.0], "more similar than distant ones"),
    ],
)
def test_the_verdict_says_what_the_curve_does(curve: list[float], said: str) -> None:
    assert said in positions.verdict(torch.tensor(curve))


def test_every_verdict_can_be_reached_by_the_sliders() -> None:
    bases, widths = positions.BASES, positions.WIDTHS
    tables = [sinusoidal(positions.TOKENS, d, float(base)) for base in bases for d in widths]
    said = {positions.verdict(positions.alike(table, 0)).split()[0] for table in tables}
    assert said == {"The", "Nearby"}

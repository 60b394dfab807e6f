"""The figures of chapter 7c: legible words that do not overlap, the right numbers, and alt text."""

from collections.abc import Callable

import pytest
from helpers.drawn_text import Draw, figure_tests

from course_lib.chapters.ch07_language_models import scaling_figures as figures

STEPS = range(100, 701, 100)
GAPS = {
    "pairs only": ([[3.0, 1.0, 0.25]] * 2, [[4.0, 4.0, 5.0], [4.0, 4.0, 5.5]]),
    "after denoising": ([[2.0, 0.5, 0.1]], [[3.0, 3.1, 3.2]]),
}
SCORES = {"denoising": {250: [8.0, 10.0], 1000: [34.0]}, "pairs only": {250: [3.0, 4.0], 1000: [17.0]}}


def law(parameters: float | int, tokens: float | int) -> float:
    return 1 + 20 * parameters**-0.4 + 60 * tokens**-0.4


def larger_is_best(parameters: float | int, tokens: float | int) -> float:
    return 1 + 20 * parameters**-0.4 + 15 * tokens**-0.4


MEASURED = [(n, d, law(n, d)) for n in (6000, 25_000, 100_000, 400_000) for d in (131_072, 524_288)]
LARGER = (983_040, 1.48, 1.4, 1.55)

DRAWN: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "gap": (lambda: figures.plot_gap(STEPS, GAPS), "pairs only: from 0.2 .* to 5.2 .* denoising: from 0.1"),
    "gain": (lambda: figures.plot_pretraining_gain(SCORES), "denoising: 9.0 with 250, 34.0 with 1,000"),
    "power law": (
        lambda: figures.plot_power_law([1000, 10_000, 100_000], [2.8, 2.3, 1.9], 5.0, 0.08),
        "3 points fall from 2.8 to 1.9",
    ),
    "sweep": (lambda: figures.plot_sweep(MEASURED, law), "4 sizes.* near the points.$"),
    "test": (
        lambda: figures.plot_sweep(MEASURED, law, LARGER, (1_600_000, 983_040, 1.5)),
        "larger run is 1.48, between 1.40 and 1.55. It was measured at 1.50",
    ),
    "accuracy": (lambda: figures.plot_pretraining_gain(SCORES, "accuracy (%)"), r"^accuracy \(%\) over"),
    "seeds": (
        lambda: figures.plot_budgets(
            law, [1e11], [10 ** (3 + i / 4) for i in range(16)], [law, larger_is_best]
        ),
        r"3e\+04 for 1e\+11 FLOPs, between 3e\+04 and 2e\+05 by single seeds",
    ),
    "budgets": (
        lambda: figures.plot_budgets(law, [1e11, 1e13], [10 ** (3 + i / 4) for i in range(16)]),
        r"3e\+04 for 1e\+11 FLOPs; 3e\+05 for 1e\+13 FLOPs",
    ),
}


draw, test_each_figure = figure_tests(DRAWN)


def test_the_interval_and_the_larger_run_are_where_they_belong(draw: Draw) -> None:
    (axes,) = draw("test")[0].axes
    (bar,) = (collection.get_segments()[0] for collection in axes.collections)
    assert bar.tolist() == [[983_040, 1.4], [983_040, 1.55]]
    (star,) = (line for line in axes.lines if line.get_marker() == "*")
    assert list(star.get_ydata()) == [1.5]
    (own,) = (line for line in axes.lines if line.get_linestyle() == ":")  # the law for the size of the star
    assert own.get_color() == star.get_color()
    assert own.get_ydata()[0] == pytest.approx(law(1_600_000, own.get_xdata()[0]))


def test_the_best_size_of_each_seed_is_marked(draw: Draw) -> None:
    (axes,) = draw("seeds")[0].axes
    places = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
    assert len(places) == 3 and places[0] == places[1] < places[2]

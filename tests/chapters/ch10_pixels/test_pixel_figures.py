"""The figures of chapter 10: legible words that do not overlap, the right numbers, and alt text."""

from collections.abc import Callable

import torch
from helpers.drawn_text import Draw, figure_tests

from course_lib.chapters.ch10_pixels import pixel_figures as drawn

COST = {
    name: {side: (2.0**20 * side**power, side**4 / 1e6) for side in (8, 16, 32, 64)}
    for name, power in (("explicit", 4), ("SDPA", 2))
}
RUNS = {name: [((150, 300), (0.15, 0.11 + seed / 100)) for seed in range(3)] for name in ("with", "without")}
ERRORS = {
    "attention to all pixels": [torch.full((12,), 0.34)] * 3,
    "own pixel only": [torch.full((12,), 0.5)] * 3,
    "11 convolutions": [torch.tensor([0.5] * 3 + [0.34] * 6 + [0.5] * 3)],
}
DIGITS = torch.zeros(6, 1, 8, 8)
STRIPES = torch.zeros(2, 1, 4, 12)
FIGURES: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "digits": (
        lambda: drawn.plot_pictures(
            {"with": DIGITS, "without": DIGITS}, [f"t = {t}" for t in range(6)], alt="Six digits."
        ),
        "Six digits",
    ),
    "stripes": (lambda: drawn.plot_pictures({"clean": STRIPES, "noisy": STRIPES}, alt="Stripes."), "Stripes"),
    "cost": (lambda: drawn.plot_pixel_cost(COST), "8 to 64, .* for explicit and SDPA"),
    "runs": (lambda: drawn.plot_digit_runs(RUNS), "3 seeds each with and without"),
    "errors": (lambda: drawn.plot_column_errors(ERRORS), "lines at 1/2 and 1/3"),
    "reach": (
        lambda: drawn.plot_reach(
            {"near": torch.arange(48).view(4, 12) < 4, "all": torch.ones(4, 12) > 0}, 1, 2
        ),
        "row 2, column 3 .* near: 4 of 48, without the mirror pixel; all: 48 of 48, with the mirror pixel",
    ),
    "weights": (
        lambda: drawn.plot_pixel_weights(torch.eye(48), (13, 41), 12),
        "row 2 column 2, row 4 column 6.* 4 by 12 pixels",
    ),
}


draw, test_each_figure = figure_tests(FIGURES)


def test_each_seed_is_a_line_of_its_own(draw: Draw) -> None:
    axes = draw("runs")[0].axes[0]
    assert len(axes.lines) == 6 and len(axes.get_legend().get_texts()) == 2


def test_the_cross_marks_the_query(draw: Draw) -> None:
    panels = draw("weights")[0].axes[:2]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for axes in panels for line in axes.lines] == [
        (1, 1),
        (5, 3),
    ]

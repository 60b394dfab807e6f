"""The figures of chapter 7b: legible words that do not overlap, the right numbers, and alt text."""

from collections.abc import Callable

import torch
from helpers.drawn_text import Draw, figure_tests, texts

from course_lib.chapters.ch07_language_models import inside_figures as drawn

LOSSES = {(1, 1): 2.3, (1, 2): 0.2, (2, 1): 0.3, (2, 2): 0.9}
CURVES = {"one block": [3.0] * 40, "two blocks": [3.0] * 20 + [0.1] * 20}
GRID = torch.tensor([[0.0, 0.9, 0.04], [0.0, 0.95, 0.3], [0.0, 0.0, 1.0]])
BACK = torch.eye(8).roll(-3, dims=1)  # each query attends three positions back
FIGURES: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "repeats": (
        lambda: drawn.plot_repeats(CURVES, {"guessing": 3.3, "the row's letters": 2.3}),
        "one block ends not below the lowest; two blocks ends below",
    ),
    "maps": (lambda: drawn.plot_head_maps({"2.1": BACK, "1.1": torch.eye(8)}), "3 positions .*: mostly 0"),
    "ablations": (lambda: drawn.plot_ablations(LOSSES, 0.2), "without a head of block 1"),
    "patched": (
        lambda: drawn.plot_patching({"answer": GRID, "nothing": 0 * GRID}, ["D", "K", "B"]),
        "answer: most at depth 0 token 2, at depth 1 token 2, at depth 2 token 3; nothing: most .* 0 none",
    ),
}  # fmt: skip


draw, test_each_figure = figure_tests(FIGURES)


def test_the_curve_averages_groups_of_steps(draw: Draw) -> None:
    lines = draw("repeats")[0].axes[0].lines
    assert [list(line.get_xdata()) for line in lines[:2]] == [[20, 40]] * 2
    assert [round(float(y), 6) for y in lines[1].get_ydata()] == [3.0, 0.1]


def test_only_fractions_of_a_tenth_and_more_are_written(draw: Draw) -> None:
    words = {text.get_text() for text in texts(draw("patched")[0])}
    assert {"0.9", "0.3", "1.0"} <= words and "0.0" not in words

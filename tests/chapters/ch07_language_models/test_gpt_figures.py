"""The figures of chapters 7 and 7d: legible words that do not overlap, the right numbers, and alt text."""

from collections.abc import Callable

import pytest
from helpers.drawn_text import Draw, figure_tests

from course_lib.chapters.ch07_language_models import gpt_figures as drawn

STEPS, LOSSES, LEVELS = (0, 50, 100), (6.2, 3.4, 2.6), {"bigram": 3.9, "table": 2.7}
RUNS = {
    "fine-tuned": [{"copy": 1.0, "sort": 0.8}, {"copy": 0.9, "sort": 0.6}],
    "LoRA": [{"copy": 0.5, "sort": 0.4}],
}
FIGURES: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "training": (
        lambda: drawn.plot_against_baseline(STEPS, LOSSES, LEVELS),
        "100 steps.* starts above “bigram” and “table”, and ends below “bigram” and “table”",
    ),
    "context": (
        lambda: drawn.plot_by_context({"GPT": LOSSES, "other": [3.8, 4.0, 3.0]}, LEVELS),
        "GPT peaks above .* ends below “bigram” and “table”; .* ends above “table” and below “bigram”",
    ),
    "accuracies": (lambda: drawn.plot_accuracies(RUNS, alt="Fine-tuning is ahead."), "is ahead"),
}


draw, test_each_figure = figure_tests(FIGURES)


@pytest.mark.parametrize(("name", "x", "curves"), [("training", [0, 50, 100], 1), ("context", [1, 2, 3], 2)])
def test_losses_and_baselines_are_drawn_where_they_are(
    name: str, x: list[int], curves: int, draw: Draw
) -> None:
    lines = draw(name)[0].axes[0].lines
    assert list(lines[0].get_xdata()) == x and list(lines[0].get_ydata()) == pytest.approx(LOSSES)
    assert [line.get_ydata()[0] for line in lines[curves:]] == pytest.approx(list(LEVELS.values()))


def test_bars_are_means_and_dots_single_runs(draw: Draw) -> None:
    (axes,) = draw("accuracies")[0].axes
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == pytest.approx([0.95, 0.7, 0.5, 0.4])
    assert [list(line.get_ydata()) for line in axes.lines] == [[1.0, 0.8], [0.9, 0.6]]

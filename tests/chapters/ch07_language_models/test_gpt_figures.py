"""The figures of chapter 7: legible words that do not overlap, the right numbers, and alt text."""

from collections.abc import Callable

import pytest
from helpers.drawn_text import Draw, figure_tests

from course_lib.chapters.ch07_language_models import gpt_figures as drawn

STEPS, LOSSES, LEVELS = (0, 50, 100), (6.2, 3.4, 2.6), {"bigram": 3.9, "table": 2.7}
FIGURES: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "next token": (drawn.diagram_next_token, "5 tokens is 4 questions.*The cat → sleeps.*sleeps [.] → She"),
    "training": (
        lambda: drawn.plot_against_baseline(STEPS, LOSSES, LEVELS),
        "100 steps.* starts above “bigram” and “table”, and ends below “bigram” and “table”",
    ),
    "context": (
        lambda: drawn.plot_by_context({"GPT": LOSSES, "other": [3.8, 4.0]}, {"bigram": 3.9}),
        "GPT peaks above “bigram” and ends below “bigram”; other peaks above “bigram” and",
    ),
}


draw, test_each_figure = figure_tests(FIGURES, drawn)


def test_each_question_reads_a_prefix_and_predicts_the_token_after_it(draw: Draw) -> None:
    axes = draw("next token")[0].axes[0]
    rows: dict[float, list[tuple[float, str]]] = {}
    for text in axes.texts:
        if not text.get_text().startswith("position") and text.get_text():
            rows.setdefault(text.get_position()[1], []).append((text.get_position()[0], text.get_text()))
    words = [[word for _, word in sorted(rows[y])] for y in sorted(rows, reverse=True)][1:]
    assert words == [["The", "cat", "sleeps", ".", "She"][: n + 2] for n in range(4)]


@pytest.mark.parametrize(("name", "x"), [("training", [0, 50, 100]), ("context", [1, 2, 3])])
def test_losses_and_baselines_are_drawn_where_they_are(name: str, x: list[int], draw: Draw) -> None:
    curve, *others = draw(name)[0].axes[0].lines
    assert list(curve.get_xdata()) == x and list(curve.get_ydata()) == pytest.approx(LOSSES)
    levels = [line.get_ydata()[0] for line in others[x[0] :]]  # "context" has a second curve
    assert levels == pytest.approx(list(LEVELS.values())[: 2 - x[0]])


@pytest.mark.parametrize("loss", [4.0, 3.0, 2.6])
def test_a_loss_between_two_baselines_is_said_to_be_there(loss: float) -> None:
    said = {4.0: "above “bigram” and “table”", 2.6: "below “bigram” and “table”"}
    assert drawn._beside(loss, LEVELS) == said.get(loss, "above “table” and below “bigram”")

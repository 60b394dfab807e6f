"""The figures of chapter 7d: legible words that do not overlap, the right numbers, and alt text."""

from collections.abc import Callable

import pytest
from helpers.drawn_text import Draw, figure_tests, texts

from course_lib.chapters.ch07_language_models import adapting_figures as figures

RUNS = {
    "fine-tuned": [{"copy": 1.0, "sort": 0.8}, {"copy": 0.9, "sort": 0.6}],
    "LoRA": [{"copy": 0.5, "sort": 0.4}],
}

DRAWN: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "labels": (figures.diagram_answer_labels, "BOS please sort : d b EOS b d EOS.* counts, b,"),
    "accuracies": (lambda: figures.plot_accuracies(RUNS, alt="Fine-tuning is ahead."), "is ahead"),
}


draw, test_each_figure = figure_tests(DRAWN, figures)


def test_the_answer_alone_has_labels(draw: Draw) -> None:
    figure, _ = draw("labels")
    rows = {y: [] for y in (0, 1.5)}
    for text in sorted(texts(figure), key=lambda text: text.get_position()):
        x, y = text.get_position()
        if x >= 0:
            rows[y].append(text.get_text())
    tokens, labels = rows[0], rows[1.5]
    assert labels == ["−100"] * 6 + ["b", "d", "EOS", "−100"]
    assert all(label in ("−100", after) for label, after in zip(labels, tokens[1:], strict=False))


def test_bars_are_means_and_dots_single_runs(draw: Draw) -> None:
    (axes,) = draw("accuracies")[0].axes
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == pytest.approx([0.95, 0.7, 0.5, 0.4])
    assert [list(line.get_ydata()) for line in axes.lines] == [[1.0, 0.8], [0.9, 0.6]]

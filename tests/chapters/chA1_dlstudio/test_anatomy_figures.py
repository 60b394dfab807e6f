"""The table and the figure of the DLStudio appendix: one row for each system, with its own numbers."""

import matplotlib.pyplot as plt
import pytest

from course_lib.chapters.chA1_dlstudio import anatomy_figures
from course_lib.chapters.chA1_dlstudio.anatomy import Run, Score


def run(number: int) -> Run:
    score = Score(10.0 * number, 0.5, float(number), 0.1)
    return Run(frozenset(), 1000 * number, number, 450 / 1234, 1.0, {"feedback": score})


def test_a_row_has_the_numbers_of_its_two_runs(capsys: pytest.CaptureFixture[str]) -> None:
    anatomy_figures.print_runs(["a", "b"], [run(1), run(2)], [run(3), run(4)])
    rows = capsys.readouterr().out.splitlines()[2:]
    assert rows[0].split() == ["a", "1,000", "1,200", "1", "10.0", "/", "1.0", "30.0", "/", "3.0"]
    assert rows[1].split()[0] == "b" and rows[1].split()[-3:] == ["40.0", "/", "4.0"]
    with pytest.raises(ValueError, match="zip"):  # a system without a run
        anatomy_figures.print_runs(["a", "b"], [run(1)], [run(3), run(4)])


def test_the_figure_shows_both_scores_from_top_to_bottom() -> None:
    figure = anatomy_figures.draw_runs(["a", "b"], [run(1), run(2)])
    (axes,) = figure.axes
    training, held_out = (line.get_xdata() for line in axes.lines)
    assert list(training) == [10.0, 20.0] and list(held_out) == [1.0, 2.0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"] and axes.yaxis_inverted()
    plt.close(figure)

"""The figure of the d2l appendix: bars as wide as the batches, and both means."""

from collections.abc import Iterator
from statistics import fmean

import matplotlib.pyplot as plt
import pytest

from course_lib.chapters.chA3_d2l import d2l_system
from course_lib.chapters.chA3_d2l.d2l_figures import batch_means, plot_batch_means


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def test_the_means_of_the_batches_by_hand() -> None:
    assert batch_means([1.0, 2.0, 6.0], 2) == [(2, 1.5), (1, 6.0)]
    assert batch_means([1.0, 2.0, 6.0], 3) == [(3, 3.0)]


def test_the_mean_over_batches_is_what_d2l_plotted() -> None:
    for run in d2l_system.runs_of("lecture"):
        means = batch_means(run.losses["future"], 128)
        assert [size for size, _ in means] == [128, 1]
        assert fmean(loss for _, loss in means) == pytest.approx(run.plotted[-1], abs=2e-3)


def test_bars_are_as_wide_as_their_batches_and_lines_lie_at_the_means() -> None:
    uneven, even = plot_batch_means([1.0, 2.0, 6.0], (2, 3)).axes
    assert [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in uneven.patches] == [
        (0, 2, 1.5), (2, 1, 6.0)
    ]  # fmt: skip
    assert [line.get_ydata()[0] for line in uneven.lines] == [3.75, 3.0]
    assert [line.get_ydata()[0] for line in even.lines] == [3.0, 3.0]

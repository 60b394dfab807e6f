"""The stored runs of the d2l system, and the figure of their means: over batches, and over sentences."""

from statistics import fmean

import matplotlib.pyplot as plt
import pytest

from course_lib.chapters.chA3_d2l import d2l_system as d2l_runs
from course_lib.chapters.chA3_d2l.d2l_figures import batch_means, plot_batch_means


def test_all_runs_are_there_and_whole():
    assert [(run.system, run.seed) for run in d2l_runs.stored()] == [
        (system, seed) for system in d2l_runs.SYSTEMS for seed in d2l_runs.SEEDS
    ]
    for run in d2l_runs.stored():
        assert len(run.train) == len(run.plotted) == len(run.masked) == 30
        assert {len(losses) for losses in run.losses.values()} == {d2l_runs.facts().held_out_pairs}
        seen = set() if run.system == "ours" else {"future"}
        assert set(run.losses) == set(run.word_loss) == {"masked"} | seen
        assert run.masked[-1] == pytest.approx(fmean(run.losses["masked"]), abs=2e-3)
    with pytest.raises(ValueError, match="system='d2l' is not one of"):
        d2l_runs.runs_of("d2l")


def test_the_maps_are_weights():
    maps = d2l_runs.maps()
    shapes = {"encoder": (maps.source, maps.source), "decoder": (maps.target,) * 2}
    for name, (queries, keys) in {**shapes, "cross": (maps.target, maps.source)}.items():
        rows = [row for block in getattr(maps, name) for head in block for row in head]
        assert len(rows) == 2 * 4 * len(queries)
        assert all(len(row) == len(keys) and sum(row) == pytest.approx(1, abs=0.01) for row in rows)


def test_the_mean_over_batches_is_what_d2l_plotted():
    for run in d2l_runs.runs_of("lecture"):
        means = batch_means(run.losses["future"], 128)
        assert [size for size, _ in means] == [128, 1]
        assert fmean(loss for _, loss in means) == pytest.approx(run.plotted[-1], abs=2e-3)


def test_bars_are_as_wide_as_their_batches_and_lines_lie_at_the_means():
    figure = plot_batch_means([1.0, 2.0, 6.0], (2, 3))
    uneven, even = figure.axes
    bars = [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in uneven.patches]
    assert bars == [(0, 2, 1.5), (2, 1, 6.0)]
    assert [line.get_ydata()[0] for line in uneven.lines] == [3.75, 3.0]
    assert [line.get_ydata()[0] for line in even.lines] == [3.0, 3.0]
    plt.close(figure)

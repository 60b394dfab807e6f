"""The stored runs of the d2l system."""

from statistics import fmean

import pytest

from course_lib.chapters.chA3_d2l import d2l_system as d2l_runs


def mean(numbers):
    return fmean(numbers)


def test_all_runs_are_there_and_whole():
    assert [(run.system, run.seed) for run in d2l_runs.stored()] == [
        (system, seed) for system in d2l_runs.SYSTEMS for seed in d2l_runs.SEEDS
    ]
    for run in d2l_runs.stored():
        assert len(run.train) == len(run.plotted) == len(run.masked) == 30
        assert {len(losses) for losses in run.losses.values()} == {d2l_runs.facts().held_out_pairs}
        seen = set() if run.system == "ours" else {"future"}
        assert set(run.losses) == set(run.word_loss) == {"masked"} | seen
        assert run.masked[-1] == pytest.approx(mean(run.losses["masked"]), abs=2e-3)
    with pytest.raises(ValueError, match="system='d2l' is not one of"):
        d2l_runs.runs_of("d2l")


def test_the_maps_are_weights():
    maps = d2l_runs.maps()
    shapes = {"encoder": (maps.source, maps.source), "decoder": (maps.target,) * 2}
    for name, (queries, keys) in {**shapes, "cross": (maps.target, maps.source)}.items():
        rows = [row for block in getattr(maps, name) for head in block for row in head]
        assert len(rows) == 2 * 4 * len(queries)
        assert all(len(row) == len(keys) and sum(row) == pytest.approx(1, abs=0.01) for row in rows)

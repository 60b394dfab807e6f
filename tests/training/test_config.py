"""Learning rates against the formulas, and settings that contradict each other."""

import math

import pytest

from course_lib.training.config import TrainConfig, learning_rate


def rates(total=100, **settings):
    config = TrainConfig(steps=total, warmup=20, **settings)
    return [learning_rate(step, total, config, d_model=64) for step in range(total)]


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant"])
def test_the_warmup_rises_linearly_to_the_peak(schedule):
    found = rates(schedule=schedule, lr=0.5)
    assert found[:20] == pytest.approx([0.5 * n / 20 for n in range(1, 21)])
    assert max(found) == pytest.approx(0.5)


def test_what_follows_the_warmup():
    assert rates(schedule="linear", lr=1.0)[60] == pytest.approx(40 / 80)
    assert rates(schedule="cosine", lr=1.0)[60] == pytest.approx(0.5 + 0.5 * math.cos(math.pi / 2))
    assert rates(schedule="cosine", lr=1.0)[40] == pytest.approx(0.5 + 0.5 * math.cos(math.pi / 4))
    assert rates(schedule="constant", lr=1.0)[99] == 1.0
    assert rates(schedule="linear", lr=1.0)[99] == pytest.approx(1 / 80)


def test_noam_peaks_at_the_end_of_the_warmup():
    found = rates(schedule="noam", lr=1.0)
    assert found == pytest.approx([64**-0.5 * min(n**-0.5, n * 20**-1.5) for n in range(1, 101)])
    assert found.index(max(found)) == 19


def test_without_a_width_it_is_that_of_the_paper_s_base_model():
    config = TrainConfig(steps=1, schedule="noam", lr=1.0, warmup=4000)
    assert learning_rate(3999, None, config) == pytest.approx(512**-0.5 * 4000**-0.5)


def test_the_peak_of_the_lecture():
    """Kak: twice the paper's rate, 4000 steps of warm-up, width 256."""
    config = TrainConfig(steps=1, schedule="noam", lr=2.0, warmup=4000)
    assert learning_rate(3999, None, config, d_model=256) == pytest.approx(1.98e-3, rel=2e-3)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_at_the_end_and_past_it_the_rate_is_0(schedule):
    config = TrainConfig(steps=100, warmup=20, schedule=schedule)
    assert [learning_rate(step, 100, config) for step in (100, 130)] == [0.0, 0.0]
    short = TrainConfig(steps=5, warmup=20, schedule=schedule)  # the warm-up is longer than the run
    assert [learning_rate(20, total, short) for total in (5, 20)] == [0.0, 0.0]


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant", "noam"])
def test_without_a_warmup_the_first_step_has_the_peak(schedule):
    config = TrainConfig(steps=10, warmup=0, lr=0.5, schedule=schedule)
    peak = 0.5 / 16 if schedule == "noam" else 0.5
    assert learning_rate(0, 10, config, d_model=256) == pytest.approx(peak)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_the_rate_falls_only_once_the_end_is_known(schedule):
    config = TrainConfig(minutes=1.0, warmup=5, schedule=schedule, lr=0.5)
    assert [learning_rate(step, None, config) for step in (4, 5, 19)] == [0.5] * 3
    assert learning_rate(20, 100, config) < 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "steps=None, minutes=None"),
        ({"steps": 5, "minutes": 1.0}, "steps=5, minutes=1.0"),
        ({"steps": 5, "schedule": "step"}, "schedule='step'"),
    ],
)
def test_contradictions_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(**settings)

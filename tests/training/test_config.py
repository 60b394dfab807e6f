"""Learning rates against the formulas, and settings that contradict each other."""

import copy
import math
import pickle
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

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


def test_noam_is_the_formula_and_peaks_at_the_end_of_the_warmup():
    found = rates(schedule="noam", lr=1.0)
    assert found == pytest.approx([64**-0.5 * min(n**-0.5, n * 20**-1.5) for n in range(1, 101)])
    assert found.index(max(found)) == 19
    config = TrainConfig(steps=1, schedule="noam", lr=2.0, warmup=4000)
    assert learning_rate(3999, None, config) == pytest.approx(2 * 512**-0.5 * 4000**-0.5)  # the base model's
    assert learning_rate(3999, None, config, d_model=256) == pytest.approx(1.98e-3, rel=2e-3)  # Kak's


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


OUTSIDE = [  # the nearest values outside of each range; other types are in tests/test_config_ranges.py
    *({name: 0} for name in ("steps", "accumulate")),
    *({name: 0.0} for name in ("minutes", "lr", "clip")),
    *({name: math.inf} for name in ("minutes", "lr", "weight_decay")),
    *({name: -1} for name in ("warmup", "evaluate_every", "checkpoint_every", "seed")),
    *({name: -1e-9} for name in ("weight_decay", "average", "min_lr")),
    {"average": 1.0},
    {"min_lr": 0.02},  # lr is 0.01
    {"seed": 2**32},
]


@pytest.mark.parametrize("given", OUTSIDE, ids=str)
def test_values_outside_their_range_are_refused(given):
    [field] = given
    with pytest.raises(ValueError, match=f"^{field}="):
        TrainConfig(**{"steps": None if field == "minutes" else 10, "lr": 0.01, **given})


@given(
    steps=st.integers(min_value=1),
    lr=st.floats(min_value=1e-300, max_value=1e300),
    clip=st.none() | st.floats(min_value=1e-300),
    average=st.floats(0, 1, exclude_max=True),
)
def test_what_is_inside_every_range_is_taken(steps, lr, clip, average):
    config = TrainConfig(steps=steps, lr=lr, min_lr=lr, clip=clip, average=average)
    assert pickle.loads(pickle.dumps(config)) == copy.deepcopy(config) == replace(config) == config


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_the_rate_ends_at_its_minimum(schedule):
    """PyTorch's own schedules, without a warm-up."""
    config = TrainConfig(steps=10, lr=0.5, min_lr=0.1, warmup=0, schedule=schedule)
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    schedules = torch.optim.lr_scheduler
    theirs = {
        "linear": lambda: schedules.LinearLR(optimizer, 1.0, end_factor=0.1 / 0.5, total_iters=10),
        "cosine": lambda: schedules.CosineAnnealingLR(optimizer, T_max=10, eta_min=0.1),
    }[schedule]()
    for step in range(11):
        assert learning_rate(step, 10, config) == pytest.approx(optimizer.param_groups[0]["lr"])
        optimizer.step()
        theirs.step()
    assert learning_rate(99, 10, config) == 0.1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "steps=None, minutes=None"),
        ({"steps": 5, "minutes": 1.0}, "steps=5, minutes=1.0"),
        ({"steps": 5, "lr": 0.5, "min_lr": 0.1, "schedule": "noam"}, "min_lr=0.1 .* schedule='noam'"),
        ({"steps": 5, "lr": 0.5, "min_lr": 0.1, "schedule": "constant"}, "min_lr=0.1 .* schedule='constant'"),
    ],
)
def test_contradictions_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(**given)

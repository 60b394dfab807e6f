"""The schedule explorer: the curve is `learning_rate`, and only settings that go together are offered."""

import pytest

from course_lib.chapters.ch06_translation import schedule_explorer
from course_lib.chapters.ch06_translation import schedules_widget as schedules
from course_lib.chapters.ch06_translation.schedules_widget import (
    FACTORS,
    KINDS,
    RATES,
    REFERENCE,
    REFERENCE_WIDTH,
    TOTALS,
)
from course_lib.training.config import TrainConfig, learning_rate


@pytest.fixture
def explorer():
    return schedule_explorer()


def set_to(explorer, **values) -> None:
    for name, value in values.items():
        explorer.controls[name].value = value


@pytest.mark.parametrize("kind", KINDS)
def test_the_curve_is_the_learning_rate(explorer, kind: str) -> None:
    set_to(explorer, kind=kind)
    config = TrainConfig(steps=20_000, schedule=kind, lr=explorer.controls["rate"].value, warmup=4000)
    steps, rates = explorer.figure.axes[0].lines[0].get_data()
    assert len(steps) >= schedules.POINTS and 4000 in steps.tolist()
    for i in (0, 57, len(steps) - 1):
        right = learning_rate(int(steps[i]) - 1, 20_000, config, 512)
        assert rates[i] / 1000 == pytest.approx(right, rel=1e-5)


def test_the_text_has_peak_step_share_and_mean_and_compares_with_the_reference(explorer) -> None:
    """The reference: Kak slide 77, and the row of SYSTEMS.md: 1.98e-3."""
    peak = learning_rate(REFERENCE.warmup - 1, None, REFERENCE, REFERENCE_WIDTH)
    assert peak == pytest.approx(2 / (256 * 4000) ** 0.5) == pytest.approx(1.98e-3, rel=2e-3)
    set_to(explorer, rate=2.0, d_model=256)
    assert "peak 0.00198 at step 4,000" in explorer.line and "has the same peak" in explorer.line
    set_to(explorer, kind="linear", total=10_000)
    assert "peak 0.001 at step 4,000; warm-up is 40.0% of 10,000 steps" in explorer.line
    assert "Mean rate 0.0005 (50% of the peak)" in explorer.line and "0.51 times" in explorer.line


def test_each_kind_has_its_own_rates_and_remembers_them(explorer) -> None:
    rate, width = explorer.controls["rate"], explorer.controls["d_model"]
    rate.value = 2.0
    assert rate.options == FACTORS and rate.description == "factor" and not width.disabled
    set_to(explorer, kind="cosine")
    assert rate.options == RATES and rate.description == "peak" and width.disabled
    rate.value = 3e-4
    set_to(explorer, kind="constant")
    assert rate.value == 3e-4
    set_to(explorer, kind="noam")
    assert rate.value == 2.0 and not width.disabled


def test_the_warm_up_ends_before_the_training_and_every_choice_is_drawn(explorer) -> None:
    for total in TOTALS:
        set_to(explorer, total=total)
        assert max(explorer.controls["warmup"].options) < total
    set_to(explorer, warmup=16_000, total=1000)
    assert explorer.controls["warmup"].value == 500
    for kind in KINDS:
        set_to(explorer, kind=kind)
        for name in ("rate", "warmup", "d_model", "total"):
            for value in explorer.controls[name].options:
                set_to(explorer, **{name: value})
                assert "peak" in explorer.line

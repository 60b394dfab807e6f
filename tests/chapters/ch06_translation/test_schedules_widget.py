"""The schedule explorer: the curve is `learning_rate`, and only settings that go together are offered."""

import html

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


def text_of(explorer) -> str:
    return html.unescape(explorer.text.value)


@pytest.mark.parametrize("kind", KINDS)
def test_the_curve_is_the_learning_rate(explorer, kind: str) -> None:
    explorer.controls["kind"].value = kind
    config = TrainConfig(steps=20_000, schedule=kind, lr=explorer.controls["rate"].value, warmup=4000)
    steps, rates = explorer.figure.axes[0].lines[0].get_data()
    assert len(steps) >= schedules.POINTS and 4000 in steps.tolist()
    for i in (0, 57, len(steps) - 1):
        right = learning_rate(int(steps[i]) - 1, 20_000, config, 512)
        assert rates[i] / 1000 == pytest.approx(right, rel=1e-5)


def test_the_reference_curve_peaks_at_its_rate(explorer) -> None:
    """Kak slide 77, and the row of SYSTEMS.md: 1.98e-3."""
    peak = learning_rate(REFERENCE.warmup - 1, None, REFERENCE, REFERENCE_WIDTH)
    assert peak == pytest.approx(2 / (256 * 4000) ** 0.5) == pytest.approx(1.98e-3, rel=2e-3)
    explorer.controls["rate"].value = 2.0
    explorer.controls["d_model"].value = 256
    assert "peak 0.00198 at step 4,000" in text_of(explorer) and "has the same peak" in text_of(explorer)


def test_the_text_has_peak_step_share_and_mean(explorer) -> None:
    explorer.controls["kind"].value = "linear"
    explorer.controls["total"].value = 10_000
    text = text_of(explorer)
    assert "peak 0.001 at step 4,000; warm-up is 40.0% of 10,000 steps" in text
    assert (
        "Mean rate 0.0005 (50% of the peak)" in text and "0.51 times that of the reference schedule" in text
    )


def test_each_kind_has_its_own_rates_and_remembers_them(explorer) -> None:
    rate, width = explorer.controls["rate"], explorer.controls["d_model"]
    rate.value = 2.0
    assert rate.options == FACTORS and rate.description == "factor" and not width.disabled
    explorer.controls["kind"].value = "cosine"
    assert rate.options == RATES and rate.description == "peak" and width.disabled
    rate.value = 3e-4
    explorer.controls["kind"].value = "constant"
    assert rate.value == 3e-4
    explorer.controls["kind"].value = "noam"
    assert rate.value == 2.0 and not width.disabled


def test_the_warm_up_ends_before_the_training(explorer) -> None:
    for total in TOTALS:
        explorer.controls["total"].value = total
        assert max(explorer.controls["warmup"].options) < total
    explorer.controls["warmup"].value = 16_000
    explorer.controls["total"].value = 1000
    assert explorer.controls["warmup"].value == 500
    assert "peak" in text_of(explorer)


def test_every_choice_is_drawn(explorer) -> None:
    for kind in KINDS:
        explorer.controls["kind"].value = kind
        for name in ("rate", "warmup", "d_model", "total"):
            for value in explorer.controls[name].options:
                explorer.controls[name].value = value
                assert "peak" in text_of(explorer)

"""The scaling explorer: its curve is the law, its dots are the runs, and it says when it extrapolates."""

import html

import pytest

from course_lib.chapters.ch07_language_models import scaling, scaling_explorer
from course_lib.chapters.ch07_language_models.scaling_law import fit_law, training_flops
from course_lib.widgets.explorer import Explorer


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    return scaling_explorer()


def text_of(explorer: Explorer) -> str:
    return html.unescape(explorer.text.value)


def test_the_dots_are_the_runs_and_the_curve_is_the_law(explorer: Explorer) -> None:
    runs = scaling.stored("sweep")
    law = fit_law(runs)
    *dots, curve, chosen = explorer.figure.axes[0].lines
    drawn = {(x, y) for line in dots for x, y in zip(*line.get_data(), strict=True)}
    assert drawn == {(run.tokens, run.loss) for run in runs}
    n, d = (explorer.controls[name].value for name in ("parameters", "tokens"))
    x, y = curve.get_data()
    assert y[7] == pytest.approx(law.loss(n, x[7]))
    assert [list(part) for part in chosen.get_data()] == [[d], [pytest.approx(law.loss(n, d))]]


def test_the_text_compares_doubling_either_and_warns_of_extrapolation(explorer: Explorer) -> None:
    law, controls = fit_law(scaling.stored("sweep")), explorer.controls
    sizes = [value for _, value in controls["parameters"].options]
    controls["parameters"].value = n = min(sizes, key=lambda size: abs(size - 1e5))
    d = controls["tokens"].value
    text = text_of(explorer)
    assert f"predicted loss {law.loss(n, d):.2f} for {training_flops(n, d):.1e} FLOPs" in text
    assert f"twice the parameters: {law.loss(2 * n, d):.2f}" in text and "extrapolation" not in text
    controls["parameters"].value = sizes[-1]
    assert "extrapolation" in text_of(explorer)

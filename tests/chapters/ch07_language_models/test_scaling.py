"""The scaling-law sweep: the fit finds known laws, and the stored prediction was made before its test."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from course_lib.chapters.ch07_language_models import scaling
from course_lib.chapters.ch07_language_models.scaling_law import (
    UNITS,
    Law,
    Point,
    best_size,
    fit_law,
    predict,
    training_flops,
)
from course_lib.experiments import storage

LAW = Law(floor=1.2, a=0.3 * UNITS[0] ** 0.35, alpha=0.35, b=0.4 * UNITS[1] ** 0.5, beta=0.5)
PLACES = [(n, d) for n in (6e3, 25e3, 1e5, 4e5) for d in (1.3e5, 2.6e5, 5.2e5)]


def points(law: Law = LAW, noise: float = 0.0, repeat: int = 3) -> list[Point]:
    """Runs at PLACES that follow a law, with normal noise."""
    rng = torch.Generator().manual_seed(0)
    return [
        Point(parameters=n, tokens=d, loss=law.loss(n, d) + noise * torch.randn((), generator=rng).item())
        for n, d in PLACES * repeat
    ]


def test_a_law_without_noise_is_found() -> None:
    found = fit_law(points())
    assert (found.alpha, found.beta) == pytest.approx((0.35, 0.5))
    assert (found.floor, found.a, found.b) == pytest.approx((LAW.floor, LAW.a, LAW.b), rel=1e-4)


@pytest.mark.parametrize(("alpha", "beta"), [(0.234, 0.666), (0.39, 0.51), (0.745, 0.305)])
def test_exponents_between_the_candidates_are_found_to_their_spacing(alpha: float, beta: float) -> None:
    """Without noise; for a run 16 times as large and as long, the loss is still right to a few percent."""
    law = replace(LAW, a=0.5 * 1e5**alpha, alpha=alpha, b=0.5 * 1e6**beta, beta=beta)
    found = fit_law(points(law))
    assert abs(found.alpha - alpha) < 0.03 and abs(found.beta - beta) < 0.03
    far = [16 * max(numbers) for numbers in zip(*PLACES, strict=True)]
    assert found.loss(*far) == pytest.approx(law.loss(*far), rel=0.03)


def test_a_law_without_a_floor_is_found_and_no_coefficient_is_negative() -> None:
    found = fit_law(points(replace(LAW, floor=0.0), noise=0.01))
    assert min(found.floor, found.a, found.b) >= 0
    assert found.loss(1e5, 2.6e5) == pytest.approx(replace(LAW, floor=0.0).loss(1e5, 2.6e5), abs=0.02)


def test_the_fit_equals_a_search_with_lstsq() -> None:
    noisy = points(noise=0.02)
    found = fit_law(noisy)
    losses = torch.tensor([p.loss for p in noisy], dtype=torch.float64)
    columns = [[1.0, p.parameters**-found.alpha, p.tokens**-found.beta] for p in noisy]
    best = torch.linalg.lstsq(torch.tensor(columns, dtype=torch.float64), losses[:, None]).solution[:, 0]
    assert best.tolist() == pytest.approx([found.floor, found.a, found.b], rel=1e-3)


def test_too_few_points_are_refused() -> None:
    with pytest.raises(ValueError, match="4 points .* 5 parameters"):
        fit_law(points()[:4])


def test_the_interval_holds_the_true_loss_and_grows_with_the_noise() -> None:
    true = LAW.loss(1.6e6, 1e6)
    widths = []
    for noise in (0.005, 0.02):
        found = predict(points(noise=noise), 1.6e6, 1e6, draws=60)
        assert found.low < found.loss < found.high and found.low < true < found.high
        widths.append(found.high - found.low)
    assert widths[1] > 2 * widths[0]
    again = predict(points(noise=0.02), 1.6e6, 1e6, draws=60)
    assert again.high - again.low == widths[1]  # the same seed


def test_the_best_size_spends_the_whole_budget() -> None:
    flops = 1e13
    sizes = [10 ** (3 + i / 20) for i in range(80)]
    found = best_size(LAW, flops, sizes)
    # at the minimum, the two terms weighted by their exponents are equal
    d = flops / (6 * found)
    weighted = LAW.alpha * LAW.a * found**-LAW.alpha, LAW.beta * LAW.b * d**-LAW.beta
    assert weighted[0] == pytest.approx(weighted[1], rel=0.1)
    assert training_flops(found, d) == pytest.approx(flops)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tiny runs on a text of a few lines, stored elsewhere."""
    ids = torch.arange(11).repeat(120)
    monkeypatch.setattr(scaling, "material", lambda: scaling.Material(ids, ids[:100], 11))
    monkeypatch.setattr(storage, "results_of", lambda module: tmp_path)
    sizes = {"CONTEXT": 8, "BATCH": 2, "WIDTHS": (4, 8), "STEPS": (3, 6), "SEEDS": (0, 1), "D_HEAD": 4}
    for name, value in {**sizes, "RATES": (0.1,), "LARGER_WIDTH": 16, "LARGER_STEPS": 12}.items():
        monkeypatch.setattr(scaling, name, value)


def test_the_parts_run_in_order_and_the_prediction_stays(
    small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    scaling.EXPERIMENT.run("rates")
    with pytest.raises(ValueError, match="lacks 8 of its 8 runs"):
        scaling.store_prediction()
    scaling.EXPERIMENT.run("sweep")
    assert len(scaling.stored("sweep")) == 8 and scaling.prediction() is None
    with pytest.raises(ValueError, match="'test' must be run after"):
        scaling.EXPERIMENT.run("test")
    scaling.store_prediction()
    before = scaling.prediction()
    scaling.EXPERIMENT.run("test")
    assert scaling.prediction() == before
    (larger,) = scaling.stored("test")
    assert (larger.recipe.d_model, larger.tokens) == (16, 12 * 2 * 8)
    assert larger.recipe.lr == pytest.approx(0.1 / 16)
    with pytest.raises(ValueError, match="stored already"):
        scaling.store_prediction()
    monkeypatch.setattr(scaling, "SEEDS", (0, 1, 2))  # the sweep cannot grow afterwards
    for again in (False, True):
        with pytest.raises(ValueError, match="'sweep' must be run before"):
            scaling.EXPERIMENT.run("sweep", again=again)


def test_the_same_recipe_gives_the_same_loss_and_no_text_twice(small: None) -> None:
    recipe = scaling.Recipe(d_model=4, steps=3, lr=0.01)
    assert scaling.make(recipe).loss == scaling.make(recipe).loss
    with pytest.raises(ValueError, match="need 16000 tokens, the text has 1320"):
        scaling.make(replace(recipe, steps=1000))


def test_parameters_are_counted_without_the_embedding() -> None:
    for d in (16, 64):
        exact = scaling.non_embedding(scaling.new_model(d, 70))
        assert exact == scaling.non_embedding(scaling.new_model(d, 700))
        assert exact == pytest.approx(12 * scaling.LAYERS * d**2, rel=0.1)


def test_the_stored_prediction_came_from_the_sweep_and_was_tested() -> None:
    (larger,) = scaling.stored("test")
    stored = scaling.prediction()
    again = predict(scaling.stored("sweep"), larger.parameters, larger.tokens)
    assert stored is not None
    assert (stored.loss, stored.low, stored.high) == pytest.approx(
        (again.loss, again.low, again.high), abs=1e-3
    )
    assert larger.parameters > max(run.parameters for run in scaling.stored("sweep"))
    assert larger.tokens > max(run.tokens for run in scaling.stored("sweep"))

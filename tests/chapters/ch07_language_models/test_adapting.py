"""The stored runs of instruction tuning: whole, at equal cost, and the control has the best settings."""

import pytest

from course_lib.chapters.ch07_language_models import adapting as runs


def test_both_models_take_as_many_steps_and_the_control_is_the_tuned_one() -> None:
    for recipe in runs.pairs():
        assert recipe.steps + runs.PRETRAINING * recipe.pretrained == runs.PRETRAINING + runs.FINE_TUNING
        assert recipe.pretrained or (recipe.optimizer, recipe.lr) == runs.best_setting()
    best = max(sum(run.accuracy.values()) for run in runs.stored("rates"))
    settings = {(run.recipe.optimizer, run.recipe.lr): run for run in runs.stored("rates")}
    assert set(settings) == set(runs.TRIED)
    assert sum(settings[runs.best_setting()].accuracy.values()) == best


def test_accuracies_are_percent_by_pairs_with_a_number_for_each_seed() -> None:
    for pretrained in (True, False):
        found = runs.accuracies(pretrained)
        assert list(found) == list(runs.NUMBERS) and {len(row) for row in found.values()} == {len(runs.SEEDS)}
        assert all(1 < score <= 100 for row in found.values() for score in row)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"DOCUMENTS": 60, "BATCH": 4, "PRETRAINING": 2, "FINE_TUNING": 1}.items():
        monkeypatch.setattr(runs, name, value)
    monkeypatch.setattr(runs, "pretrained_model", runs.pretrained_model.__wrapped__)


def test_a_recipe_can_be_repeated_and_starts_where_it_says(tiny: None) -> None:
    recipe = runs.Recipe(pairs=8, pretrained=True, steps=2, optimizer="adamw", lr=1e-3)
    first, again = runs.make(recipe), runs.make(recipe)
    assert first.accuracy == again.accuracy and list(first.accuracy) == ["copy", "reverse", "sort"]
    weights = [model.embedding.weight for model in (runs.pretrained_model(), runs.new_model(0))]
    assert not weights[0].equal(weights[1])

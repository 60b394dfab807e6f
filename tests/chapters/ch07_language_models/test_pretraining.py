"""The stored runs of what pretraining buys: whole, of the same making, from sentences that nobody tests."""

import pytest

from course_lib.chapters.ch07_language_models import pretraining as runs
from course_lib.datasets.splits import normalize
from course_lib.tasks.pretraining import TASKS


def test_the_stored_runs_are_plausible() -> None:
    for run in (run for part in runs.stored().values() for run in part):
        assert len(run.losses) == len(run.bleus) == run.recipe.steps / runs.EVERY
        assert all(0 <= score <= 100 for score in (run.bleu, *run.bleus)) and run.seconds > 0
        assert abs(run.bleu - max(run.bleus)) < 15  # test and validation pairs are of one kind


def test_what_the_source_saves_is_small_for_a_model_that_never_learnt_to_look() -> None:
    model = runs.new_model(seed=1)
    assert abs(runs.source_saves(model)) < 0.1  # untrained
    asked = [run for run in runs.stored()["pairs"] if run.source_saves is not None]
    assert {run.recipe.start for run in asked} == {runs.NOTHING, "next token", "denoising"}
    assert all(run.source_saves > 0 for run in asked)


def test_bleus_are_sorted_by_pairs_and_hold_a_score_for_each_seed() -> None:
    found = runs.bleus("pairs", runs.NOTHING)
    chosen = [run for run in runs.stored()["pairs"] if run.recipe.start == runs.NOTHING]
    assert list(found) == sorted({run.recipe.pairs for run in chosen})
    assert sum(map(len, found.values())) == len(chosen)


def test_no_sentence_without_labels_is_held_out_or_labelled() -> None:
    data = runs.material()
    read = set(map(normalize, data.unlabelled))
    held_out = {normalize(text) for pair in (*data.validation, *data.test) for text in pair}
    labelled = {normalize(text) for pair in data.labelled for text in pair}
    assert len(data.labelled) == runs.MOST_PAIRS and len(data.unlabelled) > 20_000
    assert not held_out & read and not held_out & labelled
    assert not read & {text for pair in data.labelled for text in pair}


@pytest.mark.slow
def test_a_run_follows_its_recipe(monkeypatch) -> None:
    monkeypatch.setattr(runs, "EVERY", 10)
    monkeypatch.setattr(runs, "HELD_OUT", 30)
    monkeypatch.setattr(runs, "pretrained", lambda task, seed: runs.new_model(seed).state_dict())
    data = runs.material()
    short = runs.Material(data.labelled, data.validation[:30], data.test[:20], data.unlabelled, data.tokens)
    monkeypatch.setattr(runs, "material", lambda: short)
    recipe = runs.Recipe(pairs=64, start=runs.NOTHING, steps=20)
    first, again = runs.make(recipe), runs.make(recipe)
    assert (first.losses, first.bleus) == (again.losses, again.bleus) and len(first.losses) == 2
    assert first.source_saves == again.source_saves
    assert runs.make(runs.Recipe(pairs=64, start=runs.NOTHING, steps=20, joint=True)).losses != first.losses


@pytest.mark.parametrize("task", (*TASKS, runs.ONE_SIDED))
def test_pretraining_changes_the_weights_and_nothing_does_not(task) -> None:
    before = runs.pretrained(runs.NOTHING, 5)["blocks.0.attention.w_q.weight"]
    after = runs.pretrained.__wrapped__(task, 5, steps=2)["blocks.0.attention.w_q.weight"]
    assert not before.equal(after) and before.equal(runs.new_model(5).blocks[0].attention.w_q.weight)


def test_the_control_of_masked_tokens_differs_in_its_attention_only(monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(runs, "PretrainingBatches", lambda *given: asked.append(given[3:]) or given)
    monkeypatch.setattr(runs, "PrefixLMLoss", lambda model, causal: asked.append(causal))
    monkeypatch.setattr(runs, "train", lambda *given, **settings: None)
    for task in ("masked token", runs.ONE_SIDED):
        runs.pretrained.__wrapped__(task, 0, steps=2)
    assert asked == [("masked token", 0), False, ("masked token", 0), True]

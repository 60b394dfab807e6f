"""The stored runs of chapter 9: whole, plausible, and made as the recipe says."""

import random

import pytest

from course_lib.chapters.ch09_classification import sst2
from course_lib.chapters.ch09_classification import text_classifiers as runs
from course_lib.datasets import LabelledData, load_labelled


def reviews(train: int) -> LabelledData:
    """A few of the course's reviews."""
    data = load_labelled("reviews")
    parts = {"train": data.train[:train], "validation": data.validation[:20], "test": data.test[:40]}
    return LabelledData(name="reviews", classes=data.classes, **parts)


def same(make) -> dict:
    """A run, made twice."""
    first, again = make(), make()
    assert {**first, "seconds": 0} == {**again, "seconds": 0}
    return first


def test_the_stored_runs_are_whole() -> None:
    for variant in runs.VARIANTS:
        found = runs.accuracies("pooling", variant=variant)
        assert len(found) == len(runs.SEEDS) and all(50 < score <= 100 for score in found)
    assert all(len(run["validation"]) == runs.STEPS // runs.EVERY for run in runs.stored()["runs"]["pooling"])


def test_the_conclusions_of_the_chapter_hold_for_every_seed() -> None:
    whole = [
        score
        for variant in ("class token", "last token", "causal, last token", "mean", "max", "flatten")
        for score in runs.accuracies("pooling", variant=variant)
    ]
    assert min(whole) > 98 and max(runs.accuracies("pooling", variant="mean, no positions")) < 80
    for how, settings in runs.HOW.items():
        pretrained, untrained = (
            runs.accuracies("few labels", encoder=encoder, how=how) for encoder in ("pretrained", "untrained")
        )
        assert len(pretrained) == len(untrained) == len(runs.SEEDS)
        assert min(pretrained) > max(untrained)
        if how != "frozen":  # LoRA and fine-tuning each need their own rate
            rates = {lr: runs.accuracies("rates", how=how, lr=lr) for lr in runs.RATES}
            assert all(len(scores) == len(runs.SEEDS) for scores in rates.values())
            assert rates[settings["lr"]] == pretrained  # the same runs


def test_half_of_the_sentences_have_two_neighbors_exchanged() -> None:
    rows = [[5, 6, 7, 8, 9], [5, 6, 6, 7, 9]] * 3
    texts, labels = runs.order_task(rows, seed=0)
    assert labels == [0, 1] * 3
    for row, text, label in zip(rows, texts, labels, strict=True):
        assert sorted(row) == sorted(text) and text[-1] == 9 and (row == text) == bool(label)
    assert runs.order_task([[5, 5, 9], [7], *rows], seed=0)[1] == labels  # nothing to exchange: left out
    assert runs.swap_neighbors([5, 5, 6, 9], random.Random(0)) == [5, 6, 5, 9]


def test_a_run_follows_its_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    small = reviews(500)
    monkeypatch.setattr(runs, "load_labelled", lambda name: small)
    assert same(lambda: runs.pooling_run("mean, no positions", seed=0, steps=3))["seed"] == 0
    task = runs.FewLabels.of(small, seed=0, steps=2, pretraining=2)
    few = [task.run(encoder, how) for encoder in task.encoders for how in runs.HOW]
    trained = {run["how"]: run["trained"] for run in few}
    assert trained["frozen"] == 2 * 32 + 2 < trained["LoRA"] < trained["fine-tuned"] and len(few) == 6
    assert trained["LoRA"] - trained["frozen"] == 2 * 4 * (32 + 32 + 32 + 64)  # layers, rank, widths


# ---- SST-2


def test_the_stored_runs_on_sst2_are_plausible() -> None:
    stored = sst2.stored()
    assert stored["sentences"] == {"train": 6916, "validation": 872, "test": 1821}
    for run in (run for part in stored["runs"].values() for run in part):
        assert 55 < run["test"] < 90 and abs(run["test"] - run["validation"]) < 6  # sentences of one kind


def test_a_run_on_sst2_follows_its_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds, small = (sst2.PIECES, sst2.WORDS), reviews(80)
    for name, value in {
        "FINE_TUNING": 4,
        "PRETRAINING": 3,
        "EVERY": 2,
        "VOCAB": dict.fromkeys(kinds, 200),
        "SIZES": dict.fromkeys(kinds, {"d_model": 12, "heads": 3, "layers": 1}),
        "material": lambda: small,
    }.items():
        monkeypatch.setattr(sst2, name, value)
    for kind in kinds:
        assert 0 <= same(lambda kind=kind: sst2.encoder(kind, pretrained=True, seed=0))["test"] <= 100
    for counts in sst2.GRAMS:
        assert 40 <= sst2.bag_of_words(counts)["test"] <= 100

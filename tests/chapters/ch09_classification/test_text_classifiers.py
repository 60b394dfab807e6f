"""The stored runs of chapter 9: whole, plausible, and made as the recipe says."""

import random

from course_lib.chapters.ch09_classification import text_classifiers as runs
from course_lib.datasets import LabelledData, load_labelled


def test_the_stored_runs_are_whole() -> None:
    for variant in runs.VARIANTS:
        found = runs.accuracies("pooling", variant=variant)
        assert len(found) == len(runs.SEEDS) and all(50 < score <= 100 for score in found)
    assert all(len(run["validation"]) == runs.STEPS // runs.EVERY for run in runs.stored()["runs"]["pooling"])
    for encoder in ("untrained", "pretrained"):
        for how in runs.HOW:
            assert len(runs.accuracies("few labels", encoder=encoder, how=how)) == len(runs.SEEDS)


def test_the_conclusions_of_the_chapter_hold_for_every_seed() -> None:
    whole = [
        score
        for variant in ("class token", "last token", "causal, last token", "mean", "max", "flatten")
        for score in runs.accuracies("pooling", variant=variant)
    ]
    assert min(whole) > 98 and max(runs.accuracies("pooling", variant="mean, no positions")) < 80
    for how in runs.HOW:
        pretrained, untrained = (
            runs.accuracies("few labels", encoder=encoder, how=how) for encoder in ("pretrained", "untrained")
        )
        assert min(pretrained) > max(untrained)


def test_half_of_the_sentences_have_two_neighbors_exchanged() -> None:
    rows = [[5, 6, 7, 8, 9], [5, 6, 6, 7, 9]] * 3
    texts, labels = runs.order_task(rows, seed=0)
    assert labels == [0, 1] * 3
    for row, text, label in zip(rows, texts, labels, strict=True):
        assert sorted(row) == sorted(text) and text[-1] == 9 and (row == text) == bool(label)
    assert runs.order_task([[5, 5, 9], [7], *rows], seed=0)[1] == labels  # nothing to exchange: left out
    assert runs.swap_neighbors([5, 5, 6, 9], random.Random(0)) == [5, 6, 5, 9]


def test_a_run_follows_its_recipe() -> None:
    data = load_labelled("reviews")
    parts = {"train": data.train[:500], "validation": data.validation[:20], "test": data.test[:40]}
    small = LabelledData(name="reviews", classes=data.classes, **parts)
    first, again = (runs.pooling_run(small, "mean, no positions", seed=0, steps=3) for _ in range(2))
    assert {**first, "seconds": 0} == {**again, "seconds": 0} and first["seed"] == 0
    task = runs.FewLabels.of(small, seed=0, steps=2, pretraining=2)
    few = [task.run(encoder, how) for encoder in task.encoders for how in runs.HOW]
    trained = {run["how"]: run["trained"] for run in few}
    assert trained["frozen"] == 2 * 32 + 2 < trained["LoRA"] < trained["fine-tuned"] and len(few) == 6
    assert trained["LoRA"] - trained["frozen"] == 2 * 4 * (32 + 32 + 32 + 64)  # layers, rank, widths


def test_lora_and_fine_tuning_each_need_their_own_rate() -> None:
    found = {
        (h, lr): runs.accuracies("rates", how=h, lr=lr) for h in ("LoRA", "fine-tuned") for lr in runs.RATES
    }
    assert all(len(scores) == len(runs.SEEDS) for scores in found.values())
    for how, settings in runs.HOW.items():
        if how != "frozen":  # the same runs as those of the part "few labels"
            own = runs.accuracies("few labels", encoder="pretrained", how=how)
            assert found[how, settings["lr"]] == own

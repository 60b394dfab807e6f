"""The stored runs on SST-2: whole, plausible, and made as the recipe says."""

from course_lib.chapters.ch09_classification import sst2 as runs
from course_lib.datasets import LabelledData, load_labelled


def test_the_stored_runs_are_plausible() -> None:
    stored = runs.stored()
    assert stored["sentences"] == {"train": 6916, "validation": 872, "test": 1821}
    for run in (run for part in stored["runs"].values() for run in part):
        assert 55 < run["test"] < 90 and abs(run["test"] - run["validation"]) < 6  # sentences of one kind


def test_a_run_follows_its_recipe(monkeypatch) -> None:
    monkeypatch.setattr(runs, "FINE_TUNING", 4)
    monkeypatch.setattr(runs, "PRETRAINING", 3)
    monkeypatch.setattr(runs, "EVERY", 2)
    kinds, small_sizes = (runs.PIECES, runs.WORDS), {"d_model": 12, "heads": 3, "layers": 1}
    monkeypatch.setattr(runs, "VOCAB", dict.fromkeys(kinds, 200))
    monkeypatch.setattr(runs, "SIZES", dict.fromkeys(kinds, small_sizes))
    data = load_labelled("reviews")
    parts = {"train": data.train[:80], "validation": data.validation[:20], "test": data.test[:40]}
    small = LabelledData(name="reviews", classes=data.classes, **parts)
    for kind in kinds:
        first, again = (runs.encoder_run(small, kind, pretrained=True) for _ in range(2))
        assert {**first, "seconds": 0} == {**again, "seconds": 0} and 0 <= first["test"] <= 100
    for run in runs.bag_of_words(small):
        assert 40 <= run["test"] <= 100

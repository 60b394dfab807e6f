"""One recipe, several seeds: how a run is made, and that what is stored is complete."""

from course_lib.chapters.ch06_translation import translator_seeds as seeds
from course_lib.training import TrainConfig


def test_a_run_counts_invented_words_and_scores_both_test_sets(monkeypatch):
    """After one step, the model writes hardly any word of the training sentences."""
    monkeypatch.setattr(seeds, "TrainConfig", lambda **plan: TrainConfig(**{**plan, "steps": 1, "warmup": 0}))
    monkeypatch.setattr(seeds, "PAIRS", 300)
    monkeypatch.setattr(seeds, "MANY", 6)
    monkeypatch.setattr(seeds, "FEW", 3)
    monkeypatch.setattr(seeds, "READ", 5)
    run = seeds.make(seed=1, vocab=300)
    assert (run.seed, run.vocab) == (1, 300)
    assert 0 <= run.few < 20 and 0 <= run.many < 20 and 0 <= run.invented <= 5


def test_larger_vocabularies_invent_fewer_words():
    for seed in seeds.OTHER_SEEDS:
        invented = {run.vocab: run.invented for run in seeds.stored() if run.seed == seed}
        assert invented[600] > 1.3 * invented[1500] > 1.3 * 1.3 * invented[4000]

"""The stored tries of chapter 6d: each variant is there, at equal cost, with whole scores."""

import math
from dataclasses import replace

from course_lib.chapters.ch06_translation import translation_tries as tries
from course_lib.experiments import storage

LIKE = {"few": "base"}  # the variant whose steps cost as much


def test_stored_tries_are_whole() -> None:
    costs = {one["name"]: one["cost"] for one in storage.read(tries.RESULTS)["runs"]["costs"]}
    runs = tries.stored()
    assert list(dict.fromkeys(run.name for run in runs)) == list(tries.ABOUT)
    for run in runs:
        assert run.cost == costs[LIKE.get(run.name, run.name)]
        assert run.steps == round((1500 if run.few else 2000) / run.cost)
        assert run.pairs == 10_000 if run.few else run.pairs > 80_000
        assert 0 < run.bleu < run.chrf < 100 and math.isfinite(run.loss)
    assert replace(runs[1], seed=2).about == "Muon, learning rate 0.004, seed 2"

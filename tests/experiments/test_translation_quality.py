"""The file of results: one run for each preset, seed and number of steps; means over seeds."""

import pytest

from course_lib.experiments.translation_quality import means, merged


def entry(seed, bleu, steps=10, preset="small"):
    figures = {"bleu": bleu, "chrf": bleu + 20.0}
    return {
        "preset": preset,
        "seed": seed,
        "steps": steps,
        "greedy": figures,
        "beam": {"width": 4, **figures},
    }


def test_a_run_takes_the_place_of_an_earlier_one_of_its_kind():
    results = {}
    for one in (entry(1, 30.0), entry(0, 20.0), entry(1, 40.0), entry(0, 50.0, steps=20)):
        results = merged(results, one)
    assert [(run["seed"], run["steps"], run["greedy"]["bleu"]) for run in results["runs"]] == [
        (0, 10, 20.0),
        (0, 20, 50.0),
        (1, 10, 40.0),
    ]


def test_means_are_over_seeds_of_equal_runs():
    runs = [
        entry(0, 40.0),
        entry(1, 43.0),
        entry(2, 46.0),
        entry(0, 9.0, steps=20),
        entry(0, 8.0, preset="one"),
    ]
    (row,) = means(runs)
    assert row["preset"] == "small" and row["seeds"] == [0, 1, 2]
    assert row["greedy"]["bleu"] == row["beam"]["bleu"] == pytest.approx([43.0, 3.0])
    assert row["greedy"]["chrf"] == pytest.approx([63.0, 3.0])

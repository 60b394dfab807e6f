"""Accuracy of the CIFAR-10 presets, and the tries before they were chosen: the stored ones."""

from dataclasses import replace

import pytest

from course_lib.chapters.ch08_images import cifar10_quality as quality
from course_lib.datasets.image_sets import CIFAR10
from course_lib.experiments.recipes import presets


def test_a_preset_is_trained_as_it_stands_in_bf16(monkeypatch):
    asked = []
    monkeypatch.setattr(
        quality, "preset", lambda name, **settings: asked.append((name, settings)) or ["data"]
    )
    monkeypatch.setattr(quality, "measured", lambda *given, name: {"name": name, "given": given})
    assert quality.make("cifar10-cpu", seed=1) == {"name": "cifar10-cpu", "given": ("data",)}
    assert asked == [("cifar10-cpu", {"seed": 1, "precision": "bf16"})]


def test_stored_runs_are_those_of_the_presets():
    runs = quality.stored()
    assert {run.name for run in runs["presets"]} == {"cifar10-cpu", "cifar10-cpu-long"}
    for run in runs["presets"]:
        settings = presets("vision")[run.name]
        assert (run.steps, run.batch) == (settings["steps"], settings["batch"])
        assert sum(map(sum, run.confusion)) == 10_000
        right = sum(row[i] for i, row in enumerate(run.confusion))
        assert run.test == pytest.approx(right / 10_000, abs=1e-4)
        assert replace(run, seconds=2 * run.seconds).images_per_second == run.images_per_second / 2
    tries = runs["tries"]
    assert len({(one["name"], one["seed"]) for one in tries}) == len(tries) > 0
    for one in tries:
        assert 0.1 < one["validation"] < 1 and one["seconds"] > 0 and one["settings"]
        assert one["epochs"] == pytest.approx(one["steps"] * one["batch"] / 45_000, abs=0.06)
        assert "test" not in one  # nothing was chosen on the test images


def test_cats_and_dogs_are_confused_most_and_equally_often():
    long = next(run for run in quality.stored()["presets"] if run.name == "cifar10-cpu-long")
    cat, dog = CIFAR10.index("cat"), CIFAR10.index("dog")
    wrong = {(i, j): n for i, row in enumerate(long.confusion) for j, n in enumerate(row) if i != j}
    both = wrong.pop((cat, dog)), wrong.pop((dog, cat))  # of 1,000 images each
    assert abs(both[0] - both[1]) < 10 and max(wrong.values()) < min(both) / 2

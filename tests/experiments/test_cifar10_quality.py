"""Accuracy of the CIFAR-10 presets: how presets and tries are run and stored, and the stored ones."""

import json
from dataclasses import replace

import pytest
import torch

from course_lib.datasets import ImageData, ImageSplit
from course_lib.experiments import cifar10_quality as quality
from course_lib.experiments.recipes import presets

SMALL = ["d_model=16", "heads=2", "batch=20"]


@pytest.fixture
def stored(monkeypatch, tmp_path):
    """Reads the stored runs of a few random images in color."""
    rng = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (60, 3, 32, 32), generator=rng, dtype=torch.uint8)
    split = ImageSplit(pixels, torch.arange(60) % 10)
    parts = {"train": split, "validation": split[:20], "test": split[20:45]}
    data = ImageData(name="cifar10", classes=tuple("abcdefghij"), **parts)
    monkeypatch.setattr("course_lib.datasets.load_images", lambda name: data)
    monkeypatch.setattr(quality, "STORED", tmp_path / "runs.json")

    def read():
        quality.stored.cache_clear()
        return quality.stored()

    yield read
    quality.stored.cache_clear()


def test_a_try_lasts_for_its_seconds_and_leaves_the_test_images_alone(stored, monkeypatch):
    monkeypatch.setattr(quality, "TIMED", 2)
    clock = iter([0.0, 4.0, 10.0, 16.5])  # two steps took 4 seconds, the three that fit into 6 took 6.5
    monkeypatch.setattr(quality.time, "process_time", lambda: next(clock))
    seen = []
    monkeypatch.setattr(quality, "accuracy", lambda model, split: seen.append(len(split)) or 0.25)
    quality.main(["try", "slower", "--seconds", "6", "--seed", "3", "--set", "lr=0.001", *SMALL])
    (run,) = stored()["tries"]
    assert seen == [20]  # validation images
    assert run == {
        "name": "slower",
        "seed": 3,
        "settings": {"lr": 0.001, "d_model": 16, "heads": 2, "batch": 20},
        "batch": 20,
        "steps": 3,
        "epochs": 1.0,
        "seconds": 6.5,
        "validation": 0.25,
    }


def test_a_preset_is_trained_as_it_stands_and_replaces_an_earlier_run(stored, monkeypatch):
    small = {"d_model": 16, "heads": 2, "batch": 20, "steps": 3}
    preset = quality.preset
    monkeypatch.setattr(quality, "preset", lambda name, **more: preset(name, **small, **more))
    for _ in range(2):
        quality.main(["presets", "cifar10-cpu", "--seed", "1"])
    (run,) = stored()["presets"]
    assert (run.name, run.seed, run.steps, run.batch, run.images) == ("cifar10-cpu", 1, 3, 20, None)
    assert run.evaluations[-1][0] == 3 and sum(map(sum, run.confusion)) == 25
    assert stored()["tries"] == []


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
    content = json.loads(quality.STORED.read_text(encoding="utf-8"))
    assert content["machine"]["threads"] == 1

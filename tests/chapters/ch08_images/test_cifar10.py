"""Image classifiers on CIFAR-10: how the runs are made, and the stored ones."""

import math
from dataclasses import replace

import pytest
import torch

from course_lib.chapters.ch08_images import cifar10, cifar10_quality
from course_lib.datasets import ImageData, ImageSplit
from course_lib.datasets.image_sets import CIFAR10
from course_lib.experiments import storage
from course_lib.experiments.recipes import presets
from course_lib.lectures.dlstudio import VisionDeviations


@pytest.fixture
def small_runs(monkeypatch, tmp_path):
    """A few random images in colour, and results stored elsewhere."""
    rng = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (60, 3, 32, 32), generator=rng, dtype=torch.uint8)
    split = ImageSplit(pixels, torch.arange(60) % 10)
    names = tuple("abcdefghij")
    data = ImageData(name="cifar10", classes=names, train=split, validation=split[:20], test=split[20:45])
    monkeypatch.setattr(cifar10, "images", lambda: data)
    monkeypatch.setattr("course_lib.datasets.load_images", lambda name: data)
    monkeypatch.setattr(storage, "results_of", lambda module: tmp_path)
    monkeypatch.setattr(cifar10, "EPOCH", 2)
    monkeypatch.setattr(cifar10, "STEPS", 2)
    preset, small = cifar10.preset, {"steps": 3, "d_model": 16, "heads": 2, "batch": 20}
    monkeypatch.setattr(cifar10, "preset", lambda name, **more: preset(name, **{**small, **more}))


def test_the_lecture_s_model_is_fixed_step_by_step(small_runs):
    few = list(cifar10.FIXES)[:2]
    cifar10.EXPERIMENT.run("fixes", chosen=lambda recipe: recipe["name"] in few)
    runs = cifar10.stored()["fixes"]
    assert [run.name for run in runs] == few and {run.parameters for run in runs} == {2_695_178}
    assert all(run.steps == 2 and run.batch == 48 and len(run.losses) == 2 for run in runs)
    assert all(sum(map(sum, run.confusion)) == 25 for run in runs)
    trained = [cifar10.fixed(name, seed=0)["losses"] for name in few]
    assert trained == [run.losses for run in runs] and trained[0] != trained[1]


def test_a_preset_is_run_as_it_stands(small_runs):
    cifar10.EXPERIMENT.run("presets")
    stored = cifar10.stored()["presets"]
    assert [run.name for run in stored] == list(cifar10.PRESETS)
    assert stored[0].evaluations[-1][0] == 3
    assert stored[0].images_per_second == pytest.approx(60 / stored[0].seconds)


def test_a_preset_whose_quality_is_measured_is_trained_in_bf16(monkeypatch):
    asked = []
    monkeypatch.setattr(
        cifar10_quality, "preset", lambda name, **more: asked.append((name, more)) or ["data"]
    )
    monkeypatch.setattr(cifar10_quality, "measured", lambda *given, name: {"name": name, "given": given})
    assert cifar10_quality.make("cifar10-cpu", seed=1) == {"name": "cifar10-cpu", "given": ("data",)}
    assert asked == [("cifar10-cpu", {"seed": 1, "precision": "bf16"})]


def test_every_fix_is_one_of_the_lecture_s_deviations():
    names = [name for fixed in cifar10.FIXES.values() for name in fixed]
    assert VisionDeviations.lecture().without(*names) == VisionDeviations()
    assert len(names) == len(set(names)) == 9


def test_the_tokenizers_differ_in_nothing_but_the_tokens(small_runs):
    names = ("crop+flip", "patches")
    cifar10.EXPERIMENT.run("augmentations", "tokenizers", chosen=lambda one: one["name"] in names)
    runs = cifar10.stored()
    patches, convolutions = runs["tokenizers"][0], runs["augmentations"][0]
    assert (patches.name, convolutions.name) == ("patches", "crop+flip")
    assert patches.parameters != convolutions.parameters
    assert all((run.images, run.steps, run.seed) == (5000, 2, 0) for run in (patches, convolutions))


def test_a_curve_has_few_points():
    assert cifar10.curve([1.0, 3.0, 5.0]) == [1, 3, 5]
    points = cifar10.curve([float(i) for i in range(125)])
    assert len(points) == 42 and points[:2] == [1, 4] and points[-1] == 123.5


def test_stored_runs_are_whole_and_those_of_the_presets():
    chosen = cifar10_quality.stored()["presets"]
    assert {run.name for run in chosen} == {"cifar10-cpu", "cifar10-cpu-long"}
    for run in chosen:
        settings = presets("vision")[run.name]
        assert (run.steps, run.batch) == (settings["steps"], settings["batch"])
        assert replace(run, seconds=2 * run.seconds).images_per_second == run.images_per_second / 2
    for run in [*chosen, *(run for part in cifar10.stored().values() for run in part)]:
        assert sum(map(sum, run.confusion)) == 10_000 and len(run.losses) <= cifar10.POINTS
        right = sum(row[i] for i, row in enumerate(run.confusion))
        assert run.test == pytest.approx(right / 10_000, abs=1e-4)
        assert all(math.isfinite(loss) for loss in run.losses) and run.seconds > 0


def test_nothing_was_chosen_on_the_test_images():
    tries = cifar10_quality.stored()["tries"]
    assert len({(one["name"], one["seed"]) for one in tries}) == len(tries) > 0
    for one in tries:
        assert 0.1 < one["validation"] < 1 and one["seconds"] > 0 and one["settings"] and "test" not in one
        assert one["epochs"] == pytest.approx(one["steps"] * one["batch"] / 45_000, abs=0.06)


def test_cats_and_dogs_are_confused_most_and_equally_often():
    long = next(run for run in cifar10_quality.stored()["presets"] if run.name == "cifar10-cpu-long")
    cat, dog = CIFAR10.index("cat"), CIFAR10.index("dog")
    wrong = {(i, j): n for i, row in enumerate(long.confusion) for j, n in enumerate(row) if i != j}
    both = wrong.pop((cat, dog)), wrong.pop((dog, cat))  # of 1,000 images each
    assert abs(both[0] - both[1]) < 10 and max(wrong.values()) < min(both) / 2

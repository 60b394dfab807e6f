"""Image classifiers on CIFAR-10: how the runs are made, and the stored ones."""

import math

import pytest
import torch

from course_lib.chapters.ch08_images import cifar10 as stored_runs
from course_lib.datasets import ImageData, ImageSplit
from course_lib.experiments import storage


@pytest.fixture
def small_runs(monkeypatch, tmp_path):
    """A few random images in colour, and results stored elsewhere."""
    rng = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (60, 3, 32, 32), generator=rng, dtype=torch.uint8)
    split = ImageSplit(pixels, torch.arange(60) % 10)
    names = tuple("abcdefghij")
    data = ImageData(name="cifar10", classes=names, train=split, validation=split[:20], test=split[20:45])
    monkeypatch.setattr(stored_runs, "images", lambda: data)
    monkeypatch.setattr("course_lib.datasets.load_images", lambda name: data)
    monkeypatch.setattr(storage, "results_of", lambda module: tmp_path)
    monkeypatch.setattr(stored_runs, "EPOCH", 2)
    monkeypatch.setattr(stored_runs, "STEPS", 2)
    preset, small = stored_runs.preset, {"d_model": 16, "heads": 2, "batch": 20}
    monkeypatch.setattr(
        stored_runs, "preset", lambda name, **more: preset(name, **{"steps": 3, **small, **more})
    )


def test_the_lecture_s_model_is_fixed_step_by_step(small_runs):
    few = list(stored_runs.FIXES)[:2]
    stored_runs.EXPERIMENT.run("fixes", chosen=lambda recipe: recipe["name"] in few)
    runs = stored_runs.stored()["fixes"]
    assert [run.name for run in runs] == few and {run.parameters for run in runs} == {2_695_178}
    assert all(run.steps == 2 and run.batch == 48 and len(run.losses) == 2 for run in runs)
    assert all(sum(map(sum, run.confusion)) == 25 for run in runs)
    trained = [stored_runs.fixed(name, seed=0)["losses"] for name in few]
    assert trained == [run.losses for run in runs] and trained[0] != trained[1]


def test_a_preset_is_run_as_it_stands(small_runs):
    stored_runs.EXPERIMENT.run("presets")
    stored = stored_runs.stored()["presets"]
    assert [run.name for run in stored] == list(stored_runs.PRESETS)
    assert stored[0].evaluations[-1][0] == 3
    assert stored[0].images_per_second == pytest.approx(60 / stored[0].seconds)


def test_every_fix_is_one_of_the_lecture_s_deviations():
    from course_lib.lectures.dlstudio import VisionDeviations

    names = [name for fixed in stored_runs.FIXES.values() for name in fixed]
    assert VisionDeviations.lecture().without(*names) == VisionDeviations()
    assert len(names) == len(set(names)) == 9


def test_the_tokenizers_differ_in_nothing_but_the_tokens(small_runs):
    names = ("crop+flip", "patches")
    stored_runs.EXPERIMENT.run("augmentations", "tokenizers", chosen=lambda one: one["name"] in names)
    runs = stored_runs.stored()
    patches, convolutions = runs["tokenizers"][0], runs["augmentations"][0]
    assert (patches.name, convolutions.name) == ("patches", "crop+flip")
    assert patches.parameters != convolutions.parameters
    assert (patches.images, patches.steps, patches.seed) == (5000, 2, 0)
    assert (convolutions.images, convolutions.steps, convolutions.seed) == (5000, 2, 0)


def test_a_curve_has_few_points():
    assert list(stored_runs.curve([1.0, 3.0, 5.0])) == [1, 3, 5]
    points = list(stored_runs.curve([float(i) for i in range(125)]))
    assert len(points) == 42 and points[:2] == [1, 4] and points[-1] == 123.5


def test_stored_runs_are_whole():
    runs = [run for part in stored_runs.stored().values() for run in part]
    assert runs
    for run in runs:
        assert sum(map(sum, run.confusion)) == 10_000 and len(run.losses) <= stored_runs.POINTS
        right = sum(row[i] for i, row in enumerate(run.confusion))
        assert run.test == pytest.approx(right / 10_000, abs=1e-4)
        assert all(math.isfinite(loss) for loss in run.losses) and run.seconds > 0

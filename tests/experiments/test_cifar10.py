"""Image classifiers on CIFAR-10: how the runs are made, and the stored ones."""

import json
import math

import pytest
import torch

from course_lib.datasets import ImageData, ImageSplit
from course_lib.experiments import cifar10 as stored_runs


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
    monkeypatch.setattr(stored_runs, "STORED", tmp_path / "runs.json")
    stored_runs.stored.cache_clear()
    yield
    stored_runs.stored.cache_clear()


def test_the_lecture_s_model_is_fixed_step_by_step(small_runs, monkeypatch):
    few = dict(list(stored_runs.FIXES.items())[:2])
    monkeypatch.setattr(stored_runs, "FIXES", few)
    stored_runs.fixes(2, seed=0)
    runs = stored_runs.stored()["fixes"]
    assert [run.name for run in runs] == list(few) and {run.parameters for run in runs} == {2_695_178}
    assert all(run.steps == 2 and run.batch == 48 and len(run.losses) == 2 for run in runs)
    assert all(sum(map(sum, run.confusion)) == 25 for run in runs)
    stored_runs.fixes(1, seed=0)  # again: in place of the old ones
    stored_runs.stored.cache_clear()
    assert [run.steps for run in stored_runs.stored()["fixes"]] == [1, 1]


def test_a_preset_is_run_as_it_stands(small_runs):
    name, small = "cifar10-cpu-strided", {"d_model": 16, "heads": 2, "batch": 20, "steps": 3}
    run = stored_runs.learn(*stored_runs.preset(name, **small), name=name)
    stored_runs.add("presets", run)
    stored = stored_runs.stored()["presets"][0]
    assert stored.name == name and stored.evaluations[-1][0] == 3
    assert stored.images_per_second == pytest.approx(60 / stored.seconds)


def test_every_fix_is_one_of_the_lecture_s_deviations():
    from course_lib.lectures.dlstudio import VisionDeviations

    names = [name for fixed in stored_runs.FIXES.values() for name in fixed]
    assert VisionDeviations.lecture().without(*names) == VisionDeviations()
    assert len(names) == len(set(names)) == 9


def test_the_tokenizers_differ_in_nothing_but_the_tokens(small_runs, monkeypatch):
    small = {"d_model": 16, "heads": 2, "batch": 20}
    preset = stored_runs.preset
    monkeypatch.setattr(stored_runs, "preset", lambda name, **more: preset(name, **{**small, **more}))
    monkeypatch.setattr(stored_runs, "AUGMENTS", ("crop+flip",))
    stored_runs.tokenizers(2, seed=0)
    stored_runs.augmentations(2, seed=0)
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
    content = json.loads(stored_runs.STORED.read_text(encoding="utf-8"))
    assert content["command"] == f"python -m {stored_runs.__name__}" and content["machine"]["torch"]
    runs = [run for part in stored_runs.stored().values() for run in part]
    assert runs
    for run in runs:
        assert sum(map(sum, run.confusion)) == 10_000 and len(run.losses) <= stored_runs.POINTS
        right = sum(row[i] for i, row in enumerate(run.confusion))
        assert run.test == pytest.approx(right / 10_000, abs=1e-4)
        assert all(math.isfinite(loss) for loss in run.losses) and run.seconds > 0

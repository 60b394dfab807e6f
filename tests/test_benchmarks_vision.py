"""The row of the image classifiers, and the stored runs."""

import json
import math

import pytest
import torch
from benchmarks import pixels, vision, vision_runs
from benchmarks.timing import Plan

from course_lib.datasets import ImageData, ImageSplit
from course_lib.torchvision_ops import import_torchvision
from course_lib.widgets import vision_runs as stored_runs

import_torchvision()
pytest.importorskip("timm")
SHORT = Plan(seconds=0.0, least=2, warm_up=1, tiny=True)


def test_the_whole_row_runs():
    found = list(vision.vision(SHORT))
    assert [c.row for c in found] == ["vision"] * 2 and all(c.aim == 1.1 for c in found)
    assert all(len(c.rates(side)) == 2 for c in found for side in ("ours", "ours, all tokens", "timm"))
    assert all("class token alone" in note for c in found for note in c.notes)


def test_both_sides_take_the_same_steps():
    found = vision.models(SHORT)
    config = found["ours"].config
    trainers = {name: vision.Trainer(model, config, 4, SHORT, "fp32") for name, model in found.items()}
    for trainer in trainers.values():
        for number in range(3):
            assert trainer.turn(number) == 4
    images = trainers["ours"].images
    for other in ("ours, all tokens", "timm"):
        assert torch.allclose(found["ours"](images), found[other](images), atol=1e-3), other
    assert found["ours"](images).abs().max() > 1e-3


def test_attention_between_pixels_is_the_same_three_times():
    """So is its gradient; but the formula alone keeps a table of pixels × pixels for every head."""
    found = pixels.layers(16, 2)
    x = torch.randn(3, 16, 4, 5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    outputs = {name: layer(x) for name, layer in found.items()}
    gradients = {name: torch.autograd.grad(out.sin().sum(), x)[0] for name, out in outputs.items()}
    assert (outputs["ours"] - x).abs().max() > 0.01
    for name in found:
        assert torch.allclose(outputs[name], outputs["ours"], atol=1e-5), name
        assert torch.allclose(gradients[name], gradients["ours"], atol=1e-4), name
    sizes = {name: pixels.kept_bytes(layer, x) for name, layer in found.items()}
    for name in ("ours", "nn.MultiheadAttention"):  # normed, queries, keys, values, gathered; ours once more
        assert 5 * x.nbytes < sizes[name] < 6.5 * x.nbytes, name
    assert sizes["explicit"] > 5 * x.nbytes + 3 * 2 * 20 * 20 * 4


def test_kept_bytes_by_hand():
    """A product of two halves keeps both, once, and a sum keeps nothing."""
    x = torch.ones(4, 6)
    assert pixels.kept_bytes(lambda x: x + 1, x) == 0
    halves = lambda x: torch.mul(*(2 * x).chunk(2))  # noqa: E731
    assert pixels.kept_bytes(halves, x) == x.nbytes


def test_the_row_of_pixels_has_as_many_pixels_in_every_batch():
    assert [pixels.PIXELS % side**2 for side in pixels.SIDES] == 4 * [0]
    found = list(pixels.pixels(SHORT))
    assert [c.case.split(",")[1] for c in found] == [" batch 4", " batch 1"]
    assert all(c.notes[0].count("MiB") == 3 for c in found)


@pytest.fixture
def small_runs(monkeypatch, tmp_path):
    """A few random images in colour, and results stored elsewhere."""
    rng = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (60, 3, 32, 32), generator=rng, dtype=torch.uint8)
    split = ImageSplit(pixels, torch.arange(60) % 10)
    names = tuple("abcdefghij")
    data = ImageData(name="cifar10", classes=names, train=split, validation=split[:20], test=split[20:45])
    monkeypatch.setattr(vision_runs, "images", lambda: data)
    monkeypatch.setattr("course_lib.datasets.load_images", lambda name: data)
    monkeypatch.setattr(vision_runs, "STORED", tmp_path / "runs.json")
    monkeypatch.setattr(stored_runs, "STORED", tmp_path / "runs.json")
    stored_runs.stored.cache_clear()
    yield
    stored_runs.stored.cache_clear()


def test_the_lecture_s_model_is_mended_step_by_step(small_runs, monkeypatch):
    few = dict(list(stored_runs.MENDS.items())[:2])
    monkeypatch.setattr(vision_runs, "MENDS", few)
    vision_runs.mends(2, seed=0)
    runs = stored_runs.stored()["mends"]
    assert [run.name for run in runs] == list(few) and {run.parameters for run in runs} == {2_695_178}
    assert all(run.steps == 2 and run.batch == 48 and len(run.losses) == 2 for run in runs)
    assert all(sum(map(sum, run.confusion)) == 25 for run in runs)
    vision_runs.mends(1, seed=0)  # again: in place of the old ones
    stored_runs.stored.cache_clear()
    assert [run.steps for run in stored_runs.stored()["mends"]] == [1, 1]


def test_a_preset_is_run_as_it_stands(small_runs):
    name, small = "cifar10-cpu", ("--d-model", 16, "--heads", 2, "--batch", 20, "--steps", 3)
    run = vision_runs.learn(*vision_runs.preset(name, *small), name=name)
    vision_runs.add("presets", run)
    stored = stored_runs.stored()["presets"][0]
    assert stored.name == name and stored.evaluations[-1][0] == 3
    assert stored.images_per_second == pytest.approx(60 / stored.seconds)


def test_every_mend_is_one_of_the_lecture_s_oddities():
    from course_lib.lectures.dlstudio import VisionOddities

    names = [name for mended in stored_runs.MENDS.values() for name in mended]
    assert VisionOddities.lecture().without(*names) == VisionOddities()
    assert len(names) == len(set(names)) == 9


def test_a_curve_has_few_points():
    assert list(vision_runs.curve([1.0, 3.0, 5.0])) == [1, 3, 5]
    points = list(vision_runs.curve(list(range(125))))
    assert len(points) == 42 and points[:2] == [1, 4] and points[-1] == 123.5


def test_stored_runs_are_whole():
    content = json.loads(stored_runs.STORED.read_text(encoding="utf-8"))
    assert content["command"].startswith("cd tests") and content["machine"]["torch"]
    runs = [run for part in stored_runs.stored().values() for run in part]
    assert runs
    for run in runs:
        assert sum(map(sum, run.confusion)) == 10_000 and len(run.losses) <= vision_runs.POINTS
        right = sum(row[i] for i, row in enumerate(run.confusion))
        assert run.test == pytest.approx(right / 10_000, abs=1e-4)
        assert all(math.isfinite(loss) for loss in run.losses) and run.seconds > 0

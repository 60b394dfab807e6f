"""The row of the image classifiers."""

import pytest
import torch

from course_lib.benchmarks import pixels, vision
from course_lib.benchmarks.timing import Plan
from course_lib.pretrained.torchvision_ops import import_torchvision

import_torchvision()
pytest.importorskip("timm")
SHORT = Plan(seconds=0.0, least=2, warm_up=1, tiny=True)


def test_the_whole_row_runs():
    found = list(vision.vision(SHORT))
    assert [c.row for c in found] == ["vision"] * 2 and all(c.aim == 1.0 for c in found)
    assert all(len(c.rates(side)) == 2 for c in found for side in ("ours", "timm"))


def test_both_sides_take_the_same_steps():
    found = vision.models(SHORT)
    config = found["ours"].config
    trainers = {name: vision.trainer(model, config, 4, SHORT, "fp32") for name, model in found.items()}
    for trainer in trainers.values():
        for number in range(3):
            assert trainer.turn(number) == 4
    images = trainers["ours"].batches[0][0]
    assert torch.allclose(found["ours"](images), found["timm"](images), atol=1e-3)
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

"""The rows of the images: both classifiers take the same steps, and attention is the same three times."""

import pytest
import torch

from course_lib.benchmarks import pixels
from course_lib.benchmarks.timing import Plan, trainer
from course_lib.pretrained.torchvision_ops import import_torchvision
from course_lib.tasks.image_classification import ImageClassificationLoss

import_torchvision()


def test_both_classifiers_take_the_same_steps():
    pytest.importorskip("timm")
    found, batch = pixels.classifiers(pixels.TINY_VIT), pixels.random_images(pixels.TINY_VIT, 4)
    for model in found.values():
        turn = trainer(ImageClassificationLoss(model), [batch], Plan())
        assert [turn(number) for number in range(3)] == [4, 4, 4]
    ours, theirs = (model(batch[0]) for model in found.values())
    assert torch.allclose(ours, theirs, atol=1e-3) and ours.abs().max() > 1e-3


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
    assert pixels.kept_bytes(lambda x: torch.mul(*(2 * x).chunk(2)), x) == x.nbytes


def test_the_row_of_pixels_has_as_many_pixels_in_every_batch():
    assert [pixels.PIXELS % side**2 for side in pixels.SIDES] == 4 * [0]
    found = list(pixels.pixels(Plan(seconds=0.0, least=2, warm_up=1, tiny=True)))
    assert [c.case.split(",")[1] for c in found] == [" batch 4", " batch 1"]
    assert all(c.notes[0].count("MiB") == 3 for c in found)

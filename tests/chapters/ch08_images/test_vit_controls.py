"""Controls for the ViTs of chapters 8 and 8c: what is trained, and what is stored."""

import itertools
from dataclasses import replace

import pytest
import torch

from course_lib.chapters.ch08_images import vit_controls
from course_lib.chapters.ch08_images.digits_vit import digits


def test_the_stored_networks_learned_their_images() -> None:
    assert all(run["training"] > 0.95 for part in vit_controls.stored().values() for run in part)


def test_the_stored_networks_support_what_chapter_8c_says() -> None:
    def mean(network: str, count: int, part: str) -> float:
        stored = vit_controls.stored()["few images"]
        runs = [run[part] for run in stored if (run["network"], run["images"]) == (network, count)]
        return sum(runs) / len(runs)

    pooled, flat = "convolutions, mean pooling", "convolutions, flattened"
    for vit in (name for name in vit_controls.NETWORKS if name.startswith("ViT")):
        for count, (part, margin) in itertools.product((50, 200), {"test": 0.05, "moved": 0.3}.items()):
            assert mean(vit, count, part) < mean(pooled, count, part) - margin
    for count in vit_controls.COUNTS:
        assert (
            mean("ViT", count, "moved") + 0.1
            < mean(flat, count, "moved")
            < mean(pooled, count, "moved") - 0.1
        )
        assert mean(flat, count, "test") > mean(pooled, count, "test")
    assert mean(pooled, 800, "test") - mean("ViT", 800, "test") < 0.05


def test_the_orders_move_patches_and_nothing_else() -> None:
    split = digits().test[:20]
    ways = (vit_controls.one_order, vit_controls.per_image_order)
    one, each = (vit_controls.unfold_patches(way(split, 3).pixels.float(), 2) for way in ways)
    patches = vit_controls.unfold_patches(split.pixels.float(), 2)
    order = torch.rand(1, 16, generator=torch.Generator().manual_seed(3)).argsort(dim=1)[0]
    assert torch.equal(one, patches[:, order]) and not torch.equal(each, one)
    assert torch.equal(each.sum(dim=1), patches.sum(dim=1))


def test_a_network_that_takes_the_mean_does_not_see_where_an_image_is() -> None:
    """Unless its ink comes near an edge, where the zeros of the padding differ from black."""
    torch.manual_seed(0)
    image = torch.zeros(1, 1, 8, 8)
    image[..., 3:5, 3:5] = 1
    features = vit_controls.convolutional()[:3]  # one convolution: far enough from all edges
    mean, elsewhere = (features(x).mean(dim=(2, 3)) for x in (image, image.roll(1, dims=3)))
    assert torch.allclose(mean, elsewhere, atol=1e-6)


def test_a_run_trains_the_network_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    make, config = vit_controls.NETWORKS["convolutions, flattened"]
    monkeypatch.setitem(vit_controls.NETWORKS, "convolutions, flattened", (make, replace(config, steps=2)))
    run = vit_controls.few_images("convolutions, flattened", 40, seed=1)
    assert run["parameters"] == 39_498 and run["images"] == 40 and 0 <= run["moved"] <= 1

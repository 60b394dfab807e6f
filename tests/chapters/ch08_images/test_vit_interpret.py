"""Pictures of what an image classifier looks at, beside timm, numpy and sums by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.random_weights import randomized

from course_lib.chapters.ch08_images.vit_interpret import (
    attention_distance,
    attention_maps,
    class_attention,
    logits_without,
    on_patches,
    paint_patches,
    rollout,
)
from course_lib.models.vit import ViT, ViTConfig
from course_lib.pretrained.torchvision_ops import library
from course_lib.pretrained.vit import to_timm

CONFIG = ViTConfig(classes=5, image_size=12, patch_size=4, channels=2, d_model=24, heads=3, layers=4)


def model_of(device="cpu", **changes):
    """A model whose weights are so large that its heads differ."""
    torch.manual_seed(0)
    model = ViT(replace(CONFIG, **changes))
    return randomized(model, device, scale=0.3)


def random_images(device="cpu"):
    return torch.randn(2, 2, 12, 12, generator=torch.Generator().manual_seed(1)).to(device)


def random_maps(layers=4, batch=2, heads=3, tokens=10):
    rng = torch.Generator().manual_seed(3)
    return (2 * torch.randn(layers, batch, heads, tokens, tokens, generator=rng)).softmax(dim=-1)


# ---- attention


def test_the_maps_are_those_of_timm(device):
    model, images = model_of(device, dropout=0.5).train(), random_images(device)
    library("timm")
    from timm.utils import AttentionExtract

    theirs = to_timm(model).eval()
    for block in theirs.blocks:
        block.attn.fused_attn = False  # only then are there weights to see
    with torch.inference_mode():
        extracted = AttentionExtract(theirs, method="hook")(images)
    maps = attention_maps(model, images)
    assert maps.shape == (4, 2, 3, 10, 10)
    assert len(extracted) == 4
    for mine, other in zip(maps, extracted.values(), strict=True):
        assert torch.allclose(mine, other, atol=1e-5)
    assert model.training


def test_the_class_token_leads_and_patches_follow_row_by_row():
    maps = random_maps()
    pictures = class_attention(maps)
    assert pictures.shape == (4, 2, 3, 3, 3)
    for row, column in [(0, 0), (0, 2), (2, 1)]:
        assert torch.equal(pictures[:, :, :, row, column], maps[:, :, :, 0, 1 + 3 * row + column])
    assert torch.allclose(pictures.sum(dim=(-2, -1)) + maps[..., 0, 0], torch.ones(4, 2, 3))


def test_rollout_by_numpy():
    maps = random_maps(layers=3)
    for image in range(2):
        product = np.eye(10)
        for layer in range(3):
            mean = sum(maps[layer, image, head].double().numpy() for head in range(3)) / 3
            step = mean + np.eye(10)
            product = step / step.sum(axis=1, keepdims=True) @ product
        assert np.allclose(rollout(maps)[image], product, atol=1e-6)


def test_of_tokens_that_are_patches_alone_nothing_is_left_out():
    maps = random_maps(tokens=9)
    with pytest.raises(ValueError, match="no class token.*tokens=9"):
        class_attention(maps)
    assert torch.equal(on_patches(maps)[0, 0, 0, 4, 1, 2], maps[0, 0, 0, 4, 5])
    assert attention_maps(model_of(pooling="mean"), random_images()).shape == (4, 2, 3, 9, 9)


# ---- distance


def test_distance_by_loops():
    """In widths of a patch of 4 pixels, without the class token as a query and as a key."""
    maps = random_maps(layers=2)
    spots = [(row, column) for row in range(3) for column in range(3)]
    for layer, head in [(0, 1), (1, 2)]:
        means = []
        for image in range(2):
            weights = maps[layer, image, head, 1:, 1:].numpy()
            for (r, c), row in zip(spots, weights, strict=True):
                far = [np.hypot(r - y, c - x) for y, x in spots]
                means.append(np.average(far, weights=row))
        found = attention_distance(maps, patch_size=4)[layer, head].item()
        assert found == pytest.approx(4 * np.mean(means), abs=1e-4)


# ---- painting and removing patches


def test_painted_patches_have_the_value_and_the_others_stay():
    images, patches = random_images(), torch.tensor([[0, 5], [8, 1]])
    painted = paint_patches(images, patches, 4, value=7.0)
    for image, before, chosen in zip(painted, images, patches.tolist(), strict=True):
        for patch in range(9):
            row, column = 4 * (patch // 3), 4 * (patch % 3)
            square = (slice(None), slice(row, row + 4), slice(column, column + 4))
            expected = torch.full_like(before[square], 7) if patch in chosen else before[square]
            assert torch.equal(image[square], expected)


def test_a_removed_token_is_one_that_no_token_attends_to():
    model, images = model_of(), random_images()
    none = torch.empty(2, 0, dtype=torch.long)
    assert torch.allclose(logits_without(model, images, none), model.eval()(images), atol=1e-5)
    x = model.embedded(images)[:, [0, *range(2, 10)]]
    for block in model.blocks:
        x = block(x)
    by_hand = model.head(model.norm(x[:, 0]))
    zero = torch.zeros(2, 1, dtype=torch.long)
    assert torch.allclose(logits_without(model, images, zero), by_hand, atol=1e-5)


def test_without_a_class_token_nothing_can_be_removed():
    with pytest.raises(ValueError, match="no class token"):
        logits_without(model_of(pooling="mean"), random_images(), torch.zeros(2, 1, dtype=torch.long))

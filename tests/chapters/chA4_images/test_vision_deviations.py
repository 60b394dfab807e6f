"""The lecture's vision Transformer on digits: images, models, how runs are stored, and the stored ones."""

import pytest
import torch

from course_lib.chapters.ch08_images.digits_vit import digits
from course_lib.chapters.chA4_images import vision_deviations as stored_runs
from course_lib.layers.patches import unfold_patches
from course_lib.lectures.dlstudio.vision import scrambled_patches


@pytest.fixture
def split():
    return digits().train[:20]


@pytest.mark.parametrize("name", stored_runs.IMAGES)
def test_images_get_three_channels_and_keep_their_labels(name, split):
    changed = stored_runs.IMAGES[name](split, 3)
    assert changed.pixels.shape == (20, 3, 8, 8) and changed.pixels.dtype == torch.uint8
    assert torch.equal(changed.labels, split.labels)
    assert torch.equal(changed.pixels, stored_runs.IMAGES[name](split, 3).pixels)
    assert name == "plain" or not torch.equal(changed.pixels, stored_runs.IMAGES[name](split, 4).pixels)


def test_one_channel_of_a_colored_digit_shows_it_and_one_of_a_plate_does_not(split):
    def correlations(change):
        images, ink = change(split, 0).pixels.float().flatten(2), split.pixels.float().flatten(1)
        return torch.stack(
            [torch.stack([red, gray]).corrcoef()[0, 1] for red, gray in zip(images[:, 0], ink, strict=True)]
        )

    assert correlations(stored_runs.colored).abs().min() > 0.99
    assert correlations(stored_runs.plates).abs().mean() < 0.7


def test_in_plates_red_and_green_together_tell_the_digit(split):
    red, green, _ = stored_runs.plates(split).pixels.float().unbind(1)
    hue = 0.6 * split.pixels[:, 0].float() - 0.3 * 255
    assert (red - green - hue).abs().max() <= 1.01


def test_the_two_models_differ_in_their_patches_alone():
    torch.manual_seed(0)
    right = stored_runs.vit()
    scrambled = stored_runs.scrambled_vit()
    for name in ("blocks", "norm", "head", "positions"):
        shapes = [[p.shape for p in getattr(m, name).parameters()] for m in (right, scrambled)]
        assert shapes[0] == shapes[1]
    weight = right.patches.convolution.weight.flatten(1)
    scrambled.patches.embed.weight.data, scrambled.patches.embed.bias.data = (
        weight,
        right.patches.convolution.bias,
    )
    images = torch.randn(2, 3, 8, 8)
    expected = torch.nn.functional.linear(
        scrambled_patches(images, 2), weight, right.patches.convolution.bias
    )
    assert torch.allclose(scrambled.patches(images), expected, atol=1e-6)
    assert unfold_patches(images, 2).shape == scrambled_patches(images, 2).shape


def test_a_frozen_model_trains_its_blocks_and_its_head():
    frozen = stored_runs.MODELS["frozen embedding"]()
    still = {name.split(".")[0] for name, p in frozen.named_parameters() if not p.requires_grad}
    assert still == {"class_token", "patches", "positions"}


def test_a_run_trains_the_model_it_names():
    recipe = stored_runs.Recipe(images="plain", model="frozen embedding", steps=2, seed=0)
    run = stored_runs.make(recipe)
    assert run.recipe == recipe and 0 <= run.train <= 1 and 0 <= run.held_out <= 1

"""Patches: two ways to the same vectors, which pixels are in which, and where they are."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from course_lib.layers.patches import (
    ConvolutionalPatches,
    ConvolutionalStem,
    Patches,
    SinusoidalPositions2d,
    embed_unfolded,
    resize_positions,
    sinusoidal_2d,
    unfold_patches,
)
from course_lib.layers.positions import sinusoidal


def random_images(*shape, device="cpu"):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(device)


def by_slices(images, size):
    """Each square cut out by hand."""
    height, width = images.shape[2:]
    corners = [(y, x) for y in range(0, height, size) for x in range(0, width, size)]
    return torch.stack([images[:, :, y : y + size, x : x + size].flatten(1) for y, x in corners], dim=1)


def test_patches_on_paper():
    image = torch.arange(16.0).view(1, 1, 4, 4)
    expected = [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    assert unfold_patches(image, 2)[0].tolist() == expected


@pytest.mark.parametrize(("height", "width", "size"), [(8, 12, 4), (6, 9, 3), (5, 7, 1), (4, 4, 4)])
def test_unfolding_equals_slicing(device, height, width, size):
    images = random_images(2, 3, height, width, device=device)
    assert torch.equal(unfold_patches(images, size), by_slices(images, size))


@pytest.mark.parametrize(("height", "width", "size"), [(8, 12, 4), (6, 9, 3), (5, 7, 1)])
def test_a_convolution_with_stride_equals_a_linear_layer_on_patches(device, height, width, size):
    torch.manual_seed(1)
    layer = Patches(size, 3, 10).to(device)
    images = random_images(2, 3, height, width, device=device)
    unfolded = embed_unfolded(unfold_patches(images, size), layer.convolution)
    assert torch.allclose(layer(images), unfolded, atol=1e-5)


def test_the_unpermuted_unfold_would_be_seen():
    """The lecture's reshape of a tensor (batch, channels, rows, columns, size, size): other pixels."""
    torch.manual_seed(1)
    layer, images = Patches(4, 3, 10), random_images(2, 3, 8, 12)
    grid = images.unfold(2, 4, 4).unfold(3, 4, 4)
    wrong = grid.reshape(2, -1, 48)
    right = grid.permute(0, 2, 3, 1, 4, 5).reshape(2, -1, 48)
    assert torch.equal(right, unfold_patches(images, 4))
    assert not torch.allclose(layer(images), embed_unfolded(wrong, layer.convolution), atol=0.1)


def test_a_patch_sees_only_its_own_pixels():
    torch.manual_seed(1)
    layer, images = Patches(4, 3, 10), random_images(1, 3, 8, 12)
    changed = images.clone()
    changed[:, :, 5, 7] += 1  # second row of patches, second of three columns
    moved = (layer(images) - layer(changed)).abs().amax(-1)[0] > 1e-3
    assert moved.nonzero().flatten().tolist() == [4]


@pytest.mark.parametrize(("size", "halvings"), [(2, 1), (4, 2), (8, 3)])
def test_convolutions_halve_both_sides(device, size, halvings):
    torch.manual_seed(1)
    layer = ConvolutionalPatches(size, 3, 12).to(device)
    assert layer(random_images(2, 3, 2 * size, 5 * size, device=device)).shape == (2, 10, 12)
    convolutions = [part for part in layer if isinstance(part, torch.nn.Conv2d)]
    assert [part.out_channels for part in convolutions] == [12 // 2**i for i in reversed(range(halvings))]
    assert all(part.stride == (2, 2) for part in convolutions)


def test_convolutions_equal_their_layers_one_by_one():
    torch.manual_seed(1)
    layer, images = ConvolutionalPatches(4, 3, 10), random_images(2, 3, 8, 12)
    first, second = (part for part in layer if isinstance(part, torch.nn.Conv2d))
    x = F.gelu(F.conv2d(images, first.weight, first.bias, stride=2, padding=1))
    x = F.conv2d(x, second.weight, second.bias, stride=2, padding=1)
    expected = torch.stack([x[:, :, row, column] for row in range(2) for column in range(3)], dim=1)
    assert torch.allclose(layer(images), expected, atol=1e-5)


def test_convolutions_look_beyond_the_edges_of_a_patch():
    torch.manual_seed(1)
    layer, images = ConvolutionalPatches(4, 3, 10), random_images(1, 3, 12, 12)
    changed = images.clone()
    changed[:, :, 3, 4] += 1  # the last row of the second patch of the first row
    moved = (layer(images) - layer(changed)).abs().amax(-1)[0] > 1e-4
    assert moved.nonzero().flatten().tolist() == [1, 4]


def stem_of(size, d_model, device="cpu"):
    """A stem whose normalization has seen some images, and has weights other than 1 and 0."""
    torch.manual_seed(1)
    stem = ConvolutionalStem(size, 3, d_model)
    for norm in stem:
        if isinstance(norm, torch.nn.BatchNorm2d):
            norm.running_mean.normal_().mul_(0.1)
            norm.running_var.uniform_(0.5, 2)
            torch.nn.init.normal_(norm.weight, 1, 0.3)
            torch.nn.init.normal_(norm.bias, 0, 0.3)
    return stem.to(device)


@pytest.mark.parametrize(("size", "halvings"), [(2, 1), (4, 2), (8, 3)])
def test_a_stem_halves_both_sides(device, size, halvings):
    stem = stem_of(size, 12, device)
    assert stem(random_images(2, 3, 2 * size, 5 * size, device=device)).shape == (2, 10, 12)
    convolutions = [part for part in stem if isinstance(part, torch.nn.Conv2d)]
    widths = [12 // 2**i for i in reversed(range(halvings))]
    assert [part.out_channels for part in convolutions] == [*widths, 12]
    norms = sum(2 * part.num_features for part in stem if isinstance(part, torch.nn.BatchNorm2d))
    kernels = sum(9 * before * after for before, after in zip([3, *widths], [*widths, 12], strict=True))
    assert sum(p.numel() for p in stem.parameters()) == kernels + norms


def by_formulas(stem, images):
    """A stem from its definitions: sums over shifted images, the largest of four pixels, (x − mean) / σ."""
    x, training = images.double(), stem.training
    parts = [part.double() for part in stem if list(part.parameters())]
    for convolution, norm in zip(parts[::2], parts[1::2], strict=True):
        height, width = x.shape[2:]
        padded, kernel = F.pad(x, (1, 1, 1, 1)), convolution.weight
        shifts = [(i, j) for i in range(3) for j in range(3)]
        x = sum(
            torch.einsum("bchw,oc->bohw", padded[:, :, i : i + height, j : j + width], kernel[:, :, i, j])
            for i, j in shifts
        )
        if convolution is not parts[-2]:
            x = torch.stack([x[:, :, i::2, j::2] for i in (0, 1) for j in (0, 1)]).amax(0)
        mean = x.mean((0, 2, 3)) if training else norm.running_mean
        variance = x.var((0, 2, 3), correction=0) if training else norm.running_var
        x = (x - mean[:, None, None]) / (variance[:, None, None] + 1e-5).sqrt()
        x = (x * norm.weight[:, None, None] + norm.bias[:, None, None]).clamp(min=0)
    return torch.stack([x[:, :, i, j] for i in range(x.shape[2]) for j in range(x.shape[3])], dim=1)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("size", [2, 4])
def test_a_stem_equals_its_formulas(size, training):
    stem, images = stem_of(size, 10).train(training), random_images(3, 3, 8, 12)
    tokens = stem(images).detach()
    assert tokens.std() > 0.1
    assert torch.allclose(tokens.double(), by_formulas(stem, images), atol=1e-5)


def test_the_images_of_a_batch_depend_on_one_another_only_in_training():
    stem, images = stem_of(4, 8), random_images(3, 3, 8, 8)
    together = stem(images)
    assert not torch.allclose(together[:1], stem(images[:1]), atol=1e-2)
    stem.eval()
    assert torch.allclose(stem(images)[:1], stem(images[:1]), atol=1e-5)


def test_a_stem_looks_beyond_the_edges_of_a_patch_but_not_everywhere():
    """The change spreads by 1 pixel, then 1 of half the size, then 1 token: up to 2 tokens away."""
    stem, images = stem_of(4, 16).eval(), random_images(1, 3, 28, 28)
    changed = images.clone()
    changed[:, :, 13, 13] += 5  # in the middle one of 7 × 7 patches
    moved = (stem(images) - stem(changed)).abs().amax(-1).view(7, 7) > 1e-4
    assert moved[2:5, 2:5].all()
    moved[1:6, 1:6] = False
    assert not moved.any()


def test_sinusoidal_positions_say_row_and_column():
    table = sinusoidal_2d(5, 12)
    assert table.shape == (25, 12)
    for row, column in [(0, 0), (0, 4), (3, 1), (4, 2)]:
        expected = torch.cat([sinusoidal(5, 6)[row], sinusoidal(5, 6)[column]])
        assert torch.equal(table[5 * row + column], expected)
    assert len(np.unique(table.numpy().round(4), axis=0)) == 25


def test_sinusoidal_positions_leave_the_class_token_alone(device):
    x = random_images(2, 10, 8, device=device)
    added = SinusoidalPositions2d(3, 1, 8).to(device)(x) - x
    assert not added[:, 0].any()
    assert torch.allclose(added[1, 1:], sinusoidal_2d(3, 8).to(device), atol=1e-5)


def test_resizing_keeps_the_picture():
    """Rows stay rows, columns columns, half as far apart; the class token's vector stays as it is."""
    rows, columns = torch.meshgrid(torch.arange(4.0), torch.arange(4.0), indexing="ij")
    table = torch.cat([torch.full((1, 2), 9.0), torch.stack([rows.flatten(), columns.flatten()], dim=1)])
    new = resize_positions(table, 8, before=1)
    assert new.shape == (65, 2)
    assert new[0].tolist() == [9.0, 9.0]
    middle = new[1:].unflatten(0, (8, 8))[3, 4]
    assert torch.allclose(middle, torch.tensor([1.25, 1.75]), atol=0.06)  # (place + ½) / 2 − ½


def test_resizing_to_the_same_size_changes_nothing():
    table = random_images(17, 6)
    assert torch.equal(resize_positions(table, 4, before=1), table)
    assert torch.equal(resize_positions(table[1:], 4, before=0), table[1:])


def test_refusals():
    with pytest.raises(ValueError, match="patch_size=5 .* height=8 and width=15"):
        unfold_patches(random_images(2, 3, 8, 15), 5)
    for tokenizer in (ConvolutionalPatches, ConvolutionalStem):
        for size in (1, 6):
            with pytest.raises(ValueError, match=f"patch_size={size} is not 2, 4, 8"):
                tokenizer(size, 3, 12)
        with pytest.raises(ValueError, match="patch_size/2=4 does not divide d_model=18"):
            tokenizer(8, 3, 18)
    with pytest.raises(ValueError, match="4 does not divide d_model=6"):
        sinusoidal_2d(3, 6)

"""Patch embedding: cutting images into patches and projecting them."""

import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, numbered, whole
from course_lib.exercises.watching import without
from course_lib.layers.patches import unfold_patches


def _patch_axes(images: Tensor, size: int) -> Tensor:
    """Patches with axes (batch, channels, patch rows, patch columns, pixel rows, pixel columns)."""
    return images.unfold(2, size, size).unfold(3, size, size)


def _in_order(images: Tensor, size: int, *axes: int) -> Tensor:
    """Flattened patches with their axes in another order; the first two axes index the patches."""
    return _patch_axes(images, size).permute(0, *axes).flatten(3).flatten(1, 2)


PATCHES = Exercise(
    id="08.patches",
    reference=lambda images, size: unfold_patches(images, size),
    inputs=((numbered(1, 1, 4, 4), 2), (numbered(1, 3, 4, 4), 2), (numbered(2, 3, 6, 9), 3)),
    mistakes=(
        mistake(
            "your code does not bring the channels of a patch together",
            "After the two unfolds, the channels come before the patch axes, so each row of the result "
            "mixes several patches of one color. Permute first: the patch axes, then channels and "
            "pixels.",
            lambda images, size: _patch_axes(images, size).reshape(
                len(images), -1, images.shape[1] * size * size
            ),
        ),
        mistake(
            "your code numbers the patches column by column",
            "Patches follow reading order: along the first row of patches, then the next. Do not swap "
            "the two patch axes.",
            lambda images, size: _in_order(images, size, 3, 2, 1, 4, 5),
        ),
        mistake(
            "your code transposes the pixels in each patch",
            "The last two axes are the rows and the columns within a patch, in this order.",
            lambda images, size: _in_order(images, size, 2, 3, 1, 5, 4),
        ),
        mistake(
            "your code puts the channels after the pixels",
            "The order is channel by channel: all red values of a patch, then all green ones. The "
            "weights of a convolution have the same order.",
            lambda images, size: _in_order(images, size, 2, 3, 4, 5, 1),
        ),
        mistake(
            "your code cuts strips instead of squares",
            "reshape keeps the memory order, where one row of pixels follows another. A patch has "
            "pixels from several rows, so unfold height and width first.",
            lambda images, size: images.reshape(len(images), -1, images.shape[1] * size * size),
        ),
        mistake(
            "your patches overlap",
            "The step from one patch to the next must equal `size`. Set `stride=size`.",
            lambda images, size: F.unfold(images, size).transpose(1, 2),
        ),
        mistake(
            "your code has a column per patch",
            "`F.unfold` returns (batch, pixels, patches), but the tokens of a sequence are axis 1. "
            "Swap the last two axes.",
            lambda images, size: F.unfold(images, size, stride=size),
        ),
        mistake(
            "your code puts patches of one row into one",
            "After `permute`, two flattens are left: flatten(3) for the channels and pixels of a patch, "
            "flatten(1, 2) for the two patch axes.",
            lambda images, size: _patch_axes(images, size).flatten(3).flatten(1, 2),
        ),
        mistake(
            "your code flattens too little or too much",
            "The result has three axes, (batch, patches, channels · size · size): flatten(3), then "
            "flatten(1, 2).",
            lambda images, size: _patch_axes(images, size).permute(0, 2, 3, 1, 4, 5),
            lambda images, size: _patch_axes(images, size).permute(0, 2, 3, 1, 4, 5).flatten(3),
            lambda images, size: _patch_axes(images, size).permute(0, 2, 3, 1, 4, 5).flatten(1),
            lambda images, size: _patch_axes(images, size).permute(0, 2, 3, 1, 4, 5).flatten(1, 2),
        ),
    ),
)


def _embed(patches: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.linear(patches, weight.flatten(1), bias)


def _by_convolution(patches: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    images = patches.unflatten(2, weight.shape[1:])  # each patch is an image
    return F.conv2d(images.flatten(0, 1), weight, bias).view(*patches.shape[:2], -1)


def _case(batch: int, patches: int, d_model: int, channels: int, size: int) -> tuple[Tensor, ...]:
    shapes = ((batch, patches, channels * size * size), (d_model, channels, size, size), (d_model,))
    return tuple(whole(*shape, seed=seed) for seed, shape in enumerate(shapes))


EMBED = Exercise(
    id="08.embed",
    reference=_embed,
    run=without("conv1d", "conv2d", "conv3d", "convolution"),
    inputs=(_case(1, 2, 3, 1, 2), _case(1, 1, 2, 2, 2), _case(2, 5, 4, 3, 2)),
    mistakes=(
        mistake(
            "your code leaves out the bias",
            "The convolution adds its bias to every patch. Add `bias`.",
            lambda patches, weight, bias: _embed(patches, weight, 0 * bias),
        ),
        mistake(
            "your code reshapes the weights instead of transposing them",
            "The rows of `weight.flatten(1)` are the kernels, one per output feature. To multiply "
            "patches by it, transpose it; reshape has the same shape but the wrong contents.",
            lambda patches, weight, bias: patches @ weight.reshape(-1, len(weight)) + bias,
        ),
        mistake(
            "your code calls a convolution",
            "The exercise asks for what a convolution computes, without one: one matrix product with the "
            "flattened kernels, and the bias.",
            _by_convolution,
        ),
        mistake(
            "your code adds up the kernel instead of multiplying",
            "An output is the sum of pixel times weight: a matrix product with `weight.flatten(1).T`.",
            lambda patches, weight, bias: patches.sum(-1, keepdim=True) * weight.flatten(1).sum(1) + bias,
        ),
        mistake(
            "your code reads the weights with the channels last",
            "In `weight`, the channels come before the pixels, just as in the patches. Do not permute.",
            lambda patches, weight, bias: _embed(patches, weight.permute(0, 2, 3, 1), bias),
        ),
        mistake(
            "your code flips the kernels",
            "Convolution in mathematics flips the kernel; in neural networks it does not. Leave out "
            "the flip.",
            lambda patches, weight, bias: _embed(patches, weight.flip(2, 3), bias),
            lambda patches, weight, bias: _embed(patches, weight.flip(1, 2, 3), bias),
        ),
        mistake(
            "your code transposes the kernels",
            "Rows and columns of a kernel match those of the patch. Leave them in order.",
            lambda patches, weight, bias: _embed(patches, weight.transpose(2, 3), bias),
        ),
        mistake(
            "your code averages over the pixels",
            "A convolution sums weight · pixel over the patch.",
            lambda patches, weight, bias: patches @ weight.flatten(1).T / patches.shape[-1] + bias,
        ),
        mistake(
            "your code uses the first channel only",
            "A convolution sums over all channels.",
            lambda patches, weight, bias: (
                patches[..., : weight[0, 0].numel()] @ weight[:, 0].flatten(1).T + bias
            ),
        ),
    ),
)

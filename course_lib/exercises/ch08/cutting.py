"""From pixels to tokens: an image cut into squares, and the squares turned into vectors."""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, numbered
from course_lib.patches import unfold_patches


def _squares(images: Tensor, size: int) -> Tensor:
    """The axes of cut images: batch, channels, rows and columns of squares, rows and columns in a square."""
    return images.unfold(2, size, size).unfold(3, size, size)


def _in_order(images: Tensor, size: int, *axes: int) -> Tensor:
    """The squares with their axes in another order; the first two of them number the patches."""
    return _squares(images, size).permute(0, *axes).flatten(3).flatten(1, 2)


PATCHES = Exercise(
    id="08.patches",
    reference=unfold_patches,
    inputs=((numbered(1, 1, 4, 4), 2), (numbered(1, 3, 4, 4), 2), (numbered(2, 3, 6, 9), 3)),
    mistakes=(
        mistake(
            "does not bring the channels of a square together",
            "This is the listing of slides 98 and 102. After the two unfolds the channels stand before the "
            "squares, so a row of the result is three squares of one colour. Permute first: the numbers of "
            "the squares, then channels and pixels.",
            lambda images, size: _squares(images, size).reshape(
                len(images), -1, images.shape[1] * size * size
            ),
        ),
        mistake(
            "goes down the columns",
            "Patches follow one another as words on a page: along the first row of squares, then the next.",
            lambda images, size: _in_order(images, size, 3, 2, 1, 4, 5),
        ),
        mistake(
            "lays the pixels of each square on their side",
            "The last two axes are the rows and the columns in a square, in this order.",
            lambda images, size: _in_order(images, size, 2, 3, 1, 5, 4),
        ),
        mistake(
            "puts the channels behind the pixels",
            "Asked is channel by channel: all red numbers of a square, then all green ones. The weights of a "
            "convolution lie in the same order.",
            lambda images, size: _in_order(images, size, 2, 3, 4, 5, 1),
        ),
        mistake(
            "cuts strips instead of squares",
            "reshape only counts on along the memory, and there one row of pixels follows another. A square "
            "has pixels of several rows: unfold both sides first.",
            lambda images, size: images.reshape(len(images), -1, images.shape[1] * size * size),
        ),
        mistake(
            "lets the squares overlap",
            "The step from one square to the next is the size of a square.",
            lambda images, size: F.unfold(images, size).transpose(1, 2),
        ),
        mistake(
            "has a column for each patch",
            "`F.unfold` returns (batch, pixels, patches). The tokens of a sequence stand on axis 1: swap.",
            lambda images, size: F.unfold(images, size, stride=size),
        ),
    ),
)


def _embed(patches: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.linear(patches, weight.flatten(1), bias)


def _case(batch: int, patches: int, d_model: int, channels: int, size: int) -> tuple[Tensor, Tensor, Tensor]:
    rng = torch.Generator().manual_seed(0)
    shapes = ((batch, patches, channels * size * size), (d_model, channels, size, size), (d_model,))
    return tuple(torch.randn(shape, generator=rng) for shape in shapes)


EMBED = Exercise(
    id="08.embed",
    reference=_embed,
    inputs=(_case(1, 2, 3, 1, 2), _case(2, 5, 4, 3, 2)),
    mistakes=(
        mistake(
            "leaves the bias out",
            "The convolution adds its bias to every patch.",
            lambda patches, weight, bias: _embed(patches, weight, 0 * bias),
        ),
        mistake(
            "turns the weights into the right shape with the wrong contents",
            "The rows of `weight.flatten(1)` are the kernels, one for each number of the result. As a matrix "
            "to multiply by, it must be transposed; reshape does not transpose.",
            lambda patches, weight, bias: patches @ weight.reshape(-1, len(weight)) + bias,
        ),
        mistake(
            "reads the weights with the channels last",
            "In `weight` the channels stand before the pixels, as in the patches. Nothing must be permuted.",
            lambda patches, weight, bias: _embed(patches, weight.permute(0, 2, 3, 1), bias),
        ),
        mistake(
            "flips the kernels",
            "The convolution of mathematics turns its kernel round; that of neural networks does not.",
            lambda patches, weight, bias: _embed(patches, weight.flip(2, 3), bias),
            lambda patches, weight, bias: _embed(patches, weight.flip(1, 2, 3), bias),
        ),
        mistake(
            "lays the kernels on their side",
            "Rows and columns of a kernel are those of the square it is laid upon.",
            lambda patches, weight, bias: _embed(patches, weight.transpose(2, 3), bias),
        ),
    ),
)

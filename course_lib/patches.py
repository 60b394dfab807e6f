"""Images cut into squares: patches as tokens, and where in the image they stand."""

from itertools import pairwise

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.positions import sinusoidal


class Patches(nn.Module):
    """Each square of pixels as a vector: a convolution whose stride is its size.

    The squares follow one another row by row, as one reads. Source: Kak slide 98, the first of the two ways.
    """

    def __init__(self, patch_size: int, channels: int, d_model: int):
        super().__init__()
        self.convolution = nn.Conv2d(channels, d_model, patch_size, stride=patch_size)

    def forward(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch patches d_model"]:
        return self.convolution(images).flatten(2).transpose(1, 2)


class ConvolutionalPatches(nn.Sequential):
    """Each square of pixels as a vector that also knows its surroundings: convolutions that halve both sides.

    Raises ValueError where `patch_size` is not a power of two, or its half does not divide `d_model`.
    Source: Xiao et al. 2021, section 4; Hassani et al. 2021, section 3.3, with pooling between them.
    """

    def __init__(self, patch_size: int, channels: int, d_model: int):
        super().__init__()
        halvings = patch_size.bit_length() - 1
        if patch_size < 2 or patch_size != 2**halvings:
            raise ValueError(f"patch_size={patch_size} is not 2, 4, 8, …: each convolution halves")
        if d_model % 2 ** (halvings - 1):
            raise ValueError(f"patch_size/2={patch_size // 2} does not divide d_model={d_model}")
        widths = [channels, *(d_model // 2**i for i in reversed(range(halvings)))]
        for i, (before, after) in enumerate(pairwise(widths)):
            if i:
                self.append(nn.GELU())
            self.append(nn.Conv2d(before, after, 3, stride=2, padding=1))

    def forward(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch patches d_model"]:
        return super().forward(images).flatten(2).transpose(1, 2)


def unfold_patches(
    images: Float[Tensor, "batch channels height width"], patch_size: int
) -> Float[Tensor, "batch patches pixels"]:
    """The numbers in each square of pixels, row by row of squares; in a square, channel by channel.

    Raises ValueError where `patch_size` does not divide both sides.
    """
    height, width = images.shape[2:]
    if height % patch_size or width % patch_size:
        raise ValueError(f"patch_size={patch_size} does not divide height={height} and width={width}")
    return F.unfold(images, patch_size, stride=patch_size).transpose(1, 2)


def embed_unfolded(
    patches: Float[Tensor, "batch patches pixels"], convolution: nn.Conv2d
) -> Float[Tensor, "batch patches d_model"]:
    """What `Patches` makes of these patches with this convolution, as one linear layer on the pixels.

    Source: Kak slide 98, the second of the two ways, with every patch whole.
    """
    return F.linear(patches, convolution.weight.flatten(1), convolution.bias)


def sinusoidal_2d(side: int, d_model: int) -> Float[Tensor, "patches d_model"]:
    """`sinusoidal` for a square of side × side patches: half of the features say the row.

    Raises ValueError where 4 does not divide `d_model`. Source: Beyer et al. 2022, section 2.
    """
    if d_model % 4:
        raise ValueError(f"4 does not divide d_model={d_model}: row and column each take sines and cosines")
    line = sinusoidal(side, d_model // 2)
    return torch.cat([line.repeat_interleave(side, dim=0), line.repeat(side, 1)], dim=1)


class SinusoidalPositions2d(nn.Module):
    """Adds the vectors of `sinusoidal_2d` to side × side patches, and nothing to the tokens before them."""

    def __init__(self, side: int, before: int, d_model: int):
        super().__init__()
        table = F.pad(sinusoidal_2d(side, d_model), (0, 0, before, 0))
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Float[Tensor, "batch tokens d_model"]) -> Float[Tensor, "batch tokens d_model"]:
        return x + self.table


def resize_positions(
    table: Float[Tensor, "tokens d_model"], side: int, before: int
) -> Float[Tensor, "new_tokens d_model"]:
    """The vectors of a square of patches, interpolated bicubically to side × side; the first `before` stay.

    Source: Dosovitskiy et al. 2021, section 3.2.
    """
    first, square = table[:before], table[before:]
    old = round(len(square) ** 0.5)
    if old == side:
        return table
    picture = square.t().unflatten(1, (old, old))[None]  # (1, d_model, old, old)
    new = F.interpolate(picture, size=(side, side), mode="bicubic", align_corners=False)
    return torch.cat([first, new[0].flatten(1).t()])

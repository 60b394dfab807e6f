"""Image patches: embedding them as tokens, and their position encodings."""

from functools import partial
from itertools import pairwise

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.positions import sinusoidal
from course_lib.layers.tables import ComputedTable
from course_lib.utils.ranges import check_axes, check_whole


class Patches(nn.Module):
    """Patch embedding: a convolution whose stride equals its kernel size.

    The patches are in row-major order. Source: Dosovitskiy et al. 2021, section 3.1; Kak slide 98.

    >>> Patches(patch_size=4, channels=3, d_model=16)(torch.randn(2, 3, 32, 32)).shape  # 8 × 8 patches
    torch.Size([2, 64, 16])
    """

    def __init__(self, patch_size: int, channels: int, d_model: int):
        super().__init__()
        check_whole(1, patch_size=patch_size, channels=channels, d_model=d_model)
        self.convolution = nn.Conv2d(channels, d_model, patch_size, stride=patch_size)

    def forward(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch patches d_model"]:
        check_axes(images, "batch, channels, height, width")
        return self.convolution(images).flatten(2).transpose(1, 2)


class ConvolutionalPatches(nn.Sequential):
    """Convolutional patch embedding: 3×3 convolutions of stride 2, which also see beyond the patch's edges.

    Raises ValueError if `patch_size` is not a power of two, or if half of it does not divide `d_model`.
    Source: Xiao et al. 2021, section 4; Hassani et al. 2021, section 3.3, with pooling between them.

    >>> ConvolutionalPatches(patch_size=4, channels=3, d_model=16)(torch.randn(2, 3, 32, 32)).shape
    torch.Size([2, 64, 16])
    """

    def __init__(self, patch_size: int, channels: int, d_model: int):
        super().__init__()
        for i, (before, after) in enumerate(
            pairwise([channels, *stage_widths(patch_size, channels, d_model)])
        ):
            if i:
                self.append(nn.GELU())
            self.append(nn.Conv2d(before, after, 3, stride=2, padding=1))

    def forward(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch patches d_model"]:
        check_axes(images, "batch, channels, height, width")
        return super().forward(images).flatten(2).transpose(1, 2)


class ConvolutionalStem(nn.Sequential):
    """Convolutional stem: a small convolutional network whose last layer gives the tokens, one per patch.

    Each stage is a 3×3 convolution, max pooling that halves both sides, batch normalization and ReLU. A last
    3×3 convolution, also normalized, lets neighboring patches exchange what they have seen. In training, the
    normalization uses the statistics of the batch, so the images of a batch depend on one another; in
    evaluation mode, it uses running averages.
    Raises ValueError as `ConvolutionalPatches` does.
    Source: Xiao et al. 2021, section 4 (stem, normalized); Hassani et al. 2021, section 3.3 (pooling).

    >>> ConvolutionalStem(patch_size=4, channels=3, d_model=16)(torch.randn(2, 3, 32, 32)).shape
    torch.Size([2, 64, 16])
    """

    def __init__(self, patch_size: int, channels: int, d_model: int):
        super().__init__()
        widths = stage_widths(patch_size, channels, d_model)
        for i, (before, after) in enumerate(pairwise([channels, *widths, d_model])):
            self.append(nn.Conv2d(before, after, 3, padding=1, bias=False))  # the normalization has a bias
            if i < len(widths):
                self.append(nn.MaxPool2d(2))  # before the normalization, which then has a quarter of the work
            self.extend([nn.BatchNorm2d(after), nn.ReLU()])

    def forward(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch patches d_model"]:
        check_axes(images, "batch, channels, height, width")
        # with the channels last in memory, convolutions on a CPU take up to four times less time
        features = super().forward(images.contiguous(memory_format=torch.channels_last))
        return features.flatten(2).transpose(1, 2)


def stage_widths(patch_size: int, channels: int, d_model: int) -> list[int]:
    """Channels after each convolution that halves both sides: they double, up to `d_model`.

    Raises ValueError if `patch_size` is not a power of two, or if half of it does not divide `d_model`.
    """
    check_whole(1, patch_size=patch_size, channels=channels, d_model=d_model)
    halvings = patch_size.bit_length() - 1
    if patch_size < 2 or patch_size != 2**halvings:
        raise ValueError(f"patch_size={patch_size} is not 2, 4, 8, …: each convolution halves")
    if d_model % 2 ** (halvings - 1):
        raise ValueError(f"patch_size/2={patch_size // 2} does not divide d_model={d_model}")
    return [d_model // 2**i for i in reversed(range(halvings))]


def unfold_patches(
    images: Float[Tensor, "batch channels height width"], patch_size: int
) -> Float[Tensor, "batch patches pixels"]:
    """Cut images into flattened patches: patches in row-major order, and channels first within a patch.

    Raises ValueError if `patch_size` does not divide both sides.

    >>> unfold_patches(torch.arange(16.0).view(1, 1, 4, 4), patch_size=2)
    tensor([[[ 0.,  1.,  4.,  5.],
             [ 2.,  3.,  6.,  7.],
             [ 8.,  9., 12., 13.],
             [10., 11., 14., 15.]]])
    """
    height, width = images.shape[2:]
    if height % patch_size or width % patch_size:
        raise ValueError(f"patch_size={patch_size} does not divide height={height} and width={width}")
    return F.unfold(images, patch_size, stride=patch_size).transpose(1, 2)


def embed_unfolded(
    patches: Float[Tensor, "batch patches pixels"], convolution: nn.Conv2d
) -> Float[Tensor, "batch patches d_model"]:
    """Patch embedding as a linear layer on flattened patches, with the weights of a `Patches` convolution.

    Source: Kak slide 98, the second way, with every patch kept whole.

    >>> patches, images = Patches(patch_size=4, channels=3, d_model=16), torch.randn(2, 3, 8, 8)
    >>> unfolded = embed_unfolded(unfold_patches(images, patch_size=4), patches.convolution)
    >>> torch.allclose(unfolded, patches(images), atol=1e-5)
    True
    """
    return F.linear(patches, convolution.weight.flatten(1), convolution.bias)


def sinusoidal_2d(side: int, d_model: int, before: int = 0) -> Float[Tensor, "tokens d_model"]:
    """Two-dimensional sinusoidal encodings of side × side patches: half of the features encode the row.

    before: rows of zeros in front, for tokens that are no patches.
    Raises ValueError if 4 does not divide `d_model`. Source: Beyer et al. 2022, section 2.

    >>> sinusoidal_2d(side=8, d_model=16).shape
    torch.Size([64, 16])
    """
    if d_model % 4:
        raise ValueError(f"4 does not divide d_model={d_model}: row and column each need sines and cosines")
    line = sinusoidal(side, d_model // 2)
    table = torch.cat([line.repeat_interleave(side, dim=0), line.repeat(side, 1)], dim=1)
    return F.pad(table, (0, 0, before, 0))


class SinusoidalPositions2d(ComputedTable):
    """Adds `sinusoidal_2d` to side × side patches, and nothing to the `before` tokens in front of them.

    >>> positions = SinusoidalPositions2d(side=2, before=1, d_model=8)  # a class token, then 2 × 2 patches
    >>> positions(torch.zeros(1, 5, 8))[0, 0].sum()
    tensor(0.)
    """

    table: Float[Tensor, "tokens d_model"]

    def __init__(self, side: int, before: int, d_model: int):
        super().__init__("table", partial(sinusoidal_2d, side, d_model, before))

    def forward(self, x: Float[Tensor, "batch tokens d_model"]) -> Float[Tensor, "batch tokens d_model"]:
        return x + self.table.to(x.dtype)


def resize_positions(
    table: Float[Tensor, "tokens d_model"], side: int, before: int
) -> Float[Tensor, "new_tokens d_model"]:
    """Interpolate position embeddings bicubically to side × side patches; the first `before` rows stay.

    As in `transformers`, without a filter for fewer patches; timm's have one (antialias), and so differ.
    Source: Dosovitskiy et al. 2021, section 3.2.

    >>> resize_positions(torch.randn(1 + 4 * 4, 8), side=6, before=1).shape  # 1 + 6 × 6 tokens
    torch.Size([37, 8])
    """
    first, square = table[:before], table[before:]
    old = round(len(square) ** 0.5)
    if old == side:
        return table
    picture = square.t().unflatten(1, (old, old))[None]  # (1, d_model, old, old)
    new = F.interpolate(picture, size=(side, side), mode="bicubic", align_corners=False)
    return torch.cat([first, new[0].flatten(1).t()])

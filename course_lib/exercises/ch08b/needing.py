"""Occlusion: images with some patches painted over."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake


def _mask(images: Tensor, patches: Tensor, size: int, by_columns: bool = False) -> Tensor:
    """1 at the pixels of the chosen patches of each image."""
    rows, columns = images.shape[1] // size, images.shape[2] // size
    chosen = torch.zeros(len(images), rows * columns).scatter(1, patches, 1.0)
    grid = chosen.view(-1, columns, rows).mT if by_columns else chosen.view(-1, rows, columns)
    return grid.repeat_interleave(size, 1).repeat_interleave(size, 2)


def _paint(images: Tensor, mask: Tensor, value: float = -1.0) -> Tensor:
    return images.masked_fill(mask.bool(), value)


def _case(batch: int, height: int, width: int, size: int, chosen: int) -> tuple[Tensor, Tensor, int]:
    rng = torch.Generator().manual_seed(batch)
    images = torch.rand(batch, height, width, generator=rng)
    patches = torch.rand(batch, (height // size) * (width // size), generator=rng).argsort(dim=1)
    return images, patches[:, :chosen], size


OCCLUDE = Exercise(
    id="08b.occlude",
    reference=lambda images, patches, size: _paint(images, _mask(images, patches, size)),
    inputs=(_case(1, 4, 4, 2, 1), _case(2, 4, 6, 2, 2), _case(3, 9, 6, 3, 1)),
    mistakes=(
        mistake(
            "your code paints gray",
            "The pixels run from −1 (black) to 1, so 0 is in the middle. Paint with −1.",
            lambda images, patches, size: _paint(images, _mask(images, patches, size), 0.0),
        ),
        mistake(
            "your code paints white",
            "The pixels run from −1 (black) to 1 (white). Paint with −1.",
            lambda images, patches, size: _paint(images, _mask(images, patches, size), 1.0),
        ),
        mistake(
            "your code numbers the patches column by column",
            "Patches are in reading order. The row of patch p is p // (patches per row), and the column the "
            "remainder.",
            lambda images, patches, size: _paint(images, _mask(images, patches, size, by_columns=True)),
        ),
        mistake(
            "your code paints the patches of the first image in all images",
            "Row i of `patches` belongs to image i, and each image has its own choice.",
            lambda images, patches, size: _paint(
                images, _mask(images, patches[:1].expand(len(images), -1), size)
            ),
        ),
        mistake(
            "your code paints the chosen patches of all images in every image",
            "`images[:, rows, columns]` changes the whole batch. Paint image i alone, by `images[i]`.",
            lambda images, patches, size: _paint(
                images, _mask(images, patches, size).amax(dim=0, keepdim=True).expand_as(images)
            ),
        ),
        mistake(
            "your code paints all patches but the chosen ones",
            "The chosen patches become black, and the others stay. Invert your mask.",
            lambda images, patches, size: _paint(images, 1 - _mask(images, patches, size)),
        ),
        mistake(
            "your code paints only the first chosen patch",
            "Each row of `patches` can hold several. Paint them all.",
            lambda images, patches, size: _paint(images, _mask(images, patches[:, :1], size)),
        ),
    ),
)

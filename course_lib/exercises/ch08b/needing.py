"""Occlusion: images with some patches painted over."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake


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


def per_patch(rows: Answer, columns: Answer, per_row: Answer) -> Answer:
    """Painting patch by patch, with options for the mistakes.

    rows, columns: what is painted, from a place and the size. per_row: patches in a row.
    """

    def answer(images: Tensor, patches: Tensor, size: int) -> Tensor:
        painted = images.clone()
        for image, chosen in zip(painted, patches.tolist(), strict=True):
            for patch in chosen:
                row, column = divmod(patch, per_row(images, size))
                image[rows(row, size), columns(column, size)] = -1
        return painted

    return answer


def _square(place: int, size: int) -> slice:
    return slice(place * size, (place + 1) * size)


def _across(images: Tensor, size: int) -> int:
    return images.shape[2] // size


OCCLUDE = Exercise(
    id="08b.occlude",
    reference=lambda images, patches, size: _paint(images, _mask(images, patches, size)),
    inputs=(
        (torch.full((1, 4, 4), 0.5), torch.tensor([[1]]), 2),
        _case(2, 4, 6, 2, 2),
        _case(3, 9, 6, 3, 1),
        _case(4, 8, 6, 2, 3),
    ),
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
            "your code takes the height for the width",
            "The number of patches in a row depends on the width: images.shape[2] // size. Images need not "
            "be square.",
            per_patch(_square, _square, lambda images, size: images.shape[1] // size),
        ),
        mistake(
            "your code counts pixels instead of patches in a row",
            "A row of the image has images.shape[2] // size patches.",
            per_patch(_square, _square, lambda images, size: images.shape[2]),
            per_patch(_square, _square, lambda images, size: size),
        ),
        mistake(
            "your code takes the number of a patch for that of a pixel",
            "Patch row 1 begins at pixel row 1 · size: multiply row and column by `size`.",
            per_patch(
                lambda place, size: slice(place, place + size),
                lambda place, size: slice(place, place + size),
                _across,
            ),
        ),
        mistake(
            "your code swaps rows and columns",
            "The axes of an image are (height, width): image[rows, columns].",
            lambda images, patches, size: (
                per_patch(_square, _square, lambda image, size: _across(images, size))(
                    images.mT, patches, size
                ).mT
            ),
        ),
        mistake(
            "your code paints a single pixel",
            "A patch is a square: image[row * size : (row + 1) * size, column * size : (column + 1) * size].",
            per_patch(lambda place, size: place * size, lambda place, size: place * size, _across),
            per_patch(lambda place, size: place, lambda place, size: place, _across),
        ),
        mistake(
            "your squares are one pixel too small",
            "A slice stops *before* its end, so it goes to (row + 1) * size.",
            per_patch(
                *[lambda place, size: slice(place * size, (place + 1) * size - 1)] * 2,
                _across,
            ),
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

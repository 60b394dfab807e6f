"""Image classification data: images with labels, and their training, validation and test sets."""

from dataclasses import dataclass

import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from course_lib.datasets.labels import check_labels, check_number


@dataclass(frozen=True)
class ImageSplit:
    """Images, grayscale (one channel) or color (three), with labels, each the index of a class.

    pixels: 0 is black. Raises ValueError if there are no images, or if there is not one label per image.

    >>> split = ImageSplit(torch.zeros(10, 1, 8, 8, dtype=torch.uint8), torch.arange(10))
    >>> len(split), split[:3].labels
    (10, tensor([0, 1, 2]))
    """

    pixels: UInt8[Tensor, "images channels height width"]
    labels: Int64[Tensor, " labels"]

    def __post_init__(self) -> None:
        check_number("images", len(self.pixels), len(self.labels))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, which: slice | Int64[Tensor, " chosen"]) -> "ImageSplit":
        return ImageSplit(self.pixels[which], self.labels[which])

    def to(self, device: torch.device | str) -> "ImageSplit":
        """Copy to a device, as `Tensor.to` does."""
        return ImageSplit(self.pixels.to(device), self.labels.to(device))


@dataclass(frozen=True, kw_only=True)
class ImageData:
    """Labeled images split into training, validation and test sets; classes: the names of labels 0, 1, …

    Raises ValueError if a label is not the index of a class.
    """

    name: str
    classes: tuple[str, ...]
    train: ImageSplit
    validation: ImageSplit
    test: ImageSplit

    def __post_init__(self) -> None:
        for split in (self.train, self.validation, self.test):
            check_labels(split.labels, len(self.classes), self.name)

"""From a data set's name to images with labels, divided for training, validation and test."""

import math
import random
import struct
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from course_lib.datasets.archives import BrokenArchive, read_members, unpacked
from course_lib.datasets.entry import DataSet
from course_lib.datasets.labels import check_labels, check_number
from course_lib.datasets.pickles import load_arrays
from course_lib.datasets.places import find_file, locate_file, naming
from course_lib.datasets.sets import catalogue, find_set

EMBEDDED = "digits"


@dataclass(frozen=True)
class ImageSplit:
    """Images, grey with one channel or in colour with three, and of each the number of its class.

    pixels: 0 is black. Raises ValueError where there are no images, and where the two do not fit together.
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
        """The same on another device."""
        return ImageSplit(self.pixels.to(device), self.labels.to(device))


@dataclass(frozen=True, kw_only=True)
class ImageData:
    """Images for training, validation and test, of one origin; classes: the names of what is on them.

    Raises ValueError for labels that no class belongs to.
    """

    name: str
    classes: tuple[str, ...]
    train: ImageSplit
    validation: ImageSplit
    test: ImageSplit

    def __post_init__(self) -> None:
        for split in (self.train, self.validation, self.test):
            check_labels(split.labels, len(self.classes), self.name)


def load_images(name: str = EMBEDDED) -> ImageData:
    """The named images, divided in three, always in the same way.

    digits: a fifth of each class is for the test, a tenth for validation.
    mnist, cifar10: the test is the publishers'; a tenth of each class of the rest is for validation.
    Raises ValueError for an unknown name and for a set without images; otherwise as `locate` does.
    """
    entry = find_set(name)
    if entry.kind != "images":
        sets = [other for other, entry in catalogue().items() if entry.kind == "images"]
        raise ValueError(f"{name!r} is not a set of images; there are {', '.join(sets)}")
    if name == EMBEDDED:
        rest, test = divided(digits(), 5)
        train, validation = divided(rest, 8)
    else:
        rest, test = READERS[name](entry)
        train, validation = divided(rest, 10)
    return ImageData(name=name, classes=entry.classes, train=train, validation=validation, test=test)


def divided(split: ImageSplit, part: int, seed: int = 0) -> list[ImageSplit]:
    """Most of the images, and one in `part` of each class, drawn at random; each in the order of the file."""
    rng, chosen = random.Random(seed), torch.zeros(len(split), dtype=torch.bool)
    for label in split.labels.unique():
        places = (split.labels == label).nonzero().flatten().tolist()
        rng.shuffle(places)
        chosen[places[: len(places) // part]] = True
    return [split[(chosen == wanted).nonzero().flatten()] for wanted in (False, True)]


def digits() -> ImageSplit:
    """scikit-learn's images, whose 17 shades 0 … 16 become 0 … 255."""
    from sklearn.datasets import load_digits  # here, because importing it takes a second

    pixels, labels = load_digits(return_X_y=True)
    shades = torch.from_numpy(pixels).view(-1, 1, 8, 8) * 255 / 16
    return ImageSplit(shades.round().to(torch.uint8), torch.from_numpy(labels).long())


def mnist(entry: DataSet) -> list[ImageSplit]:
    """Training and test images of the four files, each a header of big-endian numbers, then bytes."""
    files = [idx_array(unpacked(locate_file(part)), part.file) for part in entry.parts]
    return [
        ImageSplit(torch.from_numpy(pixels)[:, None], torch.from_numpy(labels).long())
        for pixels, labels in zip(files[::2], files[1::2], strict=True)
    ]


def idx_array(content: bytes, file: str) -> np.ndarray:
    """The array in a file of MNIST's form; raises BrokenArchive where its header says something else."""
    axes = content[3] if len(content) > 3 else 0
    start = 4 + 4 * axes
    if content[:3] != b"\0\0\x08" or len(content) < start:
        raise BrokenArchive(f"{file} does not begin as a file of bytes in MNIST's form does")
    shape = struct.unpack(f">{axes}I", content[4:start])
    if len(content) - start != math.prod(shape):
        raise BrokenArchive(f"{file} has {len(content) - start:,} bytes for an array of {shape}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape).copy()


def cifar10(entry: DataSet) -> list[ImageSplit]:
    """Training images, those of the first five files, and test images, those of the last."""
    path = find_file(entry) or locate_file(entry)
    with naming(entry, path):
        contents = read_members(path, dict(entry.members))
        batches = [batch_of(contents[name], name) for name, _ in entry.members]
    pixels, labels = zip(*batches, strict=True)
    return [
        ImageSplit(torch.cat(pixels[part]), torch.cat(labels[part])) for part in (slice(-1), slice(-1, None))
    ]


def batch_of(content: bytes, file: str) -> tuple[UInt8[Tensor, "images 3 32 32"], Int64[Tensor, " images"]]:
    """Pixels and labels of one file of CIFAR-10: of an image all red, then all green, then all blue pixels.

    Raises BrokenArchive where the file holds something else.
    """
    found = load_arrays(content)
    pixels, labels = found.get(b"data"), found.get(b"labels")
    if not isinstance(pixels, np.ndarray) or not isinstance(labels, list):
        raise BrokenArchive(f"{file} lacks the array 'data' or the list 'labels'; it has {sorted(found)}")
    if pixels.dtype != np.uint8 or pixels.shape != (len(labels), 3072):
        raise BrokenArchive(f"{file} has {pixels.dtype} pixels of {pixels.shape} for {len(labels)} labels")
    return torch.from_numpy(pixels).view(-1, 3, 32, 32), torch.tensor(labels)


READERS = {"mnist": mnist, "cifar10": cifar10}  # training and test images, as published

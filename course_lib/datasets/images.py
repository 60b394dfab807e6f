"""Image loader: labeled images, split into training, validation and test sets."""

import math
import random
import struct

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from course_lib.datasets.archives import BrokenArchive, read_members, unpacked
from course_lib.datasets.catalog import DataSet, find_set, list_datasets
from course_lib.datasets.image_data import ImageData, ImageSplit
from course_lib.datasets.location import find_file, locate_file, naming
from course_lib.datasets.pickles import read_batch
from course_lib.datasets.text_files import PathLike, own_path

EMBEDDED = "digits"


def load_images(name: PathLike = EMBEDDED) -> ImageData:
    """Load images by the name of their data set, or from your own folder; the split is always the same.

    digits: a fifth of each class is for testing, a tenth for validation.
    mnist, cifar10: the publisher's test set; a tenth of each class of the rest is for validation.
    A path of a folder: as `load_image_folder`, which has a choice of sizes.
    Raises ValueError for an unknown name or a set without images, and otherwise as `locate` does.

    >>> data = load_images("digits")
    >>> data.test.pixels.shape, len(data.classes)
    (torch.Size([355, 1, 8, 8]), 10)
    """
    if path := own_path(name):
        from course_lib.datasets.own_images import load_image_folder

        return load_image_folder(path)
    name = str(name)
    entry = find_set(name)
    if entry.kind != "images":
        sets = [other for other, entry in list_datasets().items() if entry.kind == "images"]
        raise ValueError(f"{name!r} is not a set of images; those are: {', '.join(sets)}")
    if name == EMBEDDED:
        rest, test = stratified_split(digits(), 5)
        train, validation = stratified_split(rest, 8)
    else:
        rest, test = READERS[name](entry)
        train, validation = stratified_split(rest, 10)
    return ImageData(name=name, classes=entry.classes, train=train, validation=validation, test=test)


def stratified_split(split: ImageSplit, part: int, seed: int = 0) -> list[ImageSplit]:
    """Stratified split: the rest, and one image in `part` of each class, drawn at random, in their order."""
    rng, chosen = random.Random(seed), torch.zeros(len(split), dtype=torch.bool)
    for label in split.labels.unique():
        places = (split.labels == label).nonzero().flatten().tolist()
        rng.shuffle(places)
        chosen[places[: len(places) // part]] = True
    return [split[(chosen == wanted).nonzero().flatten()] for wanted in (False, True)]


def digits() -> ImageSplit:
    """scikit-learn's digits, with the pixel values 0 … 16 rescaled to 0 … 255."""
    from sklearn.datasets import load_digits  # imported here because it takes a second

    pixels, labels = load_digits(return_X_y=True)
    shades = torch.from_numpy(pixels).view(-1, 1, 8, 8) * 255 / 16
    return ImageSplit(shades.round().to(torch.uint8), torch.from_numpy(labels).long())


def mnist(entry: DataSet) -> list[ImageSplit]:
    """Read MNIST's four files; returns training and test images."""
    axes = (3, 1, 3, 1)  # of images and labels, training and test
    files = [
        idx_array(unpacked(locate_file(part)), part.file, n)
        for part, n in zip(entry.parts, axes, strict=True)
    ]
    return [
        ImageSplit(torch.from_numpy(pixels)[:, None], torch.from_numpy(labels).long())
        for pixels, labels in zip(files[::2], files[1::2], strict=True)
    ]


def idx_array(content: bytes, file: str, axes: int) -> np.ndarray:
    """Read an array in IDX format (MNIST's): a header of big-endian integers, then one byte per value."""
    start = 4 + 4 * axes
    if content[:4] != bytes([0, 0, 8, axes]) or len(content) < start:
        raise BrokenArchive(f"{file} does not begin like an IDX file of bytes with {axes} axes")
    shape = struct.unpack(f">{axes}I", content[4:start])
    if 0 in shape:  # no byte backs up the other axes, and NumPy may reject them
        raise BrokenArchive(f"{file} does not contain an array: one of its axes {shape} is empty")
    if len(content) - start != math.prod(shape):
        raise BrokenArchive(f"{file} has {len(content) - start:,} bytes for an array of shape {shape}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape).copy()


def cifar10(entry: DataSet) -> list[ImageSplit]:
    """Read CIFAR-10; returns training images (all files but the last) and test images (the last file)."""
    path = find_file(entry) or locate_file(entry)
    with naming(entry, path):
        contents = read_members(path, dict(entry.members))
        batches = [batch_of(contents[name], name) for name, _ in entry.members]
    pixels, labels = zip(*batches, strict=True)
    return [
        ImageSplit(torch.cat(pixels[part]), torch.cat(labels[part])) for part in (slice(-1), slice(-1, None))
    ]


def batch_of(content: bytes, file: str) -> tuple[UInt8[Tensor, "images 3 32 32"], Int64[Tensor, " images"]]:
    """Read pixels and labels from one CIFAR-10 batch file, which stores each image channel by channel."""
    try:
        pixels, labels = read_batch(content)
    except BrokenArchive as error:
        raise BrokenArchive(f"{file}: {error}") from error
    return torch.from_numpy(pixels).view(-1, 3, 32, 32), torch.from_numpy(labels).long()


READERS = {"mnist": mnist, "cifar10": cifar10}  # each returns training and test images as published

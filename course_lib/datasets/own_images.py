"""Your own images: a folder with a folder for each class, with a split that does not leak.

Faults are one line that names the file. Images with the same pixels are in the same set.
"""

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps

from course_lib.datasets.image_data import ImageData, ImageSplit
from course_lib.datasets.own_data import check_classes, grouped_split
from course_lib.datasets.text_files import PathLike, files_in, require

IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm")


def image_files(path: PathLike) -> tuple[list[Path], list[str]]:
    """The images in a folder with a folder for each class, and the class of each."""
    folder = require(path)
    if not folder.is_dir():
        raise ValueError(f"{folder} is a file, not a folder with a folder for each class")
    classes = [one for one in sorted(folder.iterdir()) if one.is_dir() and one.name[0] not in "._"]
    if not classes:
        raise ValueError(f"{folder} holds no folders: put the images of each class into its own folder")
    if {one.name.lower() for one in classes} <= {"train", "training", "val", "valid", "validation", "test"}:
        names = ", ".join(one.name for one in classes)
        raise ValueError(f"{folder}: {names} are not classes; give the folder that holds a folder per class")
    found = [(file, one.name) for one in classes for file in files_in(one, IMAGES)]
    files, labels = map(list, zip(*found, strict=True))
    check_classes(folder, labels)
    return files, labels


def read_image(file: Path, size: int, mode: str = "RGB") -> Any:
    """An image as an array of height, width and channels: its middle, scaled to a square of `size` pixels.

    Raises ValueError if it cannot be read.
    """
    if not file.stat().st_size:
        raise ValueError(f"{file} is empty (0 bytes)")
    try:
        with Image.open(file) as image:
            upright = ImageOps.exif_transpose(image).convert(mode)
            return np.asarray(ImageOps.fit(upright, (size, size))).reshape(size, size, -1)
    except Exception as error:  # a damaged file can raise almost anything
        raise ValueError(f"{file} cannot be read as an image: {' '.join(str(error).split()):.100}") from None


def size_of(file: Path) -> tuple[int, int]:
    """Width and height of an image that can be read, in pixels."""
    with Image.open(file) as image:
        return image.size


def is_gray(file: Path) -> bool:
    """Whether an image has no colors."""
    with suppress(OSError, ValueError), Image.open(file) as image:
        return image.mode in ("1", "L", "LA", "I", "I;16", "F")
    return False


def load_image_folder(path: PathLike, size: int = 32) -> ImageData:
    """Images from a folder with a folder for each class, split into training, validation and test sets.

    size: of the square that the middle of each image is scaled to, in pixels. In color, unless all are gray.
    Images with the same pixels are in the same set; a tenth of each class is for testing, a tenth for
    validation.
    Raises ValueError for a damaged image, and unless there are two classes with three different images each.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from PIL import Image
    >>> with TemporaryDirectory() as folder:
    ...     for n in range(8):
    ...         name = Path(folder, "dark" if n < 4 else "bright", f"{n}.png")
    ...         name.parent.mkdir(exist_ok=True)
    ...         Image.new("L", (40, 30), 30 * n).save(name)
    ...     data = load_image_folder(folder, size=8)
    >>> data.classes, data.train.pixels.shape
    (('bright', 'dark'), torch.Size([4, 1, 8, 8]))
    """
    files, names = image_files(path)
    mode = "L" if all(map(is_gray, files)) else "RGB"
    arrays = [read_image(file, size, mode) for file in files]
    keys = [hashlib.sha256(one.tobytes()).hexdigest() for one in arrays]
    classes, parts = grouped_split(path, keys, names)
    splits = {}
    for part, chosen in parts.items():
        pixels = torch.stack([torch.from_numpy(arrays[i].copy()).permute(2, 0, 1) for i in chosen])
        labels = torch.tensor([classes.index(names[i]) for i in chosen])
        splits[part] = ImageSplit(pixels.contiguous(), labels)
    return ImageData(name=Path(path).name, classes=classes, **splits)

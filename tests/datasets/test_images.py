"""Images: splits, files, and damaged files that are refused; offline."""

import dataclasses
import gzip
import hashlib
import io
import os
import pickle
import struct

import numpy as np
import pytest
import torch
from helpers.archives import tar_of

from course_lib import datasets
from course_lib.datasets import BrokenArchive, ImageData, ImageSplit, load_images
from course_lib.datasets.images import batch_of, idx_array, stratified_split

pytestmark = pytest.mark.usefixtures("cache")
TRAIN, TEST = 50, 10  # images in each file


class Python2Pickler(pickle._Pickler):
    """Writes bytes as Python 2 wrote its `str`."""

    dispatch = dict(pickle._Pickler.dispatch)  # noqa: RUF012

    def save_string(self, text):
        short = len(text) < 256
        self.write((b"U" + bytes([len(text)]) if short else b"T" + struct.pack("<i", len(text))) + text)
        self.memoize(text)

    dispatch[bytes] = save_string


def python_2_pickle(value):
    """A pickle as written by Python 2, with NumPy's old module names."""
    file = io.BytesIO()
    Python2Pickler(file, protocol=2).dump(value)
    return file.getvalue().replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def a_batch(images=TRAIN, first=0):
    """A CIFAR-10 batch file; the first two pixels of each channel identify the image and the channel."""
    pixels = np.zeros((images, 3, 1024), np.uint8)
    pixels[:, :, 0] = np.arange(first, first + images)[:, None]
    pixels[:, :, 1] = [10, 20, 30]
    labels = [i % 10 for i in range(images)]
    return python_2_pickle({b"labels": labels, b"data": pixels.reshape(images, 3072), b"filenames": []})


BATCHES = {
    f"cifar-10-batches-py/{name}": a_batch(TRAIN if "data" in name else TEST, 50 * i)
    for i, name in enumerate(["data_batch_1", "data_batch_2", "test_batch"])
}


def small_cifar10():
    members = tuple((name, hashlib.sha256(content).hexdigest()) for name, content in BATCHES.items())
    return dataclasses.replace(datasets.find_set("cifar10"), members=members)


def put(folder, content, name="cifar-10-python.tar.gz"):
    path = folder / "cifar-10" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


# The embedded digits


def test_digits_are_split_class_by_class():
    data = load_images()
    assert [len(part) for part in (data.train, data.validation, data.test)] == [1265, 177, 355]
    assert data.name == "digits" and data.classes == tuple("0123456789")
    assert data.train.pixels.shape[1:] == (1, 8, 8) and data.train.pixels.dtype == torch.uint8
    for part in (data.train, data.validation, data.test):
        counts = part.labels.bincount(minlength=10) / len(part)
        assert counts.min() > 0.09 and counts.max() < 0.11


def test_digits_are_those_of_scikit_learn_each_once():
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    data = load_images("digits")
    ours = torch.cat([part.pixels for part in (data.train, data.validation, data.test)]).flatten(1)
    given = torch.cat([part.labels for part in (data.train, data.validation, data.test)])
    back = (ours.float() * 16 / 255).round()  # none of the 17 shades is lost
    rows = torch.cat([given[:, None], back], dim=1).int().tolist()
    assert sorted(rows) == sorted(np.column_stack([labels, pixels]).astype(int).tolist())


def test_the_split_is_always_the_same():
    first, second = load_images(), load_images()
    assert torch.equal(first.test.pixels, second.test.pixels)
    assert first.test.labels[:12].tolist() == second.test.labels[:12].tolist()
    digest = hashlib.sha256(first.test.pixels.numpy().tobytes()).hexdigest()
    assert digest.startswith("e6442ce8"), digest


def test_the_split_takes_the_same_fraction_of_each_class():
    labels = torch.tensor([0] * 30 + [1] * 50 + [2] * 9)
    split = ImageSplit(torch.arange(89, dtype=torch.uint8).view(-1, 1, 1, 1), labels)
    rest, chosen = stratified_split(split, 10)
    assert chosen.labels.tolist() == [0] * 3 + [1] * 5
    assert sorted([*rest.pixels.flatten().tolist(), *chosen.pixels.flatten().tolist()]) == list(range(89))
    assert rest.pixels.flatten().tolist() == sorted(rest.pixels.flatten().tolist())


# Splits


def test_a_split_is_cut_like_a_list():
    split = ImageSplit(torch.arange(6, dtype=torch.uint8).view(6, 1, 1, 1), torch.arange(6))
    assert len(split) == 6 and split[:2].labels.tolist() == [0, 1]
    some = split[torch.tensor([4, 1])]
    assert some.pixels.flatten().tolist() == some.labels.tolist() == [4, 1]
    assert split.to("cpu").labels.tolist() == list(range(6))
    with pytest.raises(ValueError, match="x: labels run from 0 to 5, but classes=5 takes 0 to 4"):
        ImageData(name="x", classes=tuple("abcde"), train=some, validation=some, test=split)


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [(3, 4, "3 images and 4 labels: the numbers must match"), (0, 0, "0 images and 0 labels")],
)
def test_a_split_without_images_or_of_two_lengths_is_refused(images, labels, message):
    with pytest.raises(ValueError, match=message):
        ImageSplit(torch.zeros(images, 1, 2, 2, dtype=torch.uint8), torch.zeros(labels, dtype=torch.long))


# CIFAR-10


@pytest.mark.parametrize(("name", "mode"), [("tar.gz", "w:gz"), ("tar.xz", "w:xz")])
def test_cifar10_from_course_data(tmp_path, monkeypatch, name, mode, offer):
    offer(small_cifar10())
    path = put(tmp_path / "given", tar_of(BATCHES, mode), f"cifar-10-python.{name}")
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "given"))
    data = load_images("cifar10")
    assert [len(part) for part in (data.train, data.validation, data.test)] == [90, 10, 10]
    assert data.test.pixels.shape == (10, 3, 32, 32)
    assert data.test.pixels[:, 0, 0, 0].tolist() == list(range(100, 110))
    assert data.test.pixels[0, :, 0, 1].tolist() == [10, 20, 30]  # red, green, blue
    assert data.classes[3] == "cat" and data.test.labels.tolist() == list(range(10))
    assert datasets.locate("cifar10") == datasets.find("cifar10") == path
    assert datasets.find_set("cifar10").check(path) == "SHA-256 of each of its 3 files"


class Evil:
    def __reduce__(self):
        return os.system, ("exit 1",)


EVIL = python_2_pickle({b"labels": [], b"data": Evil()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data_batch_2": a_batch(first=99)}, "data_batch_2' has SHA-256"),
        ({"test_batch": None}, "has no member 'cifar-10-batches-py/test_batch'"),
        ({"../evil": b"x"}, r"'cifar-10-batches-py/../evil' points outside"),
    ],
)
def test_another_archive_is_refused(offer, cache, change, message):
    members = {**BATCHES, **{f"cifar-10-batches-py/{name}": content for name, content in change.items()}}
    path = put(
        cache, tar_of({name: content for name, content in members.items() if content is not None}, "w:gz")
    )
    offer(small_cifar10())
    with pytest.raises(BrokenArchive, match=rf"{path.name} is not the data set 'cifar10': .*{message}"):
        load_images("cifar10")


PICTURE = np.zeros((1, 3072), np.uint8)
PIXEL_COUNT = b"T" + struct.pack("<i", 3072)  # the operation that holds the pixels, and how many they are
# Protocol 5 may take a buffer for a list of Python objects: whatever is done with them ends the process.
FORGED = pickle.dumps(np.full(8, 0x41414141, np.uint64), protocol=5).replace(b"u8", b"O8")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (a_batch()[:-200], "damaged or truncated"),
        (python_2_pickle([1, 2]), "has no 'labels'"),
        (python_2_pickle({b"labels": [1]}), "has no 'data'"),
        (python_2_pickle({b"labels": [1], b"data": 3}), "not an array of 1 images: 3 is not 'numpy"),
        (python_2_pickle({b"labels": [300], b"data": PICTURE}), "must be in range"),
        (python_2_pickle({b"labels": [b"1"], b"data": PICTURE}), "cannot be interpreted as an integer"),
        (
            python_2_pickle({b"labels": [1], b"data": np.zeros((2, 3072), np.uint8)}),
            "not an array of 1 images: 2 is not 1",
        ),
        (
            python_2_pickle({b"labels": [1], b"data": np.zeros((1, 3072))}),
            "not an array of 1 images: 'f8' is not 'u1'",
        ),
        (
            python_2_pickle({b"labels": [1, 2], b"data": np.zeros((2, 3072), np.uint8, order="F")}),
            "not an array of 2 images: True is not False",
        ),
        (a_batch(1).replace(PIXEL_COUNT, b"T\xff\xff\xff\x7f"), "damaged or truncated"),
        (FORGED, "has no 'labels'"),
        (EVIL, "not an array of 0 images: '(posix|nt) system' is not 'numpy"),
    ],
)
def test_a_corrupt_batch_is_named(content, message):
    with pytest.raises(BrokenArchive, match=message):
        batch_of(content, "data_batch_1")


def test_every_cut_of_a_batch_is_refused():
    content = a_batch(images=1)
    for length in range(0, len(content), 41):
        with pytest.raises(BrokenArchive):
            batch_of(content[:length], "data_batch_1")


# MNIST


def idx(array):
    header = struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return gzip.compress(header + array.astype(np.uint8).tobytes())


PIXELS = np.arange(40 * 5 * 4).reshape(40, 5, 4) % 251
LABELS = np.arange(40) % 4
MNIST = {
    "train-images-idx3-ubyte.gz": idx(PIXELS),
    "train-labels-idx1-ubyte.gz": idx(LABELS),
    "t10k-images-idx3-ubyte.gz": idx(PIXELS[:7]),
    "t10k-labels-idx1-ubyte.gz": idx(LABELS[:7]),
}


def test_mnist_is_downloaded_file_by_file(small, cache):
    small("mnist", MNIST)
    data = load_images("mnist")
    assert torch.equal(data.test.pixels, torch.from_numpy(PIXELS[:7])[:, None].to(torch.uint8))
    assert data.test.labels.tolist() == LABELS[:7].tolist()
    assert [len(data.train), len(data.validation)] == [36, 4]
    assert datasets.find("mnist") == cache / "MNIST" / "raw"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\0\0\x08\x01\0\0\0\x05abc", r"has 3 bytes for an array of shape \(5,\)"),
        (b"\0\0\x09\x01\0\0\0\x03abc", "does not begin like an IDX file"),
        (b"\0\0\x08\x01\0\0", "does not begin like an IDX file"),
        (b"\0\0\x08\x02\0\0\0\x01\0\0\0\x03abc", "does not begin like an IDX file of bytes with 1 axes"),
        (
            b"\0\0\x08\xff" + b"\0\0\0\x01" * 255 + b"a",
            "does not begin like an IDX file",
        ),  # more axes than NumPy has
        (b"\0\0\x08\x01\xff\xff\xff\xffabc", r"has 3 bytes for an array of shape \(4294967295,\)"),
        (b"", "does not begin like an IDX file"),
    ],
)
def test_a_corrupt_file_of_mnist_is_named(content, message):
    with pytest.raises(BrokenArchive, match=message):
        idx_array(content, "train-labels", 1)


def test_a_file_of_mnist_without_an_image_is_named():
    """Its shape 0 × 2³² − 1 × 2³² − 1 matches its number of bytes, yet it is not a valid array."""
    with pytest.raises(BrokenArchive, match="does not contain an array"):
        idx_array(b"\0\0\x08\x03" + b"\0" * 4 + b"\xff" * 8, "train-images", 3)

"""The real data sets, and the frozen test sets: all of the course's results are about the same sentences.

    COURSE_DATA=… python tests/datasets/test_frozen.py

prints the current hashes, for a set that was changed on purpose.
"""

import shutil

import pytest

from course_lib import datasets
from course_lib.datasets import (
    at_most,
    fingerprint,
    list_datasets,
    load_images,
    load_labelled,
    load_pairs,
    load_text,
    load_translation,
)
from course_lib.text.preparation import clean

FROZEN = {
    ("spa-eng", None): "90825cf90a95d70f201c99e0e6c714e349ad73c93097ae2088bbff3059492880",
    ("spa-eng", 8): "e42e67f3f48391155375e197db1fc5415340677ea35332acfdda4f5d0f9c7bb1",
    ("fra-eng", None): "0a377f264f988dabee5ab84be5cafa36eeb5ca79476109a1f84ed7eeea30e84f",
    ("fra-eng", 8): "46ffbcccb51a6b7e962525a850877df1a096b5f46d0aaff53af2527531290d83",
    ("multi30k", None): "084b8c01ac823457eb2e8e60488dac39abbe5d8fe8b3c2f74865e2ff0f2b7ebe",
    ("grammar", None): "cf3ab0933eedef6954337c78a16bf44ec6bbc1f13ab0f0f66e8cdbe78e4838c8",
}
"""`fingerprint` of the test pairs by name and `max_words`."""


def _case(name: str, max_words: int | None):
    marks = [pytest.mark.real_data] if list_datasets()[name].file else []
    return pytest.param(name, max_words, marks=marks, id=f"{name}-{max_words}")


@pytest.mark.parametrize(("name", "max_words"), [_case(*key) for key in FROZEN])
def test_test_sentences_are_the_frozen_ones(name: str, max_words: int | None) -> None:
    data = load_translation(name, max_words=max_words)
    assert fingerprint(data.test) == FROZEN[name, max_words]


def test_every_set_is_frozen() -> None:
    assert {name for name, _ in FROZEN} == {name for name, entry in list_datasets().items() if entry.target}


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "pairs", "short", "member"),
    [
        ("spa-eng", 118_964, 93_610, ("Go.", "Ve.")),
        ("fra-eng", 167_130, 127_422, ("Run!", "Cours !")),
    ],
)
def test_real_pairs(name: str, pairs: int, short: int, member: tuple[str, str]) -> None:
    loaded = load_pairs(name)
    assert len(loaded) == pairs and member in loaded
    assert len(at_most(8, loaded)) == short
    for sentence in (sentence for pair in loaded for sentence in pair):
        assert sentence and sentence == " ".join(sentence.split()) and sentence.isprintable()
    loaded.clear()
    assert load_pairs(name)  # what a caller does to its list is its own affair


@pytest.mark.real_data
def test_translation_data() -> None:
    data = load_translation("spa-eng", max_words=8)
    assert (data.name, data.source, data.target, data.max_words) == ("spa-eng", "English", "Spanish", 8)
    assert (len(data.test), len(data.validation)) == (2000, 1000)
    assert len(data.train) + len(data.left_out) == 93_610 - 3000
    assert len(data.left_out) < 1000
    assert all(len(sentence.split()) <= 8 for pair in data.train + data.test for sentence in pair)
    small = load_translation("spa-eng", max_words=8, test=20, validation=10)
    assert small.test == data.test[:20]


@pytest.mark.real_data
def test_d2l_reads_the_same_text(tmp_path) -> None:
    """d2l checks the archive by its SHA-1 and returns the text that `load_pairs` cleans."""
    pytest.importorskip("d2l", reason="d2l is not installed")
    from course_lib.pretrained.torchvision_ops import import_torchvision

    import_torchvision()
    from d2l import torch as d2l

    shutil.copy(datasets.locate("fra-eng"), tmp_path)
    text = d2l.MTFraEng._download(type("At", (), {"root": str(tmp_path)})())
    rows = [line.split("\t") for line in text.removesuffix("\n").split("\n")]
    assert [(clean(english), clean(french)) for english, french in rows] == load_pairs("fra-eng")


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("load", "name", "sizes"),
    [
        (load_text, "tinyshakespeare", (1_003_854, 111_540, 0)),
        (load_text, "timemachine", (161_081, 8_949, 8_949)),
        (load_text, "wikitext-2", (10_780_437, 1_120_192, 1_255_018)),
        (load_labelled, "sst2", (6916, 872, 1821)),
        (load_images, "mnist", (54_004, 5_996, 10_000)),
        (load_images, "cifar10", (45_000, 5_000, 10_000)),
    ],
)
def test_sizes_of_the_real_sets(load, name, sizes) -> None:
    data = load(name)
    assert (len(data.train), len(data.validation), len(data.test)) == sizes


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("load", "name", "counts"),
    [
        (load_labelled, "sst2", [912, 909]),
        (load_images, "mnist", [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]),
        (load_images, "cifar10", [1000] * 10),
    ],
)
def test_labels_of_the_real_test_sets(load, name, counts) -> None:
    labels = list(load(name).test.labels)
    assert [labels.count(label) for label in range(len(counts))] == counts


if __name__ == "__main__":
    for name, max_words in FROZEN:
        print(
            f'    ("{name}", {max_words}): "{fingerprint(load_translation(name, max_words=max_words).test)}",'
        )

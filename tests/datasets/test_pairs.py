"""Sentence pairs: cleaning, the limit on words, and the contents of the real sets."""

import time

import pytest

from course_lib import datasets
from course_lib.datasets import at_most, load_pairs, load_translation
from course_lib.datasets.pairs import clean


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Cours\u202f!", "Cours !"),
        ("Va\u00a0!", "Va !"),
        ("Quoi\u2009?", "Quoi ?"),
        ("  Hola,  amigo. \r", "Hola, amigo."),
        ("cafe\u0301", "caf\u00e9"),
        ("zero\u200bwidth, soft\u00adhyphen", "zerowidth, softhyphen"),
        ("«Sí», dijo.", "«Sí», dijo."),
    ],
)
def test_clean(raw: str, expected: str) -> None:
    assert clean(raw) == expected
    assert clean(expected) == expected


def test_at_most_counts_both_sides() -> None:
    short, long_source, long_target = ("a b", "c d"), ("a b c", "d"), ("a", "b c d")
    assert at_most(2, [short, long_source, long_target]) == [short]
    assert at_most(3, [short, long_source, long_target]) == [short, long_source, long_target]
    with pytest.raises(ValueError, match="max_words=0"):
        at_most(0, [short])


def test_embedded_set() -> None:
    loaded = load_pairs("grammar")
    assert len(loaded) == len(set(loaded)) >= 90_000
    assert at_most(8, loaded) == loaded
    assert all(clean(sentence) == sentence for pair in loaded for sentence in pair)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "pairs", "short"), [("spa-eng", 118_964, 93_610), ("fra-eng", 167_130, 127_422)]
)
def test_real_sets(name: str, pairs: int, short: int) -> None:
    loaded = load_pairs(name)
    assert len(loaded) == pairs
    assert len(at_most(8, loaded)) == short
    for sentence in (sentence for pair in loaded for sentence in pair):
        assert sentence and sentence == " ".join(sentence.split()) and sentence.isprintable()


@pytest.mark.real_data
def test_real_sentences() -> None:
    spanish = load_pairs("spa-eng")
    assert spanish[0] == ("Go.", "Ve.")
    assert ("Run!", "Cours !") in load_pairs("fra-eng")
    spanish.clear()
    assert load_pairs("spa-eng")  # what a caller does to its list is its own affair


@pytest.mark.real_data
def test_translation_data() -> None:
    start = time.process_time()
    data = load_translation("spa-eng", max_words=8)
    assert time.process_time() - start < 10  # measured: about 2 s
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
    import shutil

    from course_lib.pretrained.torchvision_ops import import_torchvision

    import_torchvision()
    from d2l import torch as d2l

    shutil.copy(datasets.locate("fra-eng"), tmp_path)
    text = d2l.MTFraEng._download(type("At", (), {"root": str(tmp_path)})())
    rows = [line.split("\t") for line in text.removesuffix("\n").split("\n")]
    assert [(clean(english), clean(french)) for english, french in rows] == load_pairs("fra-eng")

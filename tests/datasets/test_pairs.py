"""Sentence pairs: cleaning, and the limit on words."""

import pytest

from course_lib.datasets import at_most, load_pairs
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

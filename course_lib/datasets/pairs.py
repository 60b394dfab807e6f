"""From a data set's name to clean sentence pairs, divided for training, validation and test."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from course_lib.datasets.archives import read_member
from course_lib.datasets.places import locate
from course_lib.datasets.sets import find_set
from course_lib.datasets.splits import Pair, split_pairs

_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u00ad\ufeff"))  # zero-width blank, soft hyphen, byte-order mark


@dataclass(frozen=True, kw_only=True)
class TranslationData:
    """Sentence pairs (source, target) for training, validation and test.

    max_words: the most words that a sentence has, or None where that is not limited.
    left_out: the pairs that share a sentence with a held-out one, and so are in none of the three.
    """

    name: str
    source: str
    target: str
    max_words: int | None
    train: list[Pair]
    validation: list[Pair]
    test: list[Pair]
    left_out: list[Pair]


def load_translation(
    name: str, *, max_words: int | None = None, test: int = 2000, validation: int = 1000
) -> TranslationData:
    """The named set, without the pairs in which a sentence has more than `max_words` words, divided in three.

    Each `max_words` gives a division of its own: a model is tested with the one that it was trained with.
    Raises ValueError for an unknown name or too few pairs; otherwise as `locate` does.
    """
    entry, pairs = find_set(name), load_pairs(name)
    if max_words is not None:
        pairs = at_most(max_words, pairs)
    splits = split_pairs(pairs, test=test, validation=validation)
    return TranslationData(
        name=name,
        source=entry.source,
        target=entry.target,
        max_words=max_words,
        train=splits.train,
        validation=splits.validation,
        test=splits.test,
        left_out=splits.left_out,
    )


def load_pairs(name: str) -> list[Pair]:
    """All pairs of the named set as cleaned text, in the order of the file, repetitions included.

    Raises as `load_translation` does.
    """
    entry, path = find_set(name), locate(name)
    if not entry.file:
        from course_lib import grammar

        return list(grammar.pairs())
    changed = path.stat()
    return list(_read(path, entry.member, changed.st_mtime_ns, changed.st_size))


def at_most(words: int, pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs whose two sentences each have at most `words` words, that is parts between blanks."""
    if words < 1:
        raise ValueError(f"max_words={words} must be at least 1")
    return [pair for pair in pairs if all(len(sentence.split()) <= words for sentence in pair)]


def clean(sentence: str) -> str:
    """The sentence in Unicode form NFC, without invisible characters, every gap one plain blank."""
    return " ".join(unicodedata.normalize("NFC", sentence).translate(_INVISIBLE).split())


@lru_cache(maxsize=4)
def _read(path: Path, member: str, changed_ns: int, size: int) -> tuple[Pair, ...]:
    """The pairs of a checked file; its time and size are arguments so that a replaced file is read anew."""
    lines = read_member(path, member).decode("utf-8-sig").removesuffix("\n").split("\n")
    pairs = (line.split("\t") for line in lines)
    return tuple((clean(source), clean(target)) for source, target in pairs)

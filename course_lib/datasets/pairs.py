"""From a data set's name to clean sentence pairs, divided for training, validation and test."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from course_lib.datasets.archives import BrokenArchive, read_member, unpacked
from course_lib.datasets.places import locate, locate_file
from course_lib.datasets.sets import DataSet, find_set
from course_lib.datasets.splits import Pair, Splits, normalise, split_pairs

_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u00ad\ufeff"))  # zero-width blank, soft hyphen, byte-order mark

NOT_PAIRS = {
    "text": "a text, and not a set of sentence pairs: use load_text",
    "images": "a set of images, and not of sentence pairs: use load_images",
    "labelled": "a set of labelled sentences, and not of sentence pairs: use load_labelled",
}


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
    A set that its publishers have divided (multi30k) stays as they did it, whatever `test` and `validation`.
    Raises ValueError for an unknown name, a text or too few pairs; otherwise as `locate` does.
    """
    entry = find_set(name)
    if entry.target and entry.parts:
        splits = published(*(short(max_words, pairs) for pairs in _read_parts(entry)))
    else:
        splits = split_pairs(short(max_words, load_pairs(name)), test=test, validation=validation)
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
    entry = find_set(name)
    if entry.kind != "pairs":
        raise ValueError(f"{name!r} is {NOT_PAIRS[entry.kind]}")
    if entry.parts:
        return [pair for part in _read_parts(entry) for pair in part]
    path = locate(name)
    if not entry.file:
        from course_lib import grammar

        return list(grammar.pairs())
    changed = path.stat()
    return list(_read(path, entry.member, changed.st_mtime_ns, changed.st_size))


def published(train: list[Pair], validation: list[Pair], test: list[Pair]) -> Splits:
    """The publishers' division, without the training pairs that share a sentence with a held-out one."""
    held_out = {(side, normalise(pair[side])) for pair in (*validation, *test) for side in (0, 1)}
    shared = [any((side, normalise(pair[side])) in held_out for side in (0, 1)) for pair in train]
    apart = [
        [pair for pair, out in zip(train, shared, strict=True) if out is wanted] for wanted in (False, True)
    ]
    return Splits(apart[0], validation, test, left_out=apart[1])


def short(max_words: int | None, pairs: list[Pair]) -> list[Pair]:
    return pairs if max_words is None else at_most(max_words, pairs)


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


def _read_parts(entry: DataSet) -> list[list[Pair]]:
    """The pairs for training, validation and test of a set whose languages lie in files of their own."""
    texts = [unpacked(locate_file(part)).decode("utf-8").removesuffix("\n") for part in entry.parts]
    lines = [[clean(line) for line in text.split("\n")] for text in texts]
    for part, source, target in zip(entry.parts[1::2], lines[::2], lines[1::2], strict=True):
        if len(source) != len(target):
            raise BrokenArchive(f"{part.file} has {len(target):,} translations of {len(source):,} sentences")
    return [list(zip(*sides, strict=True)) for sides in zip(lines[::2], lines[1::2], strict=True)]

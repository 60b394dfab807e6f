"""Error analysis: sorts wrong translations by kind of error, with a few rules on their words."""

import os
import re
from collections.abc import Container, Sequence

from course_lib.text.unicode_text import refuse_text

STEM = 3  # words that share their first 3 letters count as forms of one word
KINDS = (
    "a word not in the training set",
    "the order of the words",
    "words missing",
    "words too many",
    "an ending: agreement, tense, person",
    "another word",
)


def plain_words(text: str) -> list[str]:
    """The words of a sentence in lower case, without punctuation."""
    return re.findall(r"\w+", text.lower())


def error_kind(candidate: Sequence[str], reference: Sequence[str], known: Container[str]) -> str:
    """The kind of error in a translation: the first of `KINDS` that applies.

    known: the words of the training set. Raises ValueError if candidate and reference are equal, and
    for a text that is not split into words.

    >>> error_kind("the sat cat".split(), "the cat sat".split(), known={"the", "cat", "sat"})
    'the order of the words'
    """
    refuse_text(candidate=candidate, reference=reference)
    if candidate == reference:
        raise ValueError(f"no error: both are {' '.join(reference)!r}")
    if any(word not in known for word in candidate):
        return KINDS[0]
    if sorted(candidate) == sorted(reference):
        return KINDS[1]
    if len(candidate) != len(reference):
        return KINDS[2] if len(candidate) < len(reference) else KINDS[3]
    differing = ((a, b) for a, b in zip(candidate, reference, strict=True) if a != b)
    same_stems = all(len(os.path.commonprefix([a, b])) >= STEM for a, b in differing)
    return KINDS[4] if same_stems else KINDS[5]


def sort_errors(
    candidates: Sequence[str], references: Sequence[str], known: Container[str]
) -> dict[str, list[int]]:
    """Group the wrong sentences by kind of error: their indices for each kind, most frequent kind first.

    Raises ValueError for a single text and for unequal numbers of sentences.

    >>> known = {"a", "the", "cat", "dog", "sat"}
    >>> sort_errors(["The cat.", "A dog sat."], ["The cat.", "A dog."], known)
    {'words too many': [1]}
    """
    refuse_text(candidates=candidates, references=references)
    found: dict[str, list[int]] = {}
    for i, pair in enumerate(zip(candidates, references, strict=True)):
        candidate, reference = map(plain_words, pair)
        if candidate != reference:
            found.setdefault(error_kind(candidate, reference, known), []).append(i)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))

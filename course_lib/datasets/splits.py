"""Train/validation/test split grouped by sentence: no test sentence occurs in training, in either language.

Pairs that share a sentence must stay together, and so must the pairs that share a sentence with those: "Go."
has several translations, and each of these translates other sentences. So the pairs form a graph, and we
split its connected components, the *groups*. Sentences that differ only in case and punctuation count as the
same.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from course_lib.text.unicode_text import refuse_texts

Pair = tuple[str, str]

MOST_PAIRS = 50
"""Groups with more pairs than this always go to training, so that few pairs are left out."""

_NOT_A_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Splits:
    """Sentence pairs split into training, validation and test sets.

    left_out: pairs that share a sentence with a held-out pair, and so are in none of the three.
    """

    train: list[Pair]
    validation: list[Pair]
    test: list[Pair]
    left_out: list[Pair]


def normalize(sentence: str) -> str:
    """Text normalization: lowercase words and numbers, separated by single spaces.

    A sentence without words or numbers is returned unchanged, so that "?" and "!" differ.
    """
    return _NOT_A_WORD.sub(" ", sentence.lower()).strip() or sentence


def pair_id(pair: Pair) -> str:
    """Key of a pair: both normalized sentences, separated by a tab."""
    return "\t".join(map(normalize, pair))


def fingerprint(pairs: Iterable[Pair]) -> str:
    """Fingerprint of a set of pairs: the SHA-256 of their sorted keys, independent of their order.

    >>> fingerprint([("Go.", "Ve."), ("Run.", "Corre.")]) == fingerprint([("run", "corre"), ("go", "ve")])
    True
    """
    return _sha256("\n".join(sorted(map(pair_id, pairs))))


def split_pairs(pairs: Sequence[Pair], *, test: int = 2000, validation: int = 1000) -> Splits:
    """Train/validation/test split grouped by sentence: no sentence of either language is in two of the sets.

    The test set gets one pair from each of the first `test` groups, the validation set one from each of the
    next `validation` groups; the other pairs of those groups are left out, and everything else is training.
    So all held-out sentences are different. Exact duplicates are dropped, and groups of more than MOST_PAIRS
    pairs stay in training. Groups and pairs are sorted by the SHA-256 of their text: the order looks random,
    but depends neither on the order of the input nor on a seed.

    Raises ValueError if there are fewer groups than held-out pairs, and for texts in place of pairs.

    >>> pairs = [("Go.", "Ve."), ("Go!", "Vete."), ("Run.", "Corre."), ("Sit.", "Siéntate.")]
    >>> splits = split_pairs(pairs, test=1, validation=1)
    >>> splits.test, splits.left_out  # the pair that is left out shares "go" with the test pair
    ([('Go!', 'Vete.')], [('Go.', 'Ve.')])
    """
    if test < 0 or validation < 0:
        raise ValueError(f"test={test} and validation={validation}: neither can be negative")
    refuse_texts(pairs=pairs)
    ids = {pair: pair_id(pair) for pair in pairs}
    order = {pair: (_sha256(ids[pair]), pair) for pair in ids}
    groups = [group for group in connected_groups(ids) if len(group) <= MOST_PAIRS]
    if test + validation > len(groups):
        raise ValueError(
            f"test={test} and validation={validation} need {test + validation} groups of pairs that share no "
            f"sentence, but there are only {len(groups)}"
        )
    # By the smallest key of a group, not by the smallest hash: that would put large groups first.
    groups.sort(key=lambda group: order[min(group, key=ids.__getitem__)])
    chosen = [sorted(group, key=order.__getitem__) for group in groups[: test + validation]]
    held_out = [group[0] for group in chosen]
    left_out = [pair for group in chosen for pair in group[1:]]
    train = sorted(ids.keys() - set(held_out) - set(left_out), key=order.__getitem__)
    return Splits(train, held_out[test:], held_out[:test], left_out)


def connected_groups(ids: Mapping[Pair, str]) -> list[list[Pair]]:
    """Connected components: groups of pairs that are linked by shared sentences; ids: their `pair_id`."""
    holders: dict[tuple[int, str], list[Pair]] = {}  # (side, sentence) -> the pairs that contain it
    for pair, text in ids.items():
        for sentence in enumerate(text.split("\t")):
            holders.setdefault(sentence, []).append(pair)
    groups, seen = [], set()
    for first in ids:
        if first in seen:
            continue
        seen.add(first)
        groups.append(group := [first])
        for pair in group:  # the group grows during the loop
            for sentence in enumerate(ids[pair].split("\t")):
                new = [other for other in holders.pop(sentence, ()) if other not in seen]
                seen.update(new)
                group += new
    return groups


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

"""Dividing sentence pairs so that a test sentence was never trained on, in either language.

Pairs that share a sentence belong together, and their other pairs with them: "Go." has several translations,
and each of these translates other sentences. So the pairs are a graph, and its connected components, the
*groups*, are what is divided. Sentences that differ only in capitals and punctuation count as the same.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Pair = tuple[str, str]

MOST_PAIRS = 50
"""A group with more pairs than this always goes to training, so that few pairs are left out."""

_NOT_A_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Splits:
    """Pairs for training, validation and test.

    left_out: the pairs that share a sentence with a held-out one, and so are in none of the three.
    """

    train: list[Pair]
    validation: list[Pair]
    test: list[Pair]
    left_out: list[Pair]


def normalise(sentence: str) -> str:
    """What is compared: lower-case words and numbers, one blank between them.

    A sentence without any stays as it is, so that "?" and "!" are different.
    """
    return _NOT_A_WORD.sub(" ", sentence.lower()).strip() or sentence


def pair_id(pair: Pair) -> str:
    """Both sentences as they are compared, a TAB between them."""
    return "\t".join(map(normalise, pair))


def fingerprint(pairs: Iterable[Pair]) -> str:
    """The SHA-256 of the sorted pair ids: the same for the same sentences in any order."""
    return _sha256("\n".join(sorted(map(pair_id, pairs))))


def split_pairs(pairs: Sequence[Pair], *, test: int = 2000, validation: int = 1000) -> Splits:
    """Divide the pairs in three, so that no sentence of either language is on two sides.

    The test set takes one pair from each of the first `test` groups, the validation set one from each of the
    next `validation` groups; the other pairs of those groups are left out; all else is training. So the
    held-out sentences are all different. Exact duplicates are dropped, and groups of more than MOST_PAIRS
    pairs stay in training. Groups and pairs are ordered by SHA-256 sums of their own text: this looks
    shuffled, and depends neither on the order of the input nor on a seed.

    Raises ValueError where there are fewer groups than held-out pairs.
    """
    if test < 0 or validation < 0:
        raise ValueError(f"test={test} and validation={validation} must not be negative")
    ids = {pair: pair_id(pair) for pair in pairs}
    order = {pair: (_sha256(ids[pair]), pair) for pair in ids}
    groups = [group for group in connected_groups(ids) if len(group) <= MOST_PAIRS]
    if test + validation > len(groups):
        raise ValueError(
            f"test={test} and validation={validation} need {test + validation} groups of pairs that share no "
            f"sentence, but there are {len(groups)}"
        )
    # By the smallest id of a group, not by the smallest sum: with the latter, large groups would come first.
    groups.sort(key=lambda group: order[min(group, key=ids.__getitem__)])
    chosen = [sorted(group, key=order.__getitem__) for group in groups[: test + validation]]
    held_out = [group[0] for group in chosen]
    left_out = [pair for group in chosen for pair in group[1:]]
    train = sorted(ids.keys() - set(held_out) - set(left_out), key=order.__getitem__)
    return Splits(train, held_out[test:], held_out[:test], left_out)


def connected_groups(ids: Mapping[Pair, str]) -> list[list[Pair]]:
    """The groups of pairs that are connected through common sentences.

    ids: the `pair_id` of each pair.
    """
    holders: dict[tuple[int, str], list[Pair]] = {}  # (side, sentence) to the pairs that have it
    for pair, text in ids.items():
        for sentence in enumerate(text.split("\t")):
            holders.setdefault(sentence, []).append(pair)
    groups, seen = [], set()
    for first in ids:
        if first in seen:
            continue
        seen.add(first)
        groups.append(group := [first])
        for pair in group:  # the group grows while it is walked
            for sentence in enumerate(ids[pair].split("\t")):
                new = [other for other in holders.pop(sentence, ()) if other not in seen]
                seen.update(new)
                group += new
    return groups


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

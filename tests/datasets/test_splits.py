"""The split grouped by sentence: no held-out sentence is in training, and the split is reproducible."""

import hashlib
import random
from itertools import pairwise

import pytest

from course_lib.datasets import Pair, Splits, fingerprint, split_pairs, splits
from course_lib.datasets.splits import connected_groups, normalize, pair_id


def random_pairs(seed: int) -> list[Pair]:
    """Pairs from a few different sentences, with varying case and punctuation, and with duplicates."""
    rng = random.Random(seed)
    sentences = rng.randint(5, 80)

    def sentence(word: str) -> str:
        number = rng.randrange(sentences)
        return rng.choice([f"{word} {number}.", f"{word.title()}, {number}!", f"¿{word.upper()} {number}?"])

    return [(sentence("go"), sentence("ve")) for _ in range(rng.randint(1, 120))]


def neighbours(pairs: list[Pair]) -> list[set[Pair]]:
    """Connected components by slow breadth-first search."""
    rest, groups = set(pairs), []
    while rest:
        group, border = set(), {rest.pop()}
        while border:
            group |= border
            sides = [{normalize(pair[side]) for pair in border} for side in (0, 1)]
            border = {pair for pair in rest if any(normalize(pair[side]) in sides[side] for side in (0, 1))}
            rest -= border
        groups.append(group)
    return groups


def parts(split: Splits) -> list[list[Pair]]:
    return [split.train, split.validation, split.test]


@pytest.mark.parametrize("seed", range(40))
def test_properties(seed: int) -> None:
    pairs = random_pairs(seed)
    groups = neighbours(pairs)
    found = connected_groups({pair: pair_id(pair) for pair in pairs})
    assert sorted(map(sorted, found)) == sorted(map(sorted, groups))
    small = sum(len(group) <= splits.MOST_PAIRS for group in groups)
    test, validation = small // 2, small // 3
    split = split_pairs(pairs, test=test, validation=validation)

    assert (len(split.test), len(split.validation)) == (test, validation)
    everything = sum(parts(split), split.left_out)
    assert sorted(everything) == sorted(set(pairs))  # each pair in one place; repetitions dropped

    for side in (0, 1):
        seen = [{normalize(pair[side]) for pair in part} for part in parts(split)]
        assert not seen[0] & seen[1] and not seen[0] & seen[2] and not seen[1] & seen[2]
        assert len(seen[1]) == validation and len(seen[2]) == test  # all different

    held_out = set(split.test + split.validation)
    for group in groups:
        assert len(group & held_out) <= 1
        assert group <= set(split.train) or group <= held_out | set(split.left_out)

    shuffled = pairs + random.Random(seed).sample(pairs, len(pairs) // 2)
    random.Random(seed).shuffle(shuffled)
    assert split_pairs(shuffled, test=test, validation=validation) == split


def test_long_chain_is_one_group() -> None:
    chain = [
        (f"s{i}", f"t{j}")
        for i, j in [(0, 0)] + [p for k in range(3000) for p in ((k + 1, k), (k + 1, k + 1))]
    ]
    random.Random(0).shuffle(chain)
    assert len(connected_groups({pair: pair_id(pair) for pair in chain})) == 1


def test_large_group_stays_in_training() -> None:
    large = [("Go.", f"ve {i}") for i in range(splits.MOST_PAIRS + 1)]
    single = [(f"one {i}", f"uno {i}") for i in range(4)]
    split = split_pairs(large + single, test=2, validation=2)
    assert sorted(split.train) == sorted(large)
    assert sorted(split.test + split.validation) == single
    split = split_pairs(large[1:] + single, test=3, validation=2)
    assert len(split.left_out) == splits.MOST_PAIRS - 1


def test_sizes_of_groups_do_not_decide() -> None:
    """A group of many pairs is as likely to be held out as one of few."""
    pairs = [(f"few {i}", f"a {i}") for i in range(500)]
    pairs += [(f"many {i}", f"{i} {k}") for i in range(500) for k in range(20)]
    many = sum(pair[0].startswith("many") for pair in split_pairs(pairs, test=500, validation=0).test)
    assert 200 < many < 300


def test_another_pair_changes_little() -> None:
    pairs = [(f"go {i}", f"ve {i}") for i in range(300)]
    before = split_pairs(pairs, test=50, validation=50)
    after = split_pairs([*pairs, ("new", "nuevo")], test=50, validation=50)
    assert len(set(before.test) & set(after.test)) >= 49


def test_training_order_looks_shuffled() -> None:
    pairs = [(f"go {i:04}", f"ve {i}") for i in range(1000)]
    train = split_pairs(pairs, test=0, validation=0).train
    rising = sum(a < b for a, b in pairwise(train))
    assert 400 < rising < 600


def test_the_split_and_its_order_are_the_same_in_every_process() -> None:
    pairs = [(f"go {i % 70}", f"ve {i % 90}") for i in range(100)]
    found = hashlib.sha256(repr(split_pairs(pairs, test=5, validation=5)).encode()).hexdigest()
    assert found == "4cd656be06fdf2fd125e0f15143cdbf6e14b023ff830ce73ced49333d807d79e"


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("¿Dónde está?", "dónde está", True),
        ("It's OK.", "it’s ok", True),
        ("Élan vital!", "ÉLAN — VITAL", True),
        ("Va !", "va!", True),
        ("a_b", "A b", True),
        ("esta", "está", False),
        ("3 o'clock", "4 o'clock", False),
        ("?", "!", False),
    ],
)
def test_normalize(a: str, b: str, same: bool) -> None:
    assert (normalize(a) == normalize(b)) is same


def test_fingerprint() -> None:
    a, b = ("Go.", "Ve."), ("Hi!", "¡Hola!")
    assert fingerprint([a, b]) == fingerprint([b, ("go", "ve")])
    assert fingerprint([a, b]) != fingerprint([a])
    assert fingerprint([a]) == "a5809543c72228020028e985849e36817705588341f4337994a715f9f3653848"


def test_refusals() -> None:
    pairs = [("a", "b"), ("a", "c"), ("d", "e")]
    with pytest.raises(ValueError, match="test=2 and validation=1 need 3 groups .* there are only 2"):
        split_pairs(pairs, test=2, validation=1)
    with pytest.raises(ValueError, match="test=-1 .* neither can be negative"):
        split_pairs(pairs, test=-1, validation=0)
    assert split_pairs([], test=0, validation=0) == Splits([], [], [], [])

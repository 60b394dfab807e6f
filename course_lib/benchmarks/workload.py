"""Random batches whose sentence lengths follow those of spa-eng (at most 8 words, 6,000 subwords)."""

import random
from dataclasses import dataclass

from torch import Tensor

from course_lib.datasets.batching import BucketBatchSampler, pad
from course_lib.text.tokenizers import BOS, EOS, PAD

Ids = tuple[list[int], list[int]]
Batch = tuple[Tensor, Tensor]

# of 10,000 sentences, how many have 2, 3, 4, … subwords (measured on the training split)
SOURCE_LENGTHS = (2, 71, 529, 1213, 1755, 1877, 1715, 1331, 749, 383, 185, 89, 47, 26, 15, 7, 2, 2, 2)
# of 10,000 targets, how many are longer than their source by −4, −3, … subwords
DIFFERENCES = (95, 281, 848, 2020, 2782, 2113, 1112, 476, 181, 92)
FIRST_ID = 5  # after the special tokens


@dataclass(frozen=True)
class Sizes:
    """Sizes of the models and batches that are compared."""

    vocab: int = 6000
    d_model: int = 256
    heads: int = 4
    d_ff: int = 1024
    layers: int = 2
    batch: int = 64
    max_tokens: int = 128


SIZES = Sizes()
TINY = Sizes(vocab=50, d_model=16, heads=2, d_ff=24, layers=2, batch=4, max_tokens=64)


def sentences(number: int, vocab: int, seed: int = 0) -> list[Ids]:
    """Pairs of source ids (… EOS) and target ids (BOS … EOS); the ids follow Zipf's law."""
    rng = random.Random(seed)
    lengths = rng.choices(range(2, 2 + len(SOURCE_LENGTHS)), SOURCE_LENGTHS, k=number)
    differences = rng.choices(range(-4, len(DIFFERENCES) - 4), DIFFERENCES, k=number)
    return [
        ([*zipf(n, vocab, rng), EOS], [BOS, *zipf(max(2, n + more), vocab, rng), EOS])
        for n, more in zip(lengths, differences, strict=True)
    ]


def zipf(number: int, vocab: int, rng: random.Random) -> list[int]:
    """Random ids; the n-th most frequent has a probability of roughly 1/n, up to a factor."""
    kinds = vocab - FIRST_ID
    return [FIRST_ID + min(kinds - 1, int((kinds + 1) ** rng.random()) - 1) for _ in range(number)]


def batches(pairs: list[Ids], batch: int, device: str, bucketed: bool = False) -> list[Batch]:
    """Padded batches of the pairs, in order or bucketed by length."""
    if bucketed:
        numbers = BucketBatchSampler([(len(t), len(s)) for s, t in pairs], batch).batches(0)
    else:
        numbers = [list(range(i, min(i + batch, len(pairs)))) for i in range(0, len(pairs), batch)]
    return [tuple(pad([pairs[i][side] for i in rows]).to(device) for side in (0, 1)) for rows in numbers]


def real_positions(batch: Batch) -> int:
    """The number of target tokens predicted in a batch, without padding."""
    return int((batch[1][:, 1:] != PAD).sum())

"""The words of a real data set: how often they occur, how many are new, how long they are (chapter 6d).

    python -m course_lib.experiments real_words

counts the Spanish words of the training sentences of spa-eng (at most 8 words each), the words that its
held-out sentences add, and the tokens of those sentences with more and more merges of byte-pair encoding.
It stores numbers and merges, no sentences, in results/real_words.json; `stored()` reads them.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from statistics import fmean

from course_lib.datasets import Pair, TranslationData, load_translation
from course_lib.experiments import storage
from course_lib.text.bpe import ByteBPE, split_words
from course_lib.text.error_analysis import plain_words
from course_lib.text.fast_bpe import merges_of, train_with_tokenizers
from course_lib.utils.files import atomic_path

STORED = storage.results_of(__file__) / "real_words.json"
DATA, MAX_WORDS, SPANISH = "spa-eng", 8, 1
RANKS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 3000, 5000, 10_000, 20_000)
NUMBERS = (1000, 3000, 10_000, 30_000, None)  # of training pairs; None: all
MERGES = (0, 100, 300, 1000, 3000)
MEASURED = 500  # sentences whose tokens are counted


@dataclass(frozen=True, kw_only=True)
class RealWords:
    """Counts of words and tokens in one language of a data set.

    counts: occurrences of the words in training, by rank (1 is the most frequent), for some ranks.
    once: fraction of the distinct words that occur once. new: for a number of training pairs, its distinct
    words, and the fraction of the held-out sentences with a word that is not among them.
    merges: of byte-pair encoding, learned from both languages. lengths: for a number of these merges, the
    mean tokens of a held-out sentence. words, characters: the same for words and punctuation marks, and for
    characters.
    """

    counts: dict[int, int]
    once: float
    new: dict[int, tuple[int, float]]
    merges: tuple[tuple[int, int], ...]
    lengths: dict[int, float]
    words: float
    characters: float


def measure(data: TranslationData) -> RealWords:
    """Count the words and the tokens of a data set."""
    frequencies = word_counts(pair[SPANISH] for pair in data.train)
    held_out = [pair[SPANISH] for pair in data.validation + data.test]
    some = held_out[:MEASURED]
    merges = merges_of(train_with_tokenizers((text for pair in data.train for text in pair), MERGES[-1]))
    tokenizers = {number: ByteBPE(merges[:number]) for number in MERGES}
    return RealWords(
        counts={rank: frequencies[rank - 1] for rank in RANKS if rank <= len(frequencies)},
        once=round(frequencies.count(1) / len(frequencies), 4),
        new=new_words(data.train, held_out),
        merges=tuple(merges),
        lengths={n: round(fmean(len(one.encode(text)) for text in some), 3) for n, one in tokenizers.items()},
        words=round(fmean(len(split_words(text)) for text in some), 3),
        characters=round(fmean(map(len, some)), 3),
    )


def word_counts(texts: Iterable[str]) -> list[int]:
    """How often each word occurs, the most frequent word first."""
    return sorted(Counter(word for text in texts for word in plain_words(text)).values(), reverse=True)


def new_words(pairs: Sequence[Pair], held_out: Sequence[str]) -> dict[int, tuple[int, float]]:
    """For growing numbers of training pairs: distinct words, and the fraction of texts with a new one."""
    found = {}
    for some in (pairs[:number] for number in NUMBERS):
        known = {word for pair in some for word in plain_words(pair[SPANISH])}
        new = fmean(not known.issuperset(plain_words(text)) for text in held_out)
        found[len(some)] = len(known), round(new, 4)
    return found


@cache
def stored() -> RealWords:
    """The stored counts."""
    return storage.typed(RealWords, storage.read(STORED)["counted"])


def main() -> None:
    """Count, and store."""
    counted = asdict(measure(load_translation(DATA, max_words=MAX_WORDS)))
    head = {"command": "python -m course_lib.experiments real_words", "data": DATA, "max_words": MAX_WORDS}
    with atomic_path(STORED) as temporary:
        temporary.write_text(json.dumps({**head, "counted": counted}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Kneser–Ney model: n-gram counts that back off to shorter contexts."""

import math
from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from course_lib.text.bleu import ngrams
from course_lib.text.unicode_text import refuse_text


class KneserNey:
    """Interpolated Kneser–Ney model: the best-known way to count n-grams.

    ids: of the training text, at least n tokens. n: tokens of the longest n-grams; the model reads n − 1.
    vocab: number of different tokens. discount: between 0 and 1, subtracted from each count. What is
    subtracted goes to the model that reads one token less; the last one finds all tokens equally likely.
    A shorter n-gram counts once for each *different* token before it, however often it occurs.
    Raises ValueError for a number outside its range, and for a text that is too short or not in ids.
    Source: Chen and Goodman 1999, equations (20) and (23).

    >>> model = KneserNey([5, 6, 5, 7, 5, 6], n=2, vocab=4, discount=0.5)
    >>> model.probability([], 7)  # ends 1 of the 4 different pairs: (1 − 0.5 + 3 · 0.5 · 1/4) / 4
    0.21875
    >>> round(model.probability([5], 7), 4)  # 1 of 3 times after 5: (1 − 0.5 + 2 · 0.5 · 0.21875) / 3
    0.2396
    """

    def __init__(self, ids: Sequence[Any], n: int, vocab: int, discount: float = 0.75):
        refuse_text(ids=ids)
        if not 1 <= n <= len(ids):
            raise ValueError(f"n={n} must be 1 to {len(ids)}, the number of tokens of the text")
        if not (vocab >= 1 and 0 < discount < 1):
            raise ValueError(f"vocab={vocab} must be at least 1, and discount={discount} between 0 and 1")
        self.n, self.vocab, self.discount = n, vocab, discount
        counts = ngrams(ids, n)
        self.levels: list[tuple[Counter, Counter, Counter]] = []
        for _ in range(n):
            totals: Counter = Counter()  # tokens after each context
            kinds: Counter = Counter()  # different tokens after each context
            for gram, count in counts.items():
                totals[gram[:-1]] += count
                kinds[gram[:-1]] += 1
            self.levels.insert(0, (counts, totals, kinds))
            counts = Counter(gram[1:] for gram in counts)  # one for each different token before it

    def probability(self, context: Sequence[Any], token: Any) -> float:
        """Of `token` after the last tokens of `context`."""
        p = 1 / self.vocab
        for length, (counts, totals, kinds) in enumerate(self.levels[: len(context) + 1]):
            past = tuple(context[len(context) - length :])
            if past not in totals:
                break
            kept = max(counts[*past, token] - self.discount, 0)
            p = (kept + self.discount * kinds[past] * p) / totals[past]
        return p

    def loss(self, ids: Sequence[Any]) -> float:
        """Mean loss over a text, in nats per token; the first token has none."""
        places = range(1, len(ids))
        return -fmean(math.log(self.probability(ids[max(0, i - self.n + 1) : i], ids[i])) for i in places)

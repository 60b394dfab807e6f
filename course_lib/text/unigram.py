"""Unigram model: it knows only how often each token occurs."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from course_lib.text.unicode_text import refuse_text


def unigram_loss(ids: Sequence[int] | Int[Tensor, " n"], vocab: int, label_smoothing: float = 0.0) -> float:
    """Unigram loss, in nats: of a model that knows only the frequencies of the target tokens `ids`.

    It is the entropy of the frequencies after label smoothing, the lowest possible loss without context.

    >>> round(unigram_loss([5, 6, 7, 8], vocab=9), 4)  # four equally frequent tokens: ln 4
    1.3863
    """
    refuse_text(ids=ids)
    counted = torch.as_tensor(ids).flatten()
    if not len(counted):
        raise ValueError("there are no ids to count")
    counts = torch.bincount(counted, minlength=vocab).double()
    smoothed = (1 - label_smoothing) * counts / counts.sum() + label_smoothing / vocab
    return -float(torch.special.xlogy(smoothed, smoothed).sum())

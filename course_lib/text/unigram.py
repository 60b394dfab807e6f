"""Unigram model: it knows only how often each token occurs."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor


def unigram_loss(ids: Sequence[int] | Int[Tensor, " n"], vocab: int, label_smoothing: float = 0.0) -> float:
    """Unigram loss, in nats: of a model that knows only the frequencies of the target tokens `ids`.

    It is the entropy of the frequencies after label smoothing, the lowest possible loss without context.
    """
    counts = torch.bincount(torch.as_tensor(ids).flatten(), minlength=vocab).double()
    smoothed = (1 - label_smoothing) * counts / counts.sum() + label_smoothing / vocab
    return -torch.special.xlogy(smoothed, smoothed).sum().item()

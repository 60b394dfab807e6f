"""Sampling: next-token probabilities under temperature, top-k, top-p (nucleus) and min-p."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_lib.utils.ranges import check_whole


def next_token_probabilities(
    logits: Float[Tensor, "*batch vocab"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
) -> Float[Tensor, "*batch vocab"]:
    """Next-token probabilities: softmax of logits / temperature, truncated by top-k, top-p and min-p.

    temperature: 1 keeps the model's distribution, lower sharpens it, 0 keeps only the most likely token.
    The truncations are applied in the order of the arguments, each to the result of the one before.
    Raises ValueError for a negative or infinite temperature, and for a truncation outside its range.
    Source: the notes, temperature.

    >>> logits = torch.tensor([0.5, 0.3, 0.2]).log()
    >>> next_token_probabilities(logits, temperature=0)
    tensor([1., 0., 0.])
    >>> next_token_probabilities(logits, top_k=2)
    tensor([0.6250, 0.3750, 0.0000])
    """
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature={temperature} must be 0 or more, and finite")
    if temperature < torch.finfo(torch.float32).tiny:  # as good as 0, and what fp32 would round to 0
        probabilities = F.one_hot(logits.argmax(dim=-1), logits.shape[-1]).float()
    else:
        # shift the largest logit to 0 first, so that dividing by a small temperature cannot overflow
        logits = logits.float() - logits.float().amax(dim=-1, keepdim=True)
        probabilities = (logits / temperature).softmax(dim=-1)
    if top_k is not None:
        probabilities = keep_top_k(probabilities, top_k)
    if top_p is not None:
        probabilities = keep_top_p(probabilities, top_p)
    if min_p is not None:
        probabilities = keep_min_p(probabilities, min_p)
    return probabilities


def keep_top_k(probabilities: Float[Tensor, "*batch vocab"], k: int) -> Float[Tensor, "*batch vocab"]:
    """Top-k: keep only the k most likely tokens.

    Raises ValueError unless k is a positive whole number.
    Source: Fan et al. 2018, section 5.

    >>> keep_top_k(torch.tensor([0.5, 0.3, 0.2]), k=2)
    tensor([0.6250, 0.3750, 0.0000])
    """
    check_whole(1, top_k=k)
    values, tokens = probabilities.topk(min(k, probabilities.shape[-1]))
    return renormalize(torch.zeros_like(probabilities).scatter(-1, tokens, values))


def keep_top_p(probabilities: Float[Tensor, "*batch vocab"], p: float) -> Float[Tensor, "*batch vocab"]:
    """Top-p (nucleus): keep the most likely tokens until their probabilities sum to p or more; 1 keeps all.

    Raises ValueError for p outside (0, 1].
    Source: Holtzman et al. 2020, section 3.1.

    >>> keep_top_p(torch.tensor([0.5, 0.3, 0.2]), p=0.7)  # 0.5 is not enough, 0.5 + 0.3 is
    tensor([0.6250, 0.3750, 0.0000])
    """
    if not 0 < p <= 1:
        raise ValueError(f"top_p={p} is outside (0, 1]")
    if p == 1:  # a rounded sum can reach 1 too early
        return probabilities
    values, tokens = probabilities.sort(dim=-1, descending=True)
    likelier = F.pad(values.float().cumsum(dim=-1)[..., :-1], (1, 0))  # sum over the more likely tokens
    values = values.masked_fill(likelier >= p, 0.0)
    return renormalize(torch.zeros_like(probabilities).scatter(-1, tokens, values))


def keep_min_p(probabilities: Float[Tensor, "*batch vocab"], p: float) -> Float[Tensor, "*batch vocab"]:
    """Min-p: keep only the tokens with at least p times the probability of the most likely one.

    Raises ValueError for p outside [0, 1].
    Source: Nguyen et al. 2025, section 3.

    >>> keep_min_p(torch.tensor([0.5, 0.3, 0.2]), p=0.5)  # at least half of 0.5
    tensor([0.6250, 0.3750, 0.0000])
    """
    if not 0 <= p <= 1:
        raise ValueError(f"min_p={p} is outside [0, 1]")
    least = p * probabilities.amax(dim=-1, keepdim=True)
    return renormalize(probabilities.masked_fill(probabilities < least, 0.0))


def renormalize(kept: Float[Tensor, "*batch vocab"]) -> Float[Tensor, "*batch vocab"]:
    """Rescale the remaining probabilities so that they sum to 1."""
    return kept / kept.sum(dim=-1, keepdim=True)

"""From logits to the probabilities that the next token is drawn with: temperature, top-k, top-p, min-p."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def next_token_probabilities(
    logits: Float[Tensor, "*batch vocab"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
) -> Float[Tensor, "*batch vocab"]:
    """The softmax of logits / temperature, with the unlikely tokens left out by the cuts that are given.

    temperature: 1 is the model's own opinion, less sharpens it, 0 leaves the best token alone.
    The cuts are made in the order of the arguments, each on what the one before has left.
    Raises ValueError for a temperature below 0, and where a cut does.
    Source: the notes, temperature.
    """
    if temperature < 0:
        raise ValueError(f"temperature={temperature} is below 0")
    if temperature == 0:
        probabilities = F.one_hot(logits.argmax(dim=-1), logits.shape[-1]).float()
    else:
        # the best logit becomes 0 before the division, so that no small temperature overflows
        logits = logits.float() - logits.float().amax(dim=-1, keepdim=True)
        probabilities = (logits / temperature).softmax(dim=-1)
    for cut, limit in ((keep_top_k, top_k), (keep_top_p, top_p), (keep_min_p, min_p)):
        if limit is not None:
            probabilities = cut(probabilities, limit)
    return probabilities


def keep_top_k(probabilities: Float[Tensor, "*batch vocab"], k: int) -> Float[Tensor, "*batch vocab"]:
    """Only the k likeliest tokens; all where there are no more than k.

    Raises ValueError for k < 1.
    Source: Fan et al. 2018, section 5.
    """
    if k < 1:
        raise ValueError(f"top_k={k} leaves no token")
    values, tokens = probabilities.topk(min(k, probabilities.shape[-1]))
    return share_out(torch.zeros_like(probabilities).scatter(-1, tokens, values))


def keep_top_p(probabilities: Float[Tensor, "*batch vocab"], p: float) -> Float[Tensor, "*batch vocab"]:
    """The likeliest tokens until together they reach the probability p; the one that reaches it stays.

    Raises ValueError for p outside (0, 1].
    Source: Holtzman et al. 2020, section 3.1.
    """
    if not 0 < p <= 1:
        raise ValueError(f"top_p={p} is outside (0, 1]")
    values, tokens = probabilities.sort(dim=-1, descending=True)
    likelier = values.cumsum(dim=-1) - values  # what the tokens before it hold together
    values = values.masked_fill(likelier >= p, 0.0)
    return share_out(torch.zeros_like(probabilities).scatter(-1, tokens, values))


def keep_min_p(probabilities: Float[Tensor, "*batch vocab"], p: float) -> Float[Tensor, "*batch vocab"]:
    """Only tokens with at least p times the probability of the likeliest one.

    Raises ValueError for p outside [0, 1].
    Source: Nguyen et al. 2025, section 3.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"min_p={p} is outside [0, 1]")
    least = p * probabilities.amax(dim=-1, keepdim=True)
    return share_out(probabilities.masked_fill(probabilities < least, 0.0))


def share_out(kept: Float[Tensor, "*batch vocab"]) -> Float[Tensor, "*batch vocab"]:
    """What is left, in the same proportions, so that it sums to 1."""
    return kept / kept.sum(dim=-1, keepdim=True)

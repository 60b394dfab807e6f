"""From logits to the tokens that may be drawn: temperature with top-k, and top-p."""

import math

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake


def _top_k(logits: Tensor, temperature: float, k: int) -> Tensor:
    kept = logits >= logits.topk(k).values[-1]
    return (logits / temperature).masked_fill(~kept, -math.inf).softmax(dim=-1)


def _without(logits: Tensor, k: int, fill: float) -> Tensor:
    """The logits with all but the k largest replaced."""
    return logits.masked_fill(logits < logits.topk(k).values[-1], fill)


TOP_K = Exercise(
    id="07.top_k",
    reference=_top_k,
    inputs=(
        (torch.tensor([1.0, 3.0, 2.0]), 0.5, 2),
        (torch.tensor([0.2, -1.0, 2.5, 0.7, 1.6]), 2.0, 3),
        (torch.tensor([-2.0, -3.0, -5.0, -2.5]), 1.0, 2),
    ),
    mistakes=(
        mistake(
            "multiplies by the temperature",
            "A high temperature is to make the probabilities more even, so it has to shrink the logits: "
            "divide.",
            lambda logits, temperature, k: _top_k(logits, 1 / temperature, k),
        ),
        mistake(
            "is the same at every temperature",
            "Divide the logits by the temperature before the softmax. Afterwards it cancels out.",
            lambda logits, temperature, k: _top_k(logits, 1.0, k),
        ),
        mistake(
            "sets what is cut to 0 before the softmax",
            "A logit of 0 is not a probability of 0: e⁰ = 1. Only −∞ comes out of the softmax as 0.",
            lambda logits, temperature, k: _without(logits / temperature, k, 0.0).softmax(dim=-1),
        ),
        mistake(
            "does not sum to 1",
            "What is cut takes its probability with it. Divide the rest by its sum, or cut the logits before "
            "the softmax.",
            lambda logits, temperature, k: (
                (logits / temperature).softmax(-1) * (logits >= logits.topk(k).values[-1])
            ),
        ),
        mistake(
            "keeps one token too few",
            "The k-th largest logit stays too: compare with >=, not with >.",
            lambda logits, temperature, k: (logits / temperature)
            .masked_fill(logits <= logits.topk(k).values[-1], -math.inf)
            .softmax(dim=-1),
        ),
        mistake(
            "keeps the smallest",
            "The k tokens with the largest logits stay.",
            lambda logits, temperature, k: (logits / temperature)
            .masked_fill(logits > logits.topk(k, largest=False).values[-1], -math.inf)
            .softmax(dim=-1),
        ),
        mistake(
            "does not cut",
            "All but the k largest must get the probability 0.",
            lambda logits, temperature, k: (logits / temperature).softmax(-1),
        ),
        mistake(
            "returns k numbers only",
            "Which token is meant is told by the place: the answer is as long as the vocabulary, with zeros.",
            lambda logits, temperature, k: (logits.topk(k).values / temperature).softmax(-1),
        ),
    ),
)  # fmt: skip


def _nucleus(probabilities: Tensor, share: float, crossing: bool) -> Tensor:
    """Which tokens stay, and whether the one that reaches the share is among them."""
    ordered, places = probabilities.sort(descending=True)
    before = ordered.cumsum(0) - (ordered if crossing else 0)
    return torch.zeros_like(probabilities, dtype=torch.bool).scatter(0, places, before < share)


def _again(kept: Answer) -> Answer:
    """A function that makes what is kept sum to 1."""

    def probabilities(p: Tensor, share: float) -> Tensor:
        left = p * kept(p, share)
        return left / left.sum()

    return probabilities


def _in_order_of_size(p: Tensor, share: float) -> Tensor:
    ordered = p.sort(descending=True).values
    left = ordered * (ordered.cumsum(0) - ordered < share)
    return left / left.sum()


TOP_P = Exercise(
    id="07.top_p",
    reference=_again(lambda p, share: _nucleus(p, share, crossing=True)),
    inputs=(
        (torch.tensor([0.1, 0.6, 0.3]), 0.8),
        (torch.tensor([0.05, 0.4, 0.2, 0.25, 0.1]), 0.7),
        (torch.tensor([0.15, 0.05, 0.5, 0.3]), 0.45),
    ),
    mistakes=(
        mistake(
            "sums up before sorting",
            "In the order of the vocabulary the sum says nothing: what comes first stays, however unlikely. "
            "Sort by probability, largest first.",
            _again(lambda p, share: p.cumsum(0) - p < share),
        ),
        mistake(
            "drops the token that crosses the threshold",
            "The kept tokens must together reach the share, so the one that reaches it stays. Where one "
            "token alone has more than the share, nothing would be left.",
            _again(lambda p, share: _nucleus(p, share, crossing=False)),
        ),
        mistake(
            "does not sum to 1",
            "What is cut takes its probability with it: divide the rest by its sum.",
            lambda p, share: p * _nucleus(p, share, crossing=True),
        ),
        mistake(
            "leaves the tokens in sorted order",
            "Sorting has moved every token to another place. Put them back with `scatter`, or cut by the "
            "smallest probability that stays.",
            _in_order_of_size,
        ),
        mistake(
            "sorts the smallest first",
            "The likeliest tokens are to stay, so they must come first in the sum.",
            _again(lambda p, share: p <= _last_small(p, share)),
        ),
        mistake(
            "compares each probability with the share",
            "It is the sum of the likeliest tokens that has to reach the share, not each of them.",
            _again(lambda p, share: p >= share),
            lambda p, share: p * (p >= share),
        ),
    ),
)


def _last_small(p: Tensor, share: float) -> Tensor:
    """The largest probability that stays where the smallest come first in the sum."""
    ordered = p.sort().values
    return ordered[ordered.cumsum(0) - ordered < share][-1]

"""Sampling: temperature with top-k, and top-p (nucleus)."""

import math

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake


def _top_k(logits: Tensor, temperature: float, k: int) -> Tensor:
    kept = logits >= logits.topk(k).values[-1]
    return (logits / temperature).masked_fill(~kept, -math.inf).softmax(dim=-1)


def _without(logits: Tensor, k: int, fill: float) -> Tensor:
    """Logits with all but the k largest replaced by `fill`."""
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
            "your code multiplies by the temperature",
            "A high temperature must make the probabilities more uniform, so the logits must shrink. "
            "Divide them by it.",
            lambda logits, temperature, k: _top_k(logits, 1 / temperature, k),
        ),
        mistake(
            "your code gives the same result at every temperature",
            "Divide the logits by the temperature before the softmax. After the softmax and "
            "normalization, the factor cancels.",
            lambda logits, temperature, k: _top_k(logits, 1.0, k),
        ),
        mistake(
            "your code sets cut logits to 0 before the softmax",
            "A logit of 0 is not a probability of 0: e⁰ = 1. Only −∞ becomes 0 after the softmax.",
            lambda logits, temperature, k: _without(logits / temperature, k, 0.0).softmax(dim=-1),
        ),
        mistake(
            "your probabilities do not sum to 1",
            "The cut tokens take their probability mass with them. Divide the rest by its sum, or cut "
            "the logits before the softmax.",
            lambda logits, temperature, k: (
                (logits / temperature).softmax(-1) * (logits >= logits.topk(k).values[-1])
            ),
        ),
        mistake(
            "your code keeps one token too few",
            "The k-th largest logit stays too. Compare with >=, not with >.",
            lambda logits, temperature, k: (logits / temperature)
            .masked_fill(logits <= logits.topk(k).values[-1], -math.inf)
            .softmax(dim=-1),
        ),
        mistake(
            "your code keeps the smallest logits",
            "Keep the k tokens with the largest logits.",
            lambda logits, temperature, k: (logits / temperature)
            .masked_fill(logits > logits.topk(k, largest=False).values[-1], -math.inf)
            .softmax(dim=-1),
        ),
        mistake(
            "your code does not cut",
            "All tokens except the k largest must get probability 0. Set their logits to −∞.",
            lambda logits, temperature, k: (logits / temperature).softmax(-1),
        ),
        mistake(
            "your code returns only k numbers",
            "The index tells which token a probability belongs to. Return the whole vocabulary, with "
            "zeros for the cut tokens.",
            lambda logits, temperature, k: (logits.topk(k).values / temperature).softmax(-1),
        ),
    ),
)  # fmt: skip


def _nucleus(probabilities: Tensor, mass: float, crossing: bool, exact: bool = True) -> Tensor:
    """Nucleus: the kept tokens.

    crossing: whether it includes the token that crosses `mass`. exact: whether to stop at equality.
    """
    ordered, indices = probabilities.sort(descending=True)
    before = ordered.cumsum(0) - (ordered if crossing else 0)
    kept = before < mass if exact else before <= mass
    return torch.zeros_like(probabilities, dtype=torch.bool).scatter(0, indices, kept)


def _renormalized(kept: Answer) -> Answer:
    """Function that renormalizes the kept probabilities."""

    def probabilities(p: Tensor, mass: float) -> Tensor:
        left = p * kept(p, mass)
        return left / left.sum()

    return probabilities


def _in_sorted_order(p: Tensor, mass: float) -> Tensor:
    ordered = p.sort(descending=True).values
    left = ordered * (ordered.cumsum(0) - ordered < mass)
    return left / left.sum()


TOP_P = Exercise(
    id="07.top_p",
    reference=_renormalized(lambda p, mass: _nucleus(p, mass, crossing=True)),
    inputs=(
        (torch.tensor([0.125, 0.5, 0.25, 0.09375, 0.03125]), 0.75),  # exactly reached by two tokens
        (torch.tensor([0.1, 0.6, 0.3]), 0.8),
        (torch.tensor([0.05, 0.4, 0.2, 0.25, 0.1]), 0.7),
        (torch.tensor([0.15, 0.05, 0.5, 0.3]), 0.45),
    ),
    mistakes=(
        mistake(
            "your code sums before sorting",
            "In vocabulary order, the cumulative sum keeps whatever comes first, however unlikely. "
            "Sort by probability first, largest first.",
            _renormalized(lambda p, mass: p.cumsum(0) - p < mass),
        ),
        mistake(
            "your code drops the token that crosses the threshold",
            "The kept tokens must reach `mass` together, so the token that crosses it stays. "
            "Otherwise nothing is left if one token alone exceeds `mass`.",
            _renormalized(lambda p, mass: _nucleus(p, mass, crossing=False)),
        ),
        mistake(
            "your probabilities do not sum to 1",
            "The cut tokens take their probability mass with them. Divide the rest by its sum.",
            lambda p, mass: p * _nucleus(p, mass, crossing=True),
        ),
        mistake(
            "your code returns the tokens in sorted order",
            "After sorting, an index no longer tells which token it is. Undo the order with `scatter`, "
            "or cut by the smallest probability that stays.",
            _in_sorted_order,
        ),
        mistake(
            "your code sorts the smallest first",
            "The most likely tokens must stay, so they must come first in the cumulative sum. Sort in "
            "descending order.",
            _renormalized(lambda p, mass: p <= _threshold_from_smallest(p, mass)),
        ),
        mistake(
            "your code keeps one token too many",
            "Stop as soon as the kept tokens have `mass` or more. A token stays only if those before it have "
            "*less* than `mass` together: compare with <, not with <=.",
            _renormalized(lambda p, mass: _nucleus(p, mass, crossing=True, exact=False)),
        ),
        mistake(
            "your code compares each probability with `mass`",
            "The cumulative sum of the most likely tokens must reach `mass`, not each token by itself.",
            _renormalized(lambda p, mass: p >= mass),
            lambda p, mass: p * (p >= mass),
        ),
    ),
)


def _threshold_from_smallest(p: Tensor, mass: float) -> Tensor:
    """The largest probability that stays if the smallest come first in the sum."""
    ordered = p.sort().values
    return ordered[ordered.cumsum(0) - ordered < mass][-1]

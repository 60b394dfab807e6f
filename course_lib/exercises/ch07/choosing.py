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
            "A high temperature must make the probabilities more uniform, so the logits must shrink. Divide "
            "them by it. A power, p ** temperature, multiplies the logits, too.",
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
            "your code keeps one token too many",
            "Exactly k tokens stay: those with at least the k-th largest logit, topk(k).values[-1].",
            lambda logits, temperature, k: _top_k(logits, temperature, k + 1),
        ),
        mistake(
            "your code keeps only the most likely token",
            "topk(k).values[0] is the largest logit. The k-th largest is the last of them, values[-1].",
            lambda logits, temperature, k: _top_k(logits, temperature, 1),
        ),
        mistake(
            "your code cuts by the unscaled threshold",
            "If you divide the logits first, take the k largest of the divided logits, too.",
            lambda logits, temperature, k: (scaled := logits / temperature)
            .masked_fill(scaled < logits.topk(k).values[-1], -math.inf)
            .softmax(dim=-1),
        ),
        mistake(
            "your code returns logits",
            "Logits are no probabilities. End with a softmax.",
            lambda logits, temperature, k: _without(logits / temperature, k, -math.inf),
        ),
        mistake(
            "your code divides the probabilities by the temperature",
            "After the softmax, a factor does nothing but spoil the sum. Divide the logits.",
            lambda logits, temperature, k: _top_k(logits, 1.0, k) / temperature,
        ),
        mistake(
            "your code returns the largest probabilities in sorted order",
            "The index tells which token a probability belongs to. Leave each token in its place.",
            lambda logits, temperature, k: _top_k(logits, temperature, k).sort(descending=True).values,
        ),
        mistake(
            "your code keeps the smallest logits",
            "Keep the k tokens with the largest logits.",
            lambda logits, temperature, k: (logits / temperature)
            .masked_fill(logits > logits.topk(k, largest=False).values[-1], -math.inf)
            .softmax(dim=-1),
            lambda logits, temperature, k: (
                (logits / temperature)
                .masked_fill(logits > logits.topk(k).values[-1], -math.inf)
                .softmax(dim=-1)
            ),
            lambda logits, temperature, k: (
                (logits / temperature)
                .masked_fill(logits >= logits.topk(k).values[-1], -math.inf)
                .softmax(dim=-1)
            ),
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
        mistake(
            "your code compares logits with k",
            "k is a number of tokens. Compare with the k-th largest logit, topk(k).values[-1].",
            lambda logits, temperature, k: (
                (logits / temperature).masked_fill(logits < k, -math.inf).softmax(dim=-1)
            ),
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


def _sorted_if(test: Answer) -> Answer:
    """The kept tokens, by a test of cumulative sums, own probabilities, and mass, most likely token first."""

    def kept(p: Tensor, mass: float) -> Tensor:
        ordered, indices = p.sort(descending=True)
        chosen = test(ordered.cumsum(0), ordered, mass)
        return torch.zeros_like(p, dtype=torch.bool).scatter(0, indices, chosen)

    return kept


def _placed(values: Answer) -> Answer:
    """Function that renormalizes these values of the sorted probabilities, each at the place of its token."""

    def probabilities(p: Tensor, mass: float) -> Tensor:
        ordered, indices = p.sort(descending=True)
        left = torch.zeros_like(p).scatter(0, indices, values(ordered, mass))
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
        (torch.tensor([0.22, 0.08, 0.1, 0.3, 0.14, 0.16]), 0.6),
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
            _renormalized(lambda p, mass: _nucleus(p, mass, crossing=False, exact=False)),
        ),
        mistake(
            "your code keeps the least likely tokens",
            "The most likely ones must stay. Sort in descending order; then a token stays while those "
            "*before* it have less than `mass`, and the sums grow from token to token.",
            _renormalized(lambda p, mass: p <= _threshold_from_smallest(p, mass)),
            *(
                _renormalized(_sorted_if(test))
                for test in (
                    lambda sums, own, mass: sums >= 1 - mass,
                    lambda sums, own, mass: sums > 1 - mass,
                    lambda sums, own, mass: sums >= mass,
                    lambda sums, own, mass: sums > mass,
                    lambda sums, own, mass: sums - own >= mass,
                    lambda sums, own, mass: sums - own > mass,
                )
            ),
        ),
        mistake(
            "your code compares with 1 − mass",
            "The kept tokens must have `mass` together: a token stays while those before it have less than "
            "`mass`.",
            _renormalized(_sorted_if(lambda sums, own, mass: sums - own < 1 - mass)),
            _renormalized(_sorted_if(lambda sums, own, mass: sums < 1 - mass)),
            _renormalized(_sorted_if(lambda sums, own, mass: sums <= 1 - mass)),
            _renormalized(lambda p, mass: p > 1 - mass),
            _renormalized(lambda p, mass: p >= 1 - mass),
        ),
        mistake(
            "your code gives all kept tokens the same probability",
            "`before < mass` says which tokens stay; multiply it by their probabilities, `ordered`.",
            lambda p, mass: (kept := _nucleus(p, mass, crossing=True).float()) / kept.sum(),
        ),
        mistake(
            "your code puts the cumulative sums into the result",
            "The sums only decide which tokens stay. The values are the probabilities, `ordered`.",
            _placed(lambda ordered, mass: ordered.cumsum(0) * (ordered.cumsum(0) - ordered < mass)),
        ),
        mistake(
            "your code puts the values in the wrong places",
            "values[i] belongs to token indices[i], so it is *written* there: scatter, not values[indices].",
            lambda p, mass: _in_sorted_order(p, mass)[p.sort(descending=True).indices],
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
            _renormalized(lambda p, mass: p < mass),
        ),
        mistake(
            "your code keeps all tokens",
            "Only the most likely tokens stay, until they have `mass` together: values = ordered * (before < "
            "mass).",
            lambda p, mass: p / p.sum(),
        ),
    ),
)


def _threshold_from_smallest(p: Tensor, mass: float) -> Tensor:
    """The largest probability that stays if the smallest come first in the sum."""
    ordered = p.sort().values
    return ordered[ordered.cumsum(0) - ordered < mass][-1]

"""Scores, their scale, attention, and what reaches the scores in training."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal, value

SPREAD = Exercise(
    id="01.spread",
    reference=value(4),
    inputs=((),),
    mistakes=(
        mistake(
            "is the factor of the variance",
            "The variance grows 16 times, as d does; the standard deviation is its square root.",
            value(16),
        ),
        mistake(
            "is the factor after the division by √d",
            "Divided by √d, the spread would indeed stay the same. The question is about the plain dot "
            "product.",
            value(1),
        ),
        mistake(
            "takes the square instead of the square root",
            "The variance is a sum of d variances, so it grows in proportion to d, and the spread like √d.",
            value(256),
        ),
        mistake(
            "is the spread at d = 1024, not the factor",
            "√1024 = 32 is the new spread; the question is how many times the spread at d = 64 it is.",
            value(32),
        ),
    ),
)


def _scores(factor: Callable[[Tensor, Tensor], float]) -> Answer:
    return lambda q, k: q @ k.transpose(-2, -1) * factor(q, k)


SCORES = Exercise(
    id="01.scores",
    reference=_scores(lambda q, k: q.shape[-1] ** -0.5),
    inputs=(
        (torch.ones(1, 4), torch.ones(1, 4)),
        (torch.tensor([[1.0, 0.0, 2.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0, 0.0]]), torch.eye(3, 5)),
        (normal(6, 2, 8), normal(6, 3, 8, seed=1)),
    ),
    mistakes=(
        mistake(
            "divides by d instead of √d",
            "The scores spread like √d. Divided by d they shrink the more, the wider the vectors are, and "
            "the weights come out nearly equal whatever the query asks.",
            _scores(lambda q, k: 1 / q.shape[-1]),
        ),
        mistake(
            "does not scale",
            "The variance of the scores is then d, and softmax puts nearly everything on one key.",
            _scores(lambda q, k: 1.0),
        ),
        mistake(
            "multiplies by √d",
            "That makes the spread d instead of 1: divide.",
            _scores(lambda q, k: q.shape[-1] ** 0.5),
        ),
        mistake(
            "takes d from the wrong axis",
            "d is the number of terms in one dot product, the last axis of q. The number of queries, keys "
            "or sentences does not change the spread of a score.",
            _scores(lambda q, k: k.shape[-2] ** -0.5),
            _scores(lambda q, k: q.shape[-2] ** -0.5),
            _scores(lambda q, k: q.shape[0] ** -0.5),
            _scores(lambda q, k: k.shape[0] ** -0.5),
            _scores(lambda q, k: q.numel() ** -0.5),
        ),
        mistake(
            "swaps queries and keys",
            "The rows must belong to the queries and the columns to the keys: q @ kᵀ, not k @ qᵀ.",
            lambda q, k: k @ q.transpose(-2, -1) / math.sqrt(q.shape[-1]),
        ),
        mistake(
            "transposes all axes, which fails as soon as there is a batch",
            "k.T and k.t() are made for two axes. Swap the last two only: k.transpose(-2, -1).",
            lambda q, k: q @ k.permute(*reversed(range(k.ndim))) / math.sqrt(q.shape[-1]),
        ),
    ),
)


def _attention(
    factor: Callable[[int], float], dim: int = -1, after: Callable[[int], float] = lambda d: 1.0
) -> Answer:
    """Attention with one factor before the softmax and another after it."""

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        d = q.shape[-1]
        return (q @ k.transpose(-2, -1) * factor(d)).softmax(dim) @ v * after(d)

    return attention


def _one(d: int) -> float:
    return 1.0


def _inverse_root(d: int) -> float:
    return d**-0.5


ATTENTION = Exercise(
    id="01.attention",
    reference=_attention(_inverse_root),
    inputs=(
        (torch.eye(2, 4), torch.eye(3, 4), torch.tensor([[1.0], [2.0], [3.0]])),
        (normal(2, 4), normal(3, 4, seed=1), normal(3, 5, seed=2)),
        (normal(7, 2, 6), normal(7, 3, 6, seed=1), normal(7, 3, 5, seed=2)),
    ),
    mistakes=(
        mistake(
            "puts √d outside the softmax",
            "There it only makes the output smaller: the weights are those of the unscaled scores and "
            "saturate just as early. It belongs inside, under the scores.",
            _attention(_one, after=_inverse_root),
        ),
        mistake(
            "does not scale",
            "The variance of the scores is then d, and softmax puts nearly everything on one key.",
            _attention(_one),
        ),
        mistake(
            "divides by d instead of √d",
            "The scores spread like √d. Divided by d they shrink the more, the wider the vectors are.",
            _attention(lambda d: 1 / d),
        ),
        mistake(
            "takes the softmax over the wrong axis",
            "Each query shares out a weight of 1 among the keys, the last axis of the scores: dim=-1.",
            *(_attention(_inverse_root, dim) for dim in (-2, 0, 1)),
            *(_attention(_one, dim, _inverse_root) for dim in (-2, 0, 1)),
        ),
        mistake(
            "leaves the softmax out",
            "Scores can be negative and do not sum to 1, so the result is no average of the values.",
            lambda q, k, v: q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]) @ v,
            lambda q, k, v: q @ k.transpose(-2, -1) @ v,
        ),
    ),
)

GRADIENT = Exercise(
    id="01.gradient",
    reference=lambda weights: torch.diag(weights) - torch.outer(weights, weights),
    inputs=(
        (torch.tensor([0.5, 0.5]),),
        (torch.tensor([0.75, 0.25]),),
        (torch.tensor([0.125, 0.25, 0.625]),),
    ),
    mistakes=(
        mistake(
            "leaves out the effect on the other weights",
            "The weights sum to 1: when one grows, the others shrink. Off the diagonal there stands −pᵢ·pⱼ.",
            lambda weights: torch.diag(weights * (1 - weights)),
            lambda weights: weights * (1 - weights),
        ),
        mistake(
            "has the wrong sign off the diagonal",
            "A higher score for one key takes weight from the others: off the diagonal stand negative "
            "numbers.",
            lambda weights: torch.diag(weights) + torch.outer(weights, weights),
            lambda weights: torch.diag(weights - 2 * weights**2) + torch.outer(weights, weights),
        ),
        mistake(
            "has the sign turned round everywhere",
            "A higher score raises its own weight: the diagonal pᵢ·(1 − pᵢ) is positive.",
            lambda weights: torch.outer(weights, weights) - torch.diag(weights),
        ),
        mistake(
            "leaves out the diagonal matrix of the weights",
            "On the diagonal there stands pᵢ − pᵢ², not −pᵢ² alone.",
            lambda weights: -torch.outer(weights, weights),
            lambda weights: torch.outer(weights, weights),
        ),
        mistake(
            "does not multiply every pair of weights",
            "weights * weights is one number for each key, weights @ weights one in all. Needed is one for "
            "each pair: torch.outer(weights, weights), or weights[:, None] * weights[None, :].",
            lambda weights: torch.diag(weights) - weights * weights,
            lambda weights: torch.diag(weights) - weights @ weights,
        ),
    ),
)

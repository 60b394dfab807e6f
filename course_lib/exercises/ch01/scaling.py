"""Attention scores, their scaling, scaled dot-product attention, and the gradient of softmax."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal, value

STANDARD_DEVIATION = Exercise(
    id="01.standard_deviation",
    reference=value(4),
    inputs=((),),
    mistakes=(
        mistake(
            "your answer is the ratio of the variances",
            "The variance grows 16-fold, just as d does. The standard deviation is its square root.",
            value(16),
        ),
        mistake(
            "your answer is the ratio after dividing by √d",
            "With the scaling, the standard deviation indeed stays the same. The question is about the "
            "plain dot product.",
            value(1),
        ),
        mistake(
            "your answer squares the ratio instead of taking its root",
            "The variance is a sum of d variances, so it grows in proportion to d. The standard "
            "deviation grows like √d.",
            value(256),
        ),
        mistake(
            "your answer is the standard deviation at d = 1024",
            "√1024 = 32 is the new standard deviation. Divide it by the one at d = 64.",
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
        (normal(3, 3, seed=2), normal(3, 3, seed=3)),
        (normal(6, 2, 8), normal(6, 3, 8, seed=1)),
    ),
    mistakes=(
        mistake(
            "your code divides by d instead of √d",
            "The standard deviation of the scores grows like √d. Divided by d, wide vectors get scores "
            "near 0, and the weights come out nearly uniform whatever the query is.",
            _scores(lambda q, k: 1 / q.shape[-1]),
        ),
        mistake(
            "your code does not scale",
            "The variance of the scores is then d, so softmax puts nearly all weight on one key. "
            "Divide the scores by √d.",
            _scores(lambda q, k: 1.0),
        ),
        mistake(
            "your code multiplies by √d",
            "That makes the standard deviation of the scores d instead of 1. Divide by √d.",
            _scores(lambda q, k: q.shape[-1] ** 0.5),
        ),
        mistake(
            "your code takes d from the wrong axis",
            "d is the number of terms in one dot product: the size of the last axis of q. The number "
            "of queries, keys or sentences does not change the standard deviation of a score.",
            _scores(lambda q, k: k.shape[-2] ** -0.5),
            _scores(lambda q, k: q.shape[-2] ** -0.5),
            _scores(lambda q, k: q.shape[0] ** -0.5),
            _scores(lambda q, k: k.shape[0] ** -0.5),
            _scores(lambda q, k: q.numel() ** -0.5),
        ),
        mistake(
            "your code swaps queries and keys",
            "The rows must belong to the queries and the columns to the keys. Compute q @ kᵀ, not k @ qᵀ.",
            lambda q, k: k @ q.transpose(-2, -1) / math.sqrt(q.shape[-1]),
        ),
        mistake(
            "your code does not transpose k",
            "q @ k multiplies the rows of q by the columns of k, but the keys are its rows. Compute "
            "q @ k.transpose(-2, -1).",
            lambda q, k: q @ k / math.sqrt(q.shape[-1]),
            lambda q, k: q @ k,
        ),
        mistake(
            "your code matches query i with key i only",
            "`*` multiplies position by position. Every query needs a score for every key: use the matrix "
            "product q @ k.transpose(-2, -1).",
            lambda q, k: q * k / math.sqrt(q.shape[-1]),
            lambda q, k: (q * k).sum(-1) / math.sqrt(q.shape[-1]),
        ),
        mistake(
            "your code applies the softmax already",
            "The weights come later. Return the scaled scores themselves: their rows need not sum to 1.",
            lambda q, k: _scores(lambda q, k: q.shape[-1] ** -0.5)(q, k).softmax(-1),
            lambda q, k: _scores(lambda q, k: 1.0)(q, k).softmax(-1),
            lambda q, k: _scores(lambda q, k: 1.0)(q, k).softmax(-1) / math.sqrt(q.shape[-1]),
        ),
        mistake(
            "your code transposes all axes, which fails with a batch",
            "k.T and k.t() are meant for matrices. Swap only the last two axes: k.transpose(-2, -1).",
            lambda q, k: q @ k.permute(*reversed(range(k.ndim))) / math.sqrt(q.shape[-1]),
        ),
    ),
)


def _attention(
    factor: Callable[[int], float], dim: int = -1, after: Callable[[int], float] = lambda d: 1.0
) -> Answer:
    """Attention with one factor before the softmax and one after it."""

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        d = q.shape[-1]
        return (q @ k.transpose(-2, -1) * factor(d)).softmax(dim) @ v * after(d)

    return attention


def _one(d: int) -> float:
    return 1.0


def _inverse_root(d: int) -> float:
    return d**-0.5


def _weights(q: Tensor, k: Tensor) -> Tensor:
    return (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)


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
            "your code divides by √d after the softmax",
            "There it only shrinks the output: the weights are those of the unscaled scores, which "
            "saturate just as early. Divide the scores before the softmax.",
            _attention(_one, after=_inverse_root),
        ),
        mistake(
            "your code does not scale",
            "The variance of the scores is then d, so softmax puts nearly all weight on one key. "
            "Divide the scores by √d.",
            _attention(_one),
        ),
        mistake(
            "your code divides by d instead of √d",
            "The standard deviation of the scores grows like √d. Divided by d, wide vectors get scores "
            "near 0 and nearly uniform weights.",
            _attention(lambda d: 1 / d),
        ),
        mistake(
            "your code takes the softmax over the wrong axis",
            "The weights of each query must sum to 1 over the keys, the last axis of the scores. Use dim=-1.",
            *(_attention(_inverse_root, dim) for dim in (-2, 0, 1)),
            *(_attention(_one, dim, _inverse_root) for dim in (-2, 0, 1)),
        ),
        mistake(
            "your code applies the softmax twice",
            "The weights lie between 0 and 1, so a second softmax makes them nearly uniform. Apply it once, "
            "to the scaled scores.",
            lambda q, k, v: _weights(q, k).softmax(-1) @ v,
        ),
        mistake(
            "your code returns the weights as well",
            "The weights are a step on the way. Return only the averages of the values.",
            lambda q, k, v: (_weights(q, k) @ v, _weights(q, k)),
        ),
        mistake(
            "your code returns the weights instead of the averages",
            "The weights say how much each value counts. Multiply them by the values: weights @ v.",
            lambda q, k, v: _weights(q, k),
        ),
        mistake(
            "your code has no softmax",
            "Scores can be negative and do not sum to 1, so the result is not an average of the "
            "values. Apply softmax to the scaled scores.",
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
            "your answer ignores the effect on the other weights",
            "The weights sum to 1: when one grows, the others shrink. Off the diagonal, the derivative "
            "is −pᵢ·pⱼ.",
            lambda weights: torch.diag(weights * (1 - weights)),
            lambda weights: weights * (1 - weights),
        ),
        mistake(
            "your answer has the wrong sign off the diagonal",
            "A higher score for one key takes weight away from the others. The entries off the "
            "diagonal are negative.",
            lambda weights: torch.diag(weights) + torch.outer(weights, weights),
            lambda weights: torch.diag(weights - 2 * weights**2) + torch.outer(weights, weights),
        ),
        mistake(
            "your answer has the wrong sign everywhere",
            "A higher score raises its own weight. The diagonal, pᵢ·(1 − pᵢ), is positive.",
            lambda weights: torch.outer(weights, weights) - torch.diag(weights),
        ),
        mistake(
            "your answer leaves out the diagonal matrix of the weights",
            "On the diagonal, the derivative is pᵢ − pᵢ², not −pᵢ² alone. Add torch.diag(weights).",
            lambda weights: -torch.outer(weights, weights),
            lambda weights: torch.outer(weights, weights),
        ),
        mistake(
            "your code does not multiply every pair of weights",
            "weights * weights has one number per key, and weights @ weights is a single number. You "
            "need one per pair: torch.outer(weights, weights).",
            lambda weights: torch.diag(weights) - weights * weights,
            lambda weights: torch.diag(weights) - weights @ weights,
        ),
    ),
)

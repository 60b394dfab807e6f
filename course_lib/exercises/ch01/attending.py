"""Scaled dot-product attention, and the gradient of softmax."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal, whole


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
        (whole(2, 2, seed=5), whole(2, 2, seed=4), whole(2, 2, seed=6)),
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
            "your code takes d from the values",
            "d is the number of terms of a dot product: the width of queries and keys. The values may have "
            "any other width. Use q.shape[-1].",
            lambda q, k, v: (q @ k.transpose(-2, -1) / math.sqrt(v.shape[-1])).softmax(-1) @ v,
        ),
        mistake(
            "your code takes d from another axis",
            "d is the number of terms of a dot product, the last axis of q. The number of queries, keys or "
            "sentences does not matter. Use q.shape[-1].",
            lambda q, k, v: (q @ k.transpose(-2, -1) / math.sqrt(k.shape[-2])).softmax(-1) @ v,
            lambda q, k, v: (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-2])).softmax(-1) @ v,
            lambda q, k, v: (q @ k.transpose(-2, -1) / math.sqrt(q.shape[0])).softmax(-1) @ v,
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
        mistake(
            "your code swaps queries and keys",
            "The rows of the weights must belong to the queries: q @ k.transpose(-2, -1), with q on the "
            "left.",
            lambda q, k, v: _weights(k, q) @ v,
        ),
        mistake(
            "your code takes only the value of the best key",
            "That is the hard lookup of chapter 0. Here all values count, each by its weight.",
            lambda q, k, v: torch.nn.functional.one_hot(_weights(q, k).argmax(-1), k.shape[-2]).float() @ v,
        ),
        mistake(
            "your code multiplies by √d",
            "That makes the scores still larger. Divide them by √d before the softmax.",
            _attention(lambda d: d**0.5),
        ),
        mistake(
            "your code divides the output once more",
            "The weighted averages need no scaling: √d belongs to the scores alone.",
            lambda q, k, v: _weights(q, k) @ v / math.sqrt(v.shape[-1]),
            lambda q, k, v: _weights(q, k) @ v / math.sqrt(q.shape[-1]),
        ),
        mistake(
            "your code uses the sigmoid",
            "The weights of a query must sum to 1 over the keys. Use softmax(dim=-1).",
            lambda q, k, v: (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).sigmoid() @ v,
        ),
        mistake(
            "your weights are the scores divided by their sum",
            "Scores may be negative, so their shares are no weights. Take exp first: that is softmax.",
            lambda q, k, v: (lambda s: s / s.sum(-1, keepdim=True) @ v)(
                q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
            ),
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
        mistake(
            "your answer leaves out the products of the weights",
            "The weights share a sum of 1, so each score changes all of them: subtract torch.outer(weights, "
            "weights).",
            lambda weights: torch.diag(weights),
        ),
        mistake(
            "your answer has the identity in place of the weights",
            "On the diagonal, the derivative is pᵢ − pᵢ², not 1 − pᵢ². Start from torch.diag(weights).",
            lambda weights: torch.eye(len(weights)) - torch.outer(weights, weights),
        ),
        mistake(
            "your answer has pᵢ·(1 − pⱼ) off the diagonal, too",
            "pᵢ·(1 − pᵢ) is the effect of a score on its own weight. On another weight, it is −pᵢ·pⱼ.",
            lambda weights: torch.outer(weights, 1 - weights),
            lambda weights: torch.outer(1 - weights, weights),
        ),
    ),
)

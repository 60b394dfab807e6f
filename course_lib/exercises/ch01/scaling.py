"""Attention scores and their scaling."""

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
            "your answer takes the root twice",
            "The variance grows by the factor d grows by, 1024/64 = 16. The standard deviation is the root "
            "of the variance: take one root of 16.",
            value(2),
        ),
        mistake(
            "your answer is the standard deviation at d = 1024",
            "√1024 = 32 is the new standard deviation. Divide it by the one at d = 64.",
            value(32),
        ),
        mistake(
            "your answer is the standard deviation at d = 64",
            "√64 = 8 is the old standard deviation. Divide the new one by it.",
            value(8),
        ),
        mistake(
            "your answer is the ratio upside down",
            "The standard deviation grows, so the factor is above 1: the new one divided by the old one.",
            value(0.25),
            value(1 / 16),
        ),
        mistake(
            "your answer is a difference",
            "A factor is a ratio: divide the two standard deviations, do not subtract them.",
            value(32 - 8),
            value(1024 - 64),
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
        mistake(
            "your code divides by the lengths of the vectors",
            "That is the cosine similarity. Scaled scores keep the lengths, and divide by √d only.",
            lambda q, k: torch.cosine_similarity(q[..., :, None, :], k[..., None, :, :], dim=-1),
        ),
    ),
)

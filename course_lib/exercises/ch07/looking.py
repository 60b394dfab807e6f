"""How to find an induction head by its score."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake


def _weights(tokens: int, seed: int) -> Tensor:
    """A causal table of weights."""
    scores = 2 * torch.randn(tokens, tokens, generator=torch.Generator().manual_seed(seed))
    hidden = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)


def _back(weights: Tensor, by: int, first: int) -> Tensor:
    """The weights from each query, from number `first` on, to the key that lies so far back."""
    queries = torch.arange(first, len(weights))
    return weights[queries, queries - by]


INDUCTION = Exercise(
    id="07.induction",
    reference=lambda weights, period: _back(weights, period - 1, period).mean(),
    inputs=((_weights(6, 0), 3), (_weights(8, 1), 4), (_weights(15, 2), 5)),
    mistakes=(
        mistake(
            "looks at the same token as before",
            "There stands what the query is reading. An induction head looks one further: at what came after "
            "it, period − 1 back.",
            lambda weights, period: _back(weights, period, period).mean(),
        ),
        mistake(
            "looks at the token before the earlier one",
            "What is to be written came after the earlier occurrence, period − 1 back, not before it.",
            lambda weights, period: _back(weights, period + 1, period + 1).mean(),
        ),
        mistake(
            "measures a previous-token head",
            "A head that always looks one back is the other half of the trick. Here it is period − 1 back.",
            lambda weights, period: _back(weights, 1, period).mean(),
            lambda weights, period: _back(weights, 1, 1).mean(),
        ),
        mistake(
            "swaps queries and keys",
            "Rows are queries. Above the diagonal of a causal table all weights are 0.",
            lambda weights, period: _back(weights.T, period - 1, period).mean(),
        ),
        mistake(
            "counts the first round too",
            "While the period is read for the first time there is nothing to look back at. Begin with the "
            "query number `period`.",
            lambda weights, period: weights.diagonal(1 - period).mean(),
            lambda weights, period: weights.diagonal(1 - period).sum() / len(weights),
        ),
        mistake(
            "sums up",
            "The sum grows with the length of the text. The mean lies between 0 and 1.",
            lambda weights, period: _back(weights, period - 1, period).sum(),
        ),
    ),
)

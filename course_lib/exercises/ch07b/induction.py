"""Induction score of a head."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake


def _weights(tokens: int, seed: int) -> Tensor:
    """Random causal attention weights."""
    scores = 2 * torch.randn(tokens, tokens, generator=torch.Generator().manual_seed(seed))
    hidden = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)


def _back(weights: Tensor, by: int, first: int) -> Tensor:
    """Weights from each query, beginning with index `first`, to the key `by` positions back."""
    queries = torch.arange(first, len(weights))
    return weights[queries, queries - by]


INDUCTION = Exercise(
    id="07b.induction",
    reference=lambda weights, period: _back(weights, period - 1, period).mean(),
    inputs=(
        (
            torch.tensor([[1, 0, 0, 0], [0.25, 0.75, 0, 0], [0.5, 0.25, 0.25, 0], [0.125, 0.125, 0.5, 0.25]]),
            2,
        ),
        (_weights(6, 0), 3),
        (_weights(8, 1), 4),
        (_weights(17, 2), 5),
    ),
    mistakes=(
        mistake(
            "your code looks at the earlier occurrence itself",
            "That is the token the query is already reading. An induction head attends to the token "
            "after it, period − 1 positions back.",
            lambda weights, period: _back(weights, period, period).mean(),
        ),
        mistake(
            "your code looks at the token before the earlier occurrence",
            "The prediction comes from the token after the earlier occurrence. That is period − 1 "
            "positions back.",
            lambda weights, period: _back(weights, period + 1, period + 1).mean(),
        ),
        mistake(
            "your code measures a previous-token head",
            "A head that always attends one position back is the other half of the induction circuit. "
            "Here, the key is period − 1 positions back.",
            lambda weights, period: _back(weights, 1, period).mean(),
            lambda weights, period: _back(weights, 1, 1).mean(),
        ),
        mistake(
            "your code swaps queries and keys",
            "Rows are queries. Above the diagonal of causal weights, everything is 0.",
            lambda weights, period: _back(weights.T, period - 1, period).mean(),
        ),
        mistake(
            "your code counts the first period",
            "During the first period there is nothing to look back at. Begin with query index `period`.",
            lambda weights, period: weights.diagonal(1 - period).mean(),
            lambda weights, period: weights.diagonal(1 - period).sum() / len(weights),
        ),
        mistake(
            "your code averages a whole block of weights",
            "Two slices give every query with every key. Pair them: query q with key q − (period − 1), in "
            "one index, weights[queries, keys].",
            lambda weights, period: weights[period:][:, : len(weights) - period].mean(),
            lambda weights, period: weights[period:][:, 1 : len(weights) - period + 1].mean(),
            lambda weights, period: weights[period:, :-period].mean(),
            lambda weights, period: weights[period:].mean(),
        ),
        mistake(
            "your code leaves out the first query of the second period",
            "It has an earlier occurrence already, `period` positions back. Begin with query index `period`.",
            lambda weights, period: _back(weights, period - 1, period + 1).mean(),
        ),
        mistake(
            "your code always looks into the first period",
            "In the third period, the *most recent* earlier occurrence is in the second one. The key is "
            "period − 1 positions back.",
            lambda weights, period: weights[
                (queries := torch.arange(period, len(weights))), queries % period + 1
            ].mean(),
        ),
        mistake(
            "your score is a maximum",
            "A single query may look there by chance. Take the mean over all of them.",
            lambda weights, period: _back(weights, period - 1, period).max(),
            lambda weights, period: weights[period:].amax(dim=-1).mean(),
        ),
        mistake(
            "your score has one number for each query",
            "Return their mean.",
            lambda weights, period: _back(weights, period - 1, period),
        ),
        mistake(
            "your code looks at the current token itself",
            "The diagonal is the weight of each token on itself. The key is period − 1 positions back.",
            lambda weights, period: _back(weights, 0, period).mean(),
        ),
        mistake(
            "your score is a sum",
            "The sum grows with the length of the text. Take the mean, which lies between 0 and 1.",
            lambda weights, period: _back(weights, period - 1, period).sum(),
        ),
        mistake(
            "your code looks at the same key for all queries",
            "Each query has its own key, period − 1 positions back.",
            lambda weights, period: weights[period:, period - 1].mean(),
            lambda weights, period: weights[period:, 1].mean(),
        ),
    ),
)

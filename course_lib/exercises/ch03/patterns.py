"""Reading attention patterns: the previous-token head."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake


def _shifted(tokens: int, by: int, sharpness: float) -> Tensor:
    """Attention weights concentrated on the token at offset `by`."""
    scores = torch.zeros(tokens, tokens)
    for query in range(tokens):
        if 0 <= query + by < tokens:
            scores[query, query + by] = sharpness
    return scores.softmax(dim=-1)


def _one_sharp_query(tokens: int) -> Tensor:
    """Uniform attention weights, except for one query that attends sharply to the previous token."""
    scores = torch.zeros(tokens, tokens)
    scores[2, 1] = 20.0
    return scores.softmax(dim=-1)


def _all_on_one(tokens: int, key: int) -> Tensor:
    """Attention weights of a head in which every query attends to the same key."""
    return torch.nn.functional.one_hot(torch.full((tokens,), key), tokens).float()


def _rows(tokens: int, *before: float, first: float = 0.0) -> Tensor:
    """Weights: before[i − 1] from query i to the previous token, `first` from query 0 to the last."""
    maps = torch.zeros(tokens, tokens)
    for query, weight in enumerate(before, start=1):
        maps[query] = (1 - weight) / (tokens - 1)
        maps[query, query - 1] = weight
    maps[0] = (1 - first) / (tokens - 1)
    maps[0, -1] = first
    return maps


def _most_often(maps: Tensor) -> int:
    """The head in which the most queries put their largest weight on the previous token."""
    tokens = torch.arange(1, maps.shape[-1])
    return int((maps[:, 1:].argmax(dim=-1) == tokens - 1).sum(dim=-1).argmax())


def _mean_of_diagonal(maps: Tensor, offset: int) -> Tensor:
    return maps.diagonal(offset, dim1=-2, dim2=-1).mean(dim=-1)


PREVIOUS_HEAD = Exercise(
    id="03.previous_head",
    reference=lambda maps: int(_mean_of_diagonal(maps, -1).argmax()),
    inputs=(
        (torch.stack([_shifted(4, 1, 4.0), _shifted(4, 0, 5.0), _shifted(4, -1, 3.0)]),),
        (torch.stack([_one_sharp_query(6), _shifted(6, -1, 3.0), _shifted(6, 1, 5.0), _all_on_one(6, 0)]),),
        (torch.stack([_shifted(5, 0, 3.0), _all_on_one(5, 1), _shifted(5, -1, 3.0)]),),
        (torch.stack([_rows(5, 0.4, 0.4, 0.4, 0.4), _rows(5, 0.9, 0.1, 0.9, 0.9)]),),
        (torch.stack([_rows(4, 0.5, 0.5, 0.5, first=1.0), _rows(4, 0.9, 0.45, 0.45)]),),
        (torch.stack([_rows(4, 0.4, 0.4, 0.7), _rows(4, 0.8, 0.8, 0.5)]),),
    ),
    mistakes=(
        mistake(
            "your code looks at the last token only",
            "Average over all tokens that have a previous one: diagonal gives all of these weights.",
            lambda maps: int(maps[:, -1, -2].argmax()),
        ),
        mistake(
            "your code finds the head that attends to the next token",
            "Rows are queries and columns are keys. The token before query i is key i − 1, just below "
            "the diagonal: offset −1.",
            lambda maps: int(_mean_of_diagonal(maps, 1).argmax()),
        ),
        mistake(
            "your code finds the head that attends to the token itself",
            "On the diagonal, offset 0, each token attends to itself. The previous token is one below, "
            "at offset −1.",
            lambda maps: int(_mean_of_diagonal(maps, 0).argmax()),
        ),
        mistake(
            "your code goes by the largest single weight",
            "One query that looks back sharply may be an accident. Take the mean over all queries.",
            lambda maps: int(maps.diagonal(-1, dim1=-2, dim2=-1).amax(dim=-1).argmax()),
            lambda maps: int(maps.flatten(1).amax(dim=-1).argmax()),
        ),
        mistake(
            "your code counts how often the previous token gets the largest weight",
            "That ignores how large the weight is: barely the largest counts as much as nearly all. "
            "Take the mean of the weights.",
            _most_often,
        ),
        mistake(
            "your code lets the first token look back to the last one",
            "The first token has no predecessor. maps[:, 0, -1], or roll, reads the weight it gives to "
            "the last token, so leave out query 0.",
            lambda maps: int(maps.roll(1, dims=-1).diagonal(dim1=-2, dim2=-1).mean(dim=-1).argmax()),
        ),
        mistake(
            "your code sums everything below the diagonal",
            "That finds heads that look back anywhere, for example at the first token. Use only the "
            "weights on the previous token.",
            lambda maps: int(maps.tril(-1).sum(dim=(-2, -1)).argmax()),
        ),
        mistake(
            "your code returns the weight instead of the head",
            "The exercise asks for the index of the head. Use argmax, not max.",
            lambda maps: _mean_of_diagonal(maps, -1).max().item(),
            lambda maps: _mean_of_diagonal(maps, -1),
        ),
        mistake(
            "your code counts the heads from 1",
            "Heads, like all axes of a tensor, are numbered from 0.",
            lambda maps: int(_mean_of_diagonal(maps, -1).argmax()) + 1,
        ),
        mistake(
            "your code averages over the heads",
            "Each head needs its own mean, over its queries: the last axis of the diagonals, dim=-1.",
            lambda maps: int(maps.diagonal(-1, dim1=-2, dim2=-1).mean(dim=0).argmax()),
        ),
        mistake(
            "your code takes the diagonal along heads and queries",
            "By default, diagonal() uses the first two axes. Queries and keys are the last two: dim1=-2, "
            "dim2=-1.",
            lambda maps: int(maps.diagonal(-1).mean(dim=-1).argmax()),
        ),
        mistake(
            "your code finds the head with the least weight on the previous token",
            "Use argmax, not argmin.",
            lambda maps: int(_mean_of_diagonal(maps, -1).argmin()),
        ),
    ),
)  # fmt: skip

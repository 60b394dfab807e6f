"""How many parameters a layer has, and what a head does."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake

PARAMETERS = Exercise(
    id="03.parameters",
    reference=lambda d_model, heads, bias: 4 * d_model**2 + 4 * d_model * bias,
    inputs=((4, 2, False), (6, 3, True), (512, 8, True), (12, 1, True)),
    mistakes=(
        mistake(
            "counts every head at full width",
            "A head has queries, keys and values of d_model / heads numbers each. All heads together fill "
            "the d_model columns of each matrix once, not `heads` times.",
            lambda d, h, bias: h * (3 * d**2 + 3 * d * bias) + d**2 + d * bias,
            lambda d, h, bias: h * (4 * d**2 + 4 * d * bias),
            lambda d, h, bias: h * 3 * (d**2 + d * bias) + h * d**2 + d * bias,
        ),
        mistake(
            "forgets the output projection",
            "Besides those of queries, keys and values there is a fourth matrix, which mixes the merged "
            "heads.",
            lambda d, h, bias: 3 * d**2 + 3 * d * bias,
        ),
        mistake(
            "forgets the biases",
            "With bias=True each of the four projections adds a vector of d_model numbers.",
            lambda d, h, bias: 4 * d**2,
        ),
        mistake(
            "gives each head a slice of the input",
            "A head's matrices reach from the whole vector, d_model numbers, to the d_head numbers of the "
            "head. From slice to slice, d_head to d_head, they would be `heads` times smaller.",
            lambda d, h, bias: 3 * d**2 // h + d**2 + 4 * d * bias,
            lambda d, h, bias: 4 * d**2 // h + 4 * d * bias,
            lambda d, h, bias: 3 * d**2 // h + 3 * d * bias,
        ),
        mistake(
            "counts one head only",
            "There are `heads` of them: what one head has in each matrix, d_model · d_head, comes to d_model "
            "· d_model in all.",
            lambda d, h, bias: 3 * (d + bias) * (d // h) + d**2 + d * bias,
            lambda d, h, bias: 4 * (d + bias) * (d // h),
            lambda d, h, bias: 3 * (d + bias) * (d // h) + (d // h) * d + d * bias,
        ),
        mistake(
            "gives each projection a single number as its bias",
            "A bias is a vector: one number for each of the d_model that come out.",
            lambda d, h, bias: 4 * d**2 + 4 * bias,
        ),
        mistake(
            "adds a bias where there is none",
            "With bias=False the four projections are matrices alone.",
            lambda d, h, bias: 4 * d**2 + 4 * d,
        ),
    ),
)  # fmt: skip


def _shifted(tokens: int, by: int, sharpness: float) -> Tensor:
    """Weights that lie mostly on the token `by` places away."""
    scores = torch.zeros(tokens, tokens)
    for query in range(tokens):
        if 0 <= query + by < tokens:
            scores[query, query + by] = sharpness
    return scores.softmax(dim=-1)


def _single(tokens: int) -> Tensor:
    """Even weights, but for one query that looks sharply at the token before it."""
    scores = torch.zeros(tokens, tokens)
    scores[2, 1] = 20.0
    return scores.softmax(dim=-1)


def _all_on_one(tokens: int, key: int) -> Tensor:
    """Every query looks at the same key."""
    return torch.nn.functional.one_hot(torch.full((tokens,), key), tokens).float()


def _rows(tokens: int, *before: float, first: float = 0.0) -> Tensor:
    """Query i gives before[i − 1] to the token before it; query 0 gives `first` to the last token."""
    maps = torch.zeros(tokens, tokens)
    for query, weight in enumerate(before, start=1):
        maps[query] = (1 - weight) / (tokens - 1)
        maps[query, query - 1] = weight
    maps[0] = (1 - first) / (tokens - 1)
    maps[0, -1] = first
    return maps


def _often(maps: Tensor) -> int:
    """The head with the most queries whose largest weight lies on the token before."""
    tokens = torch.arange(1, maps.shape[-1])
    return int((maps[:, 1:].argmax(dim=-1) == tokens - 1).sum(dim=-1).argmax())


def _mean_of_diagonal(maps: Tensor, offset: int) -> Tensor:
    return maps.diagonal(offset, dim1=-2, dim2=-1).mean(dim=-1)


PREVIOUS_HEAD = Exercise(
    id="03.previous_head",
    reference=lambda maps: int(_mean_of_diagonal(maps, -1).argmax()),
    inputs=(
        (torch.stack([_shifted(4, 1, 4.0), _shifted(4, 0, 5.0), _shifted(4, -1, 3.0)]),),
        (torch.stack([_single(6), _shifted(6, -1, 3.0), _shifted(6, 1, 5.0), _all_on_one(6, 0)]),),
        (torch.stack([_shifted(5, 0, 3.0), _all_on_one(5, 1), _shifted(5, -1, 3.0)]),),
        (torch.stack([_rows(5, 0.4, 0.4, 0.4, 0.4), _rows(5, 0.9, 0.1, 0.9, 0.9)]),),
        (torch.stack([_rows(4, 0.5, 0.5, 0.5, first=1.0), _rows(4, 0.6, 0.6, 0.6)]),),
    ),
    mistakes=(
        mistake(
            "finds the head that looks at the next token",
            "Rows are queries, columns are keys. The token before query i is key i − 1: below the diagonal, "
            "offset −1.",
            lambda maps: int(_mean_of_diagonal(maps, 1).argmax()),
        ),
        mistake(
            "finds the head that looks at the token itself",
            "On the diagonal, offset 0, a token looks at itself. The token before it is one place below.",
            lambda maps: int(_mean_of_diagonal(maps, 0).argmax()),
        ),
        mistake(
            "goes by the largest single weight",
            "One query that looks back sharply does not make a habit. Take the mean over all queries.",
            lambda maps: int(maps.diagonal(-1, dim1=-2, dim2=-1).amax(dim=-1).argmax()),
            lambda maps: int(maps.flatten(1).amax(dim=-1).argmax()),
        ),
        mistake(
            "counts how often the word before gets the largest weight",
            "A little more than the others, always, is less than nearly everything, most of the time. Take "
            "the mean of the weights.",
            _often,
        ),
        mistake(
            "lets the first word look back to the last one",
            "The first word has none before it. maps[:, 0, -1], or roll, reads the weight that it gives to "
            "the last: leave query 0 out.",
            lambda maps: int(maps.roll(1, dims=-1).diagonal(dim1=-2, dim2=-1).mean(dim=-1).argmax()),
        ),
        mistake(
            "adds up everything below the diagonal",
            "That finds heads that look back anywhere, such as at the first token. Asked is the token just "
            "before.",
            lambda maps: int(maps.tril(-1).sum(dim=(-2, -1)).argmax()),
        ),
        mistake(
            "returns the weight instead of the head",
            "Asked is the number of the head: argmax, not max.",
            lambda maps: _mean_of_diagonal(maps, -1).max().item(),
            lambda maps: _mean_of_diagonal(maps, -1),
        ),
        mistake(
            "counts the heads from 1",
            "Heads, like all axes of a tensor, are counted from 0.",
            lambda maps: int(_mean_of_diagonal(maps, -1).argmax()) + 1,
        ),
    ),
)  # fmt: skip

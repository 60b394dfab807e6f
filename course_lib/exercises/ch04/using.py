"""Using position encodings: the starting position, and adding them to the embeddings."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal
from course_lib.layers.multi_head_attention import attention
from course_lib.layers.positions import sinusoidal


def _rows(first: Callable[[int, int], int]) -> Answer:
    """Add rows of the table, beginning at first(start, tokens)."""

    def add(x: Tensor, table: Tensor, start: int) -> Tensor:
        tokens = x.shape[-2]
        row = first(start, tokens)
        return x + table[row : row + tokens]

    return add


START = Exercise(
    id="04.start",
    reference=_rows(lambda start, tokens: start),
    inputs=(
        (torch.zeros(1, 1, 2), torch.arange(8.0).reshape(4, 2), 0),
        (torch.zeros(1, 1, 2), torch.arange(8.0).reshape(4, 2), 2),
        (normal(2, 3, 6), sinusoidal(11, 6), 4),
    ),
    mistakes=(
        mistake(
            "your code ignores `start`",
            "A token that is decoded alone would always get position 0. The first row to add is "
            "table[start].",
            _rows(lambda start, tokens: 0),
        ),
        mistake(
            "your code begins one row too late",
            "The `start` tokens before have positions 0 to start − 1. The next position is `start`.",
            _rows(lambda start, tokens: start + 1),
        ),
        mistake(
            "your code begins one row too early",
            "The `start` tokens before have positions 0 to start − 1. The next position is `start`.",
            _rows(lambda start, tokens: max(start - 1, 0)),
        ),
        mistake(
            "your code gives every new token the same position",
            "table[start] is a single row. Each new token needs its own: table[start : start + tokens].",
            lambda x, table, start: x + table[start],
        ),
        mistake(
            "your code counts the rows along the batch",
            "x.shape[0] is the batch. The tokens are the second-to-last axis, x.shape[1] here.",
            lambda x, table, start: x + table[start : start + x.shape[0]],
        ),
        mistake(
            "your code ends the slice at the number of tokens",
            "That gives too few rows if start > 0. End the slice at start + tokens.",
            lambda x, table, start: x + table[start : x.shape[-2]],
        ),
        mistake(
            "your code multiplies instead of adding",
            "At position 0 every sine is 0, so multiplying would erase half of the embedding. Add the rows.",
            lambda x, table, start: x * table[start : start + x.shape[-2]],
        ),
        mistake(
            "your slice does not end where the tokens end",
            "Add one row for each token: table[start : start + tokens].",
            lambda x, table, start: x + table[start:],
            lambda x, table, start: x + table[start : start + x.shape[-2] + 1],
        ),
        mistake(
            "your code returns the positions without x",
            "Add the rows of the table to x.",
            lambda x, table, start: table[start : start + x.shape[-2]],
            lambda x, table, start: table[start : start + x.shape[-2]].expand_as(x),
        ),
    ),
)


def _adds(q: int, k: int, v: int, after: int = 0) -> Answer:
    """Self-attention with the table added q, k, v, after times to queries, keys, values, output."""

    def attend(x: Tensor, table: Tensor) -> Tensor:
        p = table[: x.shape[-2]]
        return attention(x + q * p, x + k * p, x + v * p)[0] + after * p

    return attend


ADDED = Exercise(
    id="04.added",
    reference=_adds(1, 1, 1),
    inputs=(
        (torch.zeros(2, 2), torch.tensor([[0.0, 1.0], [1.0, 0.0], [5.0, 5.0]])),
        (normal(3, 4), sinusoidal(5, 4)),
        (normal(2, 3, 6, seed=1), sinusoidal(7, 6)),
    ),
    mistakes=(
        mistake(
            "your code adds the positions after the attention",
            "By then the weights have been computed without positions. Add them before queries and "
            "keys meet.",
            _adds(0, 0, 0, after=1),
        ),
        mistake(
            "your code adds the positions before and after the attention",
            "The values already carry their positions. Adding them once, before, is enough.",
            _adds(1, 1, 1, after=1),
        ),
        mistake(
            "your code does not add the positions at all",
            "Does your code use `table`? Without it, any order of the words gives the same averages.",
            _adds(0, 0, 0),
        ),
        mistake(
            "your code adds the positions only to queries and keys",
            "That is where RoPE acts. Added positions are part of the embedding, so the values have "
            "them too.",
            _adds(1, 1, 0),
        ),
        mistake(
            "your code adds the positions only to the queries",
            "A query that knows its position cannot find a key that does not know its own. Add them to "
            "x, once.",
            _adds(1, 0, 0),
        ),
        mistake(
            "your code adds the positions only to the values",
            "The weights do not depend on the values, so they would ignore the word order. Add them to "
            "x, once.",
            _adds(0, 0, 1),
        ),
        mistake(
            "your code multiplies instead of adding",
            "At position 0 every sine is 0, so multiplying would erase half of the embedding. Add the rows.",
            lambda x, table: attention(*[x * table[: x.shape[-2]]] * 3)[0],
        ),
        mistake(
            "your code adds the positions only to keys and values",
            "A query must know its own position to look for a relative one. Add them to x, once.",
            _adds(0, 1, 1),
        ),
        mistake(
            "your code leaves out the words",
            "Add the positions to x; the table alone is the same for every sentence.",
            lambda x, table: attention(*[table[: x.shape[-2]].expand_as(x)] * 3)[0],
            lambda x, table: attention(*[table[: x.shape[-2]]] * 3)[0],
        ),
        mistake(
            "your code adds the input again",
            "The skip connection comes in chapter 5. Return the result of the attention.",
            lambda x, table: _adds(1, 1, 1)(x, table) + x,
            lambda x, table: _adds(1, 1, 1, after=1)(x, table) + x,
        ),
        mistake(
            "your code subtracts the positions",
            "Add them: x + table[: x.shape[-2]].",
            _adds(-1, -1, -1),
        ),
        mistake(
            "your code begins at position 1",
            "Positions count from 0: the first rows of the table are table[: x.shape[-2]].",
            lambda x, table: attention(*[x + table[1 : 1 + x.shape[-2]]] * 3)[0],
        ),
        mistake(
            "your code concatenates the positions",
            "The task adds the positions to the words, so the width stays d.",
            lambda x, table: attention(*[torch.cat([x, table[: x.shape[-2]].expand_as(x)], dim=-1)] * 3)[0],
        ),
    ),
)

"""Where positions go: into the embeddings, and with the right start."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.attention import attention
from course_lib.exercises.exercise import Answer, Exercise, mistake, normal
from course_lib.positions import sinusoidal


def _rows(first: Callable[[int, int], int]) -> Answer:
    """Adds the rows of the table from the one that `first` finds from start and the number of tokens."""

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
            "ignores start",
            "This is d2l's slip: a token that is decoded alone gets position 0 each time. The first row "
            "to be added is table[start].",
            _rows(lambda start, tokens: 0),
        ),
        mistake(
            "begins one row too late",
            "start tokens have been read, and they had the positions 0 to start − 1; the next one is start.",
            _rows(lambda start, tokens: start + 1),
        ),
        mistake(
            "begins one row too early",
            "start tokens have been read, and they had the positions 0 to start − 1; the next one is start.",
            _rows(lambda start, tokens: max(start - 1, 0)),
        ),
        mistake(
            "gives every new token the same position",
            "table[start] is one row. The tokens that come in together need as many rows as there are "
            "tokens: table[start : start + tokens].",
            lambda x, table, start: x + table[start],
        ),
        mistake(
            "counts the rows along the batch",
            "The tokens are the last but one axis of x, x.shape[1] here; x.shape[0] is the batch.",
            lambda x, table, start: x + table[start : start + x.shape[0]],
        ),
        mistake(
            "takes rows up to the number of tokens, not that many",
            "The slice ends at start + tokens, not at tokens.",
            lambda x, table, start: x + table[start : x.shape[-2]],
        ),
        mistake(
            "multiplies instead of adding",
            "Position 0 holds zeros at every sine: multiplied, half of the word would be gone.",
            lambda x, table, start: x * table[start : start + x.shape[-2]],
        ),
    ),
)


def _adds(q: int, k: int, v: int, after: int = 0) -> Answer:
    """Self-attention with the table added so many times to queries, keys, values and output."""

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
            "adds the positions after the attention",
            "The weights have been computed by then, from words without places. Positions must be there "
            "before the queries look for keys.",
            _adds(0, 0, 0, after=1),
        ),
        mistake(
            "adds them before and after",
            "Once is enough: the values have brought their positions along.",
            _adds(1, 1, 1, after=1),
        ),
        mistake(
            "does not add them at all",
            "Is the table used? Without it every order of the words gives the same averages.",
            _adds(0, 0, 0),
        ),
        mistake(
            "adds them to queries and keys only",
            "That is where rotary positions act. Added positions are part of the embedding itself, so the "
            "values have them too.",
            _adds(1, 1, 0),
        ),
        mistake(
            "adds them to the queries only",
            "A query that knows its place cannot find a key that does not know its own. Add them to x, once.",
            _adds(1, 0, 0),
        ),
        mistake(
            "adds them to the values only",
            "The weights do not see the values: who looks at whom would not depend on the order.",
            _adds(0, 0, 1),
        ),
        mistake(
            "multiplies instead of adding",
            "Position 0 holds zeros at every sine: multiplied, half of the word would be gone.",
            lambda x, table: attention(*[x * table[: x.shape[-2]]] * 3)[0],
        ),
    ),
)

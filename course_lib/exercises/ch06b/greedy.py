"""Greedy decoding."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.text.tokenizers import EOS

Choose = Callable[[Tensor], int]


def _likeliest(logits: Tensor) -> int:
    return int(logits.argmax())


def _greedy(choose: Choose = _likeliest, feed_back: bool = True, stop: bool = True, limit: int = 0) -> Answer:
    """Greedy decoding with a table of logits. limit: how many tokens more than max_tokens to generate."""

    def decode(table: Tensor, start: int, end: int, max_tokens: int) -> list[int]:
        ids, last = [], start
        while len(ids) < max_tokens + limit:
            token = choose(table[last])
            if token == end and stop:
                break
            ids.append(token)
            last = token if feed_back else start
        return ids

    return decode


def _with_end(table: Tensor, start: int, end: int, max_tokens: int) -> list[int]:
    ids = _greedy()(table, start, end, max_tokens)
    return [*ids, end] if len(ids) < max_tokens else ids


def _start_too(table: Tensor, start: int, end: int, max_tokens: int) -> list[int]:
    return [start, *_greedy()(table, start, end, max_tokens)]


def _start_counted(table: Tensor, start: int, end: int, max_tokens: int) -> list[int]:
    return [start, *_greedy(limit=-1)(table, start, end, max_tokens)]


def _both_ends(table: Tensor, start: int, end: int, max_tokens: int) -> list[int]:
    return [start, *_with_end(table, start, end, max_tokens)]


def _without_limit(table: Tensor, start: int, end: int, max_tokens: int) -> list[int]:
    return _greedy()(table, start, end, max_tokens=len(table))


def _skips_end(table: Tensor, start: int, end: int, max_tokens: int) -> list[int]:
    ids, last = [], start
    for _ in range(max_tokens):
        last = _likeliest(table[last])
        if last != end:
            ids.append(last)
    return ids


def _by_column(table: Tensor, start: int, end: int, max_tokens: int) -> list[int]:
    return _greedy()(table.T, start, end, max_tokens)


def _fixed_end(table: Tensor, start: int, end: int, max_tokens: int) -> list[int]:
    return _greedy()(table, start, EOS, max_tokens)


def _row_after_row(table: Tensor, start: int, end: int, max_tokens: int) -> list[int]:
    ids: list[int] = []
    while len(ids) < max_tokens and (token := _likeliest(table[len(ids) % len(table)])) != end:
        ids.append(token)
    return ids


def _greedy_in_whole_table(table: Tensor, start: int, end: int, max_tokens: int) -> list[int]:
    return _greedy()(table.flatten().expand(len(table) ** 2, -1), start, end, max_tokens)


TABLE = torch.tensor([  # 0 → 2 → 3 → 4 → 1, and after 1 it would go on: 1 → 2
    [-9.0, 0.1, 2.5, 1.0, 0.3],
    [0.0, 0.5, 0.9, 0.1, 0.4],
    [-9.0, 0.2, 0.4, 1.5, 1.2],
    [-9.0, 0.9, -0.5, 0.3, 1.1],
    [-9.0, 2.0, 0.6, 0.8, -1.0],
])  # fmt: skip

GREEDY = Exercise(
    id="06b.greedy",
    reference=lambda table, start, end, max_tokens: _greedy()(table, start, end, max_tokens),
    inputs=((TABLE, 0, 1, 10), (TABLE, 3, 1, 10), (TABLE, 0, 1, 1), (TABLE, 2, 4, 6), (TABLE, 4, 3, 5)),
    mistakes=(
        mistake(
            "your code returns `end` as well",
            "The end token marks where to stop; it is not part of the text. Stop before you append it.",
            _with_end,
        ),
        mistake(
            "your code returns `start` as well",
            "The start token is what the model reads first, not what it generates. Return only new tokens.",
            _start_too,
            _start_counted,
            _both_ends,
        ),
        mistake(
            "your code goes on after `end`",
            "What follows the end token has no meaning. Leave the loop as soon as the model chooses `end`.",
            _greedy(stop=False),
        ),
        mistake(
            "your code skips `end` and goes on",
            "`continue` starts the next round, so the text goes on after its end. Leave the loop: `break`.",
            _skips_end,
        ),
        mistake(
            "your code looks up a column of the table",
            "Row i of the table holds the logits after token i. Use table[last].",
            _by_column,
        ),
        mistake(
            "your code stops at a fixed id instead of `end`",
            "Which id ends a text is an argument. Compare with `end`.",
            _fixed_end,
        ),
        mistake(
            "your code takes a logit for a token",
            "`max` returns the largest logit; `argmax` says which token has it.",
            _greedy(choose=lambda logits: int(logits.max())),
        ),
        mistake(
            "your code reads the start token at every step",
            "The token you have just chosen is the next input. Look up the row of the newest token.",
            _greedy(feed_back=False),
        ),
        mistake(
            "your code ignores `max_tokens`",
            "Nothing guarantees that the model ever chooses `end`. Stop after `max_tokens` new tokens.",
            _without_limit,
        ),
        mistake(
            "your code takes the least likely token",
            "The most likely token is the one with the largest logit. Use argmax.",
            _greedy(choose=lambda logits: int(logits.argmin())),
        ),
        mistake(
            "your code generates one token too many",
            "Count the new tokens: there may be `max_tokens` of them, not one more.",
            _greedy(limit=1),
        ),
        mistake(
            "your code generates one token too few",
            "The start token does not count. There may be `max_tokens` new tokens.",
            _greedy(limit=-1),
        ),
        mistake(
            "your code stops at the first token that is not `end`",
            "Turn the comparison round: stop if the token *is* `end`.",
            lambda table, start, end, max_tokens: [],
        ),
        mistake(
            "your code reads the rows of the table one after the other",
            "Row i belongs to token i. The next row is that of the token you have just chosen.",
            _row_after_row,
        ),
        mistake(
            "your code takes the largest logit of the whole table",
            "Look at the row of the newest token alone: table[last].",
            _greedy_in_whole_table,
        ),
    ),
)

"""Greedy decoding."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake

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


TABLE = torch.tensor([  # 0 → 2 → 3 → 4 → 1
    [-9.0, 0.1, 2.5, 1.0, 0.3],
    [0.0, 0.5, 0.2, 0.1, 0.4],
    [-9.0, 0.2, 0.4, 1.5, 1.2],
    [-9.0, 0.9, -0.5, 0.3, 1.1],
    [-9.0, 2.0, 0.6, 0.8, -1.0],
])  # fmt: skip

GREEDY = Exercise(
    id="06b.greedy",
    reference=lambda table, start, end, max_tokens: _greedy()(table, start, end, max_tokens),
    inputs=((TABLE, 0, 1, 10), (TABLE, 3, 1, 10), (TABLE, 0, 1, 1)),
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
    ),
)

"""Turning queries and keys by their positions."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal
from course_lib.positions import rotate, sinusoidal


def _rotary(
    first: Callable[[int], int] = lambda start: start,
    sign: int = 1,
    base: float = 10000.0,
    halves: bool = False,
    swapped: bool = False,
) -> Answer:
    """`rotate` with the positions from `start`, with optional faults."""

    def turn(x: Tensor, start: int) -> Tensor:
        tokens, d = x.shape[-2:]
        table = sinusoidal(first(start) + tokens, d, base)[first(start) :]
        table = table * torch.tensor([float(sign), 1.0]).repeat(d // 2)
        if swapped:
            table = table.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
        if not halves:
            return rotate(x, table)
        pairs = x.unflatten(-1, (2, -1)).transpose(-2, -1).flatten(-2)
        return rotate(pairs, table).unflatten(-1, (-1, 2)).transpose(-2, -1).flatten(-2)

    return turn


def _cosines_only(x: Tensor, start: int) -> Tensor:
    tokens, d = x.shape[-2:]
    return x * sinusoidal(start + tokens, d)[start:, 1::2].repeat_interleave(2, dim=-1)


def _overwritten(x: Tensor, start: int) -> Tensor:
    """The second feature of a pair is made from the first one's new value."""
    table = sinusoidal(start + x.shape[-2], x.shape[-1])[start:]
    sin, cos = table[..., 0::2], table[..., 1::2]
    a = x[..., 0::2] * cos - x[..., 1::2] * sin
    return torch.stack([a, a * sin + x[..., 1::2] * cos], dim=-1).flatten(-2)


def _side_by_side(x: Tensor, start: int) -> Tensor:
    """All first features of the pairs, and all second ones after them."""
    turned = _rotary()(x, start)
    return torch.cat([turned[..., 0::2], turned[..., 1::2]], dim=-1)


ROTATE = Exercise(
    id="04.rotate",
    reference=_rotary(),
    inputs=(
        (torch.tensor([[1.0, 0.0], [1.0, 0.0]]), 0),
        (torch.tensor([[0.0, 1.0, 1.0, 0.0], [2.0, 0.0, 1.0, 3.0]]), 5),
        (normal(2, 3, 5, 6), 2),
    ),
    mistakes=(
        mistake(
            "ignores start",
            "Then every token that is decoded alone is at position 0, and not turned at all.",
            _rotary(first=lambda start: 0),
        ),
        mistake(
            "turns the other way",
            "(a, b) becomes (a cos − b sin, a sin + b cos). The scores would be right as long as queries "
            "and keys both turn this way; but they would not fit weights that were trained with the "
            "other.",
            _rotary(sign=-1),
        ),
        mistake(
            "pairs feature i with feature i + d/2",
            "That is how Llama's code orders the features. Here neighbours form a pair: 0 and 1, 2 and 3, "
            "and so on.",
            _rotary(halves=True),
        ),
        mistake(
            "overwrites the first feature before the second one is computed",
            "Both new features need both old ones. Keep a and b aside: a, b = x[..., 0::2], x[..., 1::2].",
            _overwritten,
        ),
        mistake(
            "does not put the pairs back side by side",
            "Features 0 and 1 are a pair in the result, too: stack the two parts along a new last axis, then "
            "flatten(-2), instead of cat.",
            _side_by_side,
        ),
        mistake(
            "swaps sine and cosine",
            "At position 0 the angle is 0, the cosine 1 and the sine 0: nothing must turn.",
            _rotary(swapped=True),
        ),
        mistake(
            "has the exponent i instead of 2i",
            "Pair i turns by position / 10000^(2i/d), as in the sinusoidal table.",
            _rotary(base=100.0),
        ),
        mistake(
            "adds the positions instead of turning",
            "Rotary positions multiply: the length of the vector stays as it is.",
            lambda x, start: x + sinusoidal(start + x.shape[-2], x.shape[-1])[start:],
        ),
        mistake(
            "leaves out the sines",
            "Each new feature needs both old ones; the cosines alone make the vector shorter.",
            _cosines_only,
        ),
    ),
)

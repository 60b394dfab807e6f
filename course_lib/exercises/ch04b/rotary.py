"""Rotary position embeddings (RoPE)."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal
from course_lib.layers.positions import rotate, sinusoidal


def _rotary(
    first: Callable[[int], int] = lambda start: start,
    sign: int = 1,
    base: float = 10000.0,
    halves: bool = False,
    swapped: bool = False,
) -> Answer:
    """RoPE for positions from `start`, with optional mistakes."""

    def rotate_from_start(x: Tensor, start: int) -> Tensor:
        tokens, d = x.shape[-2:]
        table = sinusoidal(first(start) + tokens, d, base)[first(start) :]
        table = table * torch.tensor([float(sign), 1.0]).repeat(d // 2)
        if swapped:
            table = table.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
        if not halves:
            return rotate(x, table)
        pairs = x.unflatten(-1, (2, -1)).transpose(-2, -1).flatten(-2)
        return rotate(pairs, table).unflatten(-1, (-1, 2)).transpose(-2, -1).flatten(-2)

    return rotate_from_start


def _cosines_only(x: Tensor, start: int) -> Tensor:
    tokens, d = x.shape[-2:]
    return x * sinusoidal(start + tokens, d)[start:, 1::2].repeat_interleave(2, dim=-1)


def _overwritten(x: Tensor, start: int) -> Tensor:
    """RoPE that computes the second feature of a pair from the new value of the first."""
    table = sinusoidal(start + x.shape[-2], x.shape[-1])[start:]
    sin, cos = table[..., 0::2], table[..., 1::2]
    a = x[..., 0::2] * cos - x[..., 1::2] * sin
    return torch.stack([a, a * sin + x[..., 1::2] * cos], dim=-1).flatten(-2)


def _no_minus(x: Tensor, start: int) -> Tensor:
    table = sinusoidal(start + x.shape[-2], x.shape[-1])[start:]
    sin, cos, a, b = table[:, 0::2], table[:, 1::2], x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos + b * sin, a * sin + b * cos], dim=-1).flatten(-2)


def _side_by_side(x: Tensor, start: int) -> Tensor:
    """RoPE that returns all first features of the pairs, then all second ones."""
    output = _rotary()(x, start)
    return torch.cat([output[..., 0::2], output[..., 1::2]], dim=-1)


ROTATE = Exercise(
    id="04b.rotate",
    reference=_rotary(),
    inputs=(
        (torch.tensor([[1.0, 0.0], [1.0, 0.0]]), 0),
        (torch.tensor([[0.0, 1.0, 1.0, 0.0], [2.0, 0.0, 1.0, 3.0]]), 5),
        (normal(2, 3, 5, 6), 2),
    ),
    mistakes=(
        mistake(
            "your code ignores `start`",
            "Then a token that is decoded alone always has position 0 and is never rotated. The first "
            "token has position `start`.",
            _rotary(first=lambda start: 0),
        ),
        mistake(
            "your code rotates in the opposite direction",
            "(a, b) becomes (a cos − b sin, a sin + b cos). The scores would still be right if queries "
            "and keys both rotate your way, but not with weights trained the other way.",
            _rotary(sign=-1),
        ),
        mistake(
            "your code pairs feature i with feature i + d/2",
            "That is the pairing of Hugging Face's Llama, and of the next exercise. Here, as in Meta's own "
            "code, neighbors form a pair: 0 and 1, 2 and 3, and so on.",
            _rotary(halves=True),
        ),
        mistake(
            "your code overwrites the first feature before it computes the second",
            "Both new features need both old ones. Save the old values first: a, b = x[..., 0::2], "
            "x[..., 1::2].",
            _overwritten,
        ),
        mistake(
            "your code does not interleave the pairs again",
            "Features 0 and 1 must be a pair in the result too. Stack the two parts along a new last "
            "axis and flatten(-2), instead of cat.",
            _side_by_side,
        ),
        mistake(
            "your code swaps sine and cosine",
            "At position 0 the angle is 0, so the cosine is 1, the sine is 0, and nothing rotates.",
            _rotary(swapped=True),
        ),
        mistake(
            "your code uses the exponent i/d, or the base 100",
            "Both give the same angles, since 10000^(i/d) = 100^(2i/d). Pair i rotates by position / "
            "10000^(2i/d), as in the sinusoidal table.",
            _rotary(base=100.0),
        ),
        mistake(
            "your code adds the positions instead of rotating",
            "RoPE rotates each pair of features, which keeps the length of the vector. Do not add anything.",
            lambda x, start: x + sinusoidal(start + x.shape[-2], x.shape[-1])[start:],
        ),
        mistake(
            "your code leaves out the sines",
            "Each new feature needs both old ones. The cosines alone shorten the vector.",
            _cosines_only,
        ),
        mistake(
            "your positions begin one too late",
            "The first token has position `start`, the next one start + 1.",
            _rotary(first=lambda start: start + 1),
        ),
        mistake(
            "your code leaves out the minus",
            "(a, b) becomes (a cos − b sin, a sin + b cos). Without the minus it is no rotation, and the "
            "vector changes its length.",
            _no_minus,
        ),
        mistake(
            "your code multiplies by the table, feature by feature",
            "Each new feature needs both old ones of its pair: (a cos − b sin, a sin + b cos).",
            lambda x, start: x * sinusoidal(start + x.shape[-2], x.shape[-1])[start:],
        ),
        mistake(
            "your code adds x to the rotated vectors",
            "Rotation replaces x; there is no skip connection here.",
            lambda x, start: _rotary()(x, start) + x,
        ),
        mistake(
            "your code has another base",
            "The base is 10000, the default of `sinusoidal`.",
            _rotary(base=1000.0),
            _rotary(base=500000.0),
        ),
    ),
)

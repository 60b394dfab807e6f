"""The two pairings of RoPE: rotating feature i with i + d/2, and converting weights from one to the other."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal, numbered
from course_lib.layers.positions import rotate, sinusoidal


def _sines_and_cosines(x: Tensor, start: int) -> tuple[Tensor, Tensor]:
    table = sinusoidal(start + x.shape[-2], x.shape[-1])[start:]
    return table[:, 0::2], table[:, 1::2]


def _half_turned(x: Tensor) -> Tensor:
    a, b = x.chunk(2, dim=-1)
    return torch.cat([-b, a], dim=-1)


def _halves(x: Tensor, start: int) -> Tensor:
    sin, cos = (torch.cat([part, part], dim=-1) for part in _sines_and_cosines(x, start))
    return x * cos + _half_turned(x) * sin


def _neighbors(x: Tensor, start: int) -> Tensor:
    return rotate(x, sinusoidal(start + x.shape[-2], x.shape[-1])[start:])


def _interleaved_angles(x: Tensor, start: int) -> Tensor:
    sin, cos = (part.repeat_interleave(2, dim=-1) for part in _sines_and_cosines(x, start))
    return x * cos + _half_turned(x) * sin


def _interleaved_result(x: Tensor, start: int) -> Tensor:
    return torch.stack(_halves(x, start).chunk(2, dim=-1), dim=-1).flatten(-2)


def _mirrored(x: Tensor, start: int) -> Tensor:
    """Feature i is paired with d − 1 − i."""
    half = x.shape[-1] // 2
    ordered = torch.cat([x[..., :half], x[..., half:].flip(-1)], dim=-1)
    a, b = _halves(ordered, start).chunk(2, dim=-1)
    return torch.cat([a, b.flip(-1)], dim=-1)


def _combined(combine: Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]) -> Answer:
    """Both halves of the result from both halves of x, the sines and the cosines."""

    def rotate_halves(x: Tensor, start: int) -> Tensor:
        return torch.cat(combine(*x.chunk(2, dim=-1), *_sines_and_cosines(x, start)), dim=-1)

    return rotate_halves


HALVES = Exercise(
    id="04b.halves",
    reference=_halves,
    inputs=(
        (torch.tensor([[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]), 0),
        (torch.tensor([[0.0, 1.0, 1.0, 0.0], [2.0, 0.0, 1.0, 3.0]]), 5),
        (normal(2, 3, 5, 6), 2),
    ),
    mistakes=(
        mistake(
            "your code pairs neighbors",
            "That was exercise 1. Here the first half of the features is paired with the second half: "
            "a, b = x.chunk(2, dim=-1).",
            _neighbors,
        ),
        mistake(
            "your code ignores `start`",
            "The first token has position `start`, so its angle in pair i is start / 10000^(2i/d).",
            lambda x, start: _halves(x, 0),
        ),
        mistake(
            "your code interleaves the angles instead of repeating them",
            "Features i and i + d/2 share the angle of pair i, so the angles run 0, 1, 2, …, 0, 1, 2, …: "
            "concatenate them with themselves instead of repeat_interleave.",
            _interleaved_angles,
        ),
        mistake(
            "your code returns the pairs side by side",
            "The result keeps the order of x: first all a, then all b. Use cat, not stack and flatten.",
            _interleaved_result,
        ),
        mistake(
            "your code pairs feature i with d − 1 − i",
            "The partner of feature i lies half the width further on. Do not flip the second half.",
            _mirrored,
        ),
        mistake(
            "your code rotates in the opposite direction",
            "(a, b) becomes (a cos − b sin, a sin + b cos): the minus belongs to the first half.",
            _combined(lambda a, b, sin, cos: (a * cos + b * sin, b * cos - a * sin)),
        ),
        mistake(
            "your code leaves out the minus",
            "(a, b) becomes (a cos − b sin, a sin + b cos). Without the minus it is no rotation, and the "
            "vector changes its length.",
            _combined(lambda a, b, sin, cos: (a * cos + b * sin, a * sin + b * cos)),
        ),
        mistake(
            "your code swaps sine and cosine",
            "At position 0 the angle is 0, so the cosine is 1, the sine is 0, and nothing rotates.",
            _combined(lambda a, b, sin, cos: (a * sin - b * cos, a * cos + b * sin)),
        ),
        mistake(
            "your positions begin one too late",
            "The first token has position `start`, the next one start + 1.",
            lambda x, start: _halves(x, start + 1),
        ),
        mistake(
            "your code takes the second half for the first",
            "a is the first half of the features, b the second half: a, b = x.chunk(2, dim=-1).",
            lambda x, start: _halves(torch.cat(x.chunk(2, dim=-1)[::-1], dim=-1), start),
        ),
        mistake(
            "your code adds the positions instead of rotating",
            "RoPE rotates each pair of features, which keeps the length of the vector. Do not add anything.",
            lambda x, start: x + sinusoidal(start + x.shape[-2], x.shape[-1])[start:],
        ),
    ),
)


def _reordered(weight: Tensor) -> Tensor:
    return torch.cat([weight[0::2], weight[1::2]])


CONVERT = Exercise(
    id="04b.convert",
    reference=_reordered,
    inputs=((numbered(6, 2),), (normal(8, 6),), (normal(10, 10, seed=1),)),
    mistakes=(
        mistake(
            "your code leaves the order as it is",
            "Row 1 computes feature 1, which neighbors pair with feature 0. With halves, the partner of "
            "feature 0 is feature d/2, so row 1 must move there.",
            lambda weight: weight,
        ),
        mistake(
            "your code converts in the opposite direction",
            "It turns halves into neighbors. Collect the even rows first, then the odd ones.",
            lambda weight: torch.stack(weight.chunk(2), dim=1).flatten(0, 1),
        ),
        mistake(
            "your code reorders the columns",
            "The columns belong to the features of x, which keep their order. The features of the query are "
            "the rows of the weight.",
            lambda weight: torch.cat([weight[:, 0::2], weight[:, 1::2]], dim=1),
        ),
        mistake(
            "your code puts the odd rows first",
            "Each pair (a, b) becomes (b, a), which rotates the opposite way. The even rows come first.",
            lambda weight: torch.cat([weight[1::2], weight[0::2]]),
        ),
        mistake(
            "your code swaps the two halves",
            "That turns no pair of neighbors into a pair of halves. The even rows come first, then the odd "
            "ones.",
            lambda weight: torch.cat(weight.chunk(2)[::-1]),
        ),
        mistake(
            "your code drops rows",
            "Every row is needed, the odd ones after the even ones.",
            lambda weight: weight[0::2],
            lambda weight: weight[1::2],
        ),
    ),
)

"""Sinusoidal position encodings: the table, its wavelengths, and the rotation that shifts a position."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, value


def _table(
    sine: Callable[[int, int], float],
    cosine: Callable[[int, int], float] | None = None,
    base: float = 10000.0,
    first: int = 0,
    wave: tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]] = (torch.sin, torch.cos),
    interleaved: bool = True,
) -> Answer:
    """Sinusoidal table; `sine` and `cosine` give the exponent of the base for pair i and width d."""

    def table(tokens: int, d_model: int) -> Tensor:
        positions = torch.arange(first, first + tokens, dtype=torch.float64)[:, None]
        columns = [
            function(positions * base ** -torch.tensor([exponent(i, d_model) for i in range(d_model // 2)]))
            for function, exponent in zip(wave, (sine, cosine or sine), strict=True)
        ]
        return (torch.stack(columns, -1).flatten(-2) if interleaved else torch.cat(columns, -1)).float()

    return table


def _paper(i: int, d: int) -> float:
    return 2 * i / d


SINUSOIDAL = Exercise(
    id="04.sinusoidal",
    reference=_table(_paper),
    inputs=((2, 2), (3, 4), (7, 6), (1500, 4)),
    mistakes=(
        mistake(
            "your code uses the exponent i/d_model, or the base 100",
            "Both give the same numbers, since 10000^(i/d_model) = 100^(2i/d_model), and both miss the long "
            "wavelengths. The base is 10000, the exponent of pair i, features 2i and 2i+1, is 2i/d_model.",
            _table(lambda i, d: i / d),
        ),
        mistake(
            "your code doubles the exponent",
            "torch.arange(0, d_model, 2) is already 2i, so do not multiply by 2 again. The exponent is "
            "2i/d_model.",
            _table(lambda i, d: 4 * i / d),
        ),
        mistake(
            "your code gives the cosine a different exponent",
            "The sine and cosine of a pair share one angle, position / base^(2i/d_model). Otherwise "
            "they are not a point on a circle, and no rotation shifts them.",
            _table(_paper, lambda i, d: (2 * i + 1) / d),
        ),
        mistake(
            "your code swaps sine and cosine",
            "Even features hold the sine and odd features the cosine. Position 0 is 0, 1, 0, 1, and so on.",
            _table(_paper, wave=(torch.cos, torch.sin)),
        ),
        mistake(
            "your code puts all sines before all cosines",
            "That order works too, but here the sine and cosine of a pair are adjacent. Fill table[:, "
            "0::2] and table[:, 1::2].",
            _table(_paper, interleaved=False),
        ),
        mistake(
            "your code multiplies by the power of the base instead of dividing",
            "The wavelengths must grow from pair to pair. Divide the position by base^(2i/d_model).",
            _table(lambda i, d: -2 * i / d),
        ),
        mistake(
            "your code begins at position 1",
            "Positions count from 0. The first row is 0, 1, 0, 1, and so on.",
            _table(_paper, first=1),
        ),
        mistake(
            "your code gives all pairs the same wavelength",
            "The exponent must grow with the pair, from 0 to almost 1. Use 2i/d_model.",
            _table(lambda i, d: 0.0),
        ),
        mistake(
            "your code has two sines",
            "Each pair holds the sine and the cosine of one angle: the sine alone does not say whether the "
            "hand points up or down.",
            _table(_paper, wave=(torch.sin, torch.sin)),
        ),
    ),
)


WAVELENGTH = Exercise(
    id="04.wavelength",
    reference=value(20 * math.pi),
    inputs=((),),
    mistakes=(
        mistake(
            "your answer leaves out 2π",
            "sin(position / 10) repeats when position / 10 has grown by 2π. Solve for the position.",
            value(10),
        ),
        mistake(
            "your answer is the frequency, not the wavelength",
            "The angle grows by 1/10 per position. How many positions make a full turn?",
            value(0.1),
            value(1 / (20 * math.pi)),
        ),
        mistake(
            "your answer uses the exponent i/d_model instead of 2i/d_model",
            "Pair 16 holds the features 32 and 33. The exponent is 2 · 16/128 = 32/128, not 16/128.",
            value(2 * math.pi * 10000 ** (16 / 128)),
            value(10000 ** (16 / 128)),
        ),
        mistake(
            "your answer takes i = 32, or divides by the 64 pairs instead of d_model",
            "Both make the exponent 1/2, twice too large. Features 32 and 33 are pair i = 16, with "
            "the exponent 2i/d_model = 32/128.",
            value(2 * math.pi * 10000 ** (32 / 64)),
            value(10000 ** (32 / 64)),
        ),
        mistake(
            "your answer is the longest possible wavelength",
            "2π·10000 is the limit that the last pair approaches. Pair 16 of 64 is a quarter of the "
            "way there, on a logarithmic scale.",
            value(2 * math.pi * 10000),
        ),
        mistake(
            "your answer goes a quarter of the way on a linear scale",
            "Each wavelength is a constant multiple of the previous one. A quarter of the way is "
            "therefore the fourth root of 10000.",
            value(2 * math.pi * 2500),
            value(2500),
        ),
        mistake(
            "your answer is half a turn",
            "A full turn is 2π.",
            value(10 * math.pi),
        ),
        mistake(
            "your answer counts degrees",
            "Sine and cosine take radians. A full turn is 2π.",
            value(360 * 10000 ** (32 / 128)),
        ),
    ),
    tolerance=1e-3,
)


def _rotation(sign: int, angle: Callable[[float, int], float] = lambda frequency, k: frequency * k) -> Answer:
    def matrix(frequency: float, k: int) -> Tensor:
        sin, cos = math.sin(angle(frequency, k)), math.cos(angle(frequency, k))
        return torch.tensor([[cos, sign * sin], [-sign * sin, cos]])

    return matrix


def _equal_signs(frequency: float, k: int) -> Tensor:
    sin, cos = math.sin(frequency * k), math.cos(frequency * k)
    return torch.tensor([[cos, sin], [sin, cos]])


SHIFT = Exercise(
    id="04.shift",
    reference=_rotation(1),
    inputs=((1.0, 1), (0.1, 3), (0.25, -2)),
    mistakes=(
        mistake(
            "your code shifts in the opposite direction",
            "The transposed matrix moves position p to p − k. It would be right for (cos, sin), with "
            "the cosine first.",
            _rotation(-1),
        ),
        mistake(
            "your code forgets the frequency",
            "The angle grows by `frequency` from one position to the next. After k positions it has "
            "grown by frequency · k.",
            _rotation(1, lambda frequency, k: k),
        ),
        mistake(
            "your code forgets the distance",
            "That matrix shifts by one position. After k positions the angle has grown by frequency · k.",
            _rotation(1, lambda frequency, k: frequency),
        ),
        mistake(
            "your code divides by the frequency",
            "The angle at position p is frequency · p. The shift therefore rotates by frequency · k.",
            _rotation(1, lambda frequency, k: k / frequency),
        ),
        mistake(
            "your matrix is not a rotation: both sines have the same sign",
            "cos(a + b) = cos a cos b − sin a sin b. One of the two sines needs a minus.",
            _equal_signs,
            lambda frequency, k: _equal_signs(-frequency, k),
        ),
        mistake(
            "your code mixes up degrees and radians",
            "math.sin and torch.sin take radians, and frequency · k is already in radians. Leave out "
            "the conversion.",
            _rotation(1, lambda frequency, k: math.radians(frequency * k)),
            _rotation(1, lambda frequency, k: math.degrees(frequency * k)),
        ),
        mistake(
            "your code swaps sine and cosine",
            "A shift by 0 positions must change nothing: the cosines belong on the diagonal.",
            lambda frequency, k: torch.tensor(
                [
                    [math.sin(frequency * k), math.cos(frequency * k)],
                    [-math.cos(frequency * k), math.sin(frequency * k)],
                ]
            ),
        ),
        mistake(
            "your code adds the frequency and the distance",
            "Each of the k positions turns the hand by `frequency`: the angle is their product.",
            _rotation(1, lambda frequency, k: frequency + k),
        ),
        mistake(
            "your code takes the frequency for a number of turns",
            "`frequency` is the angle per position, in radians. Leave out 2π.",
            _rotation(1, lambda frequency, k: 2 * math.pi * frequency * k),
        ),
        mistake(
            "your matrix is a reflection",
            "Both entries on the diagonal are cos: for a shift by 0, the matrix must change nothing.",
            lambda frequency, k: _rotation(1)(frequency, k) * torch.tensor([[1.0, 1.0], [1.0, -1.0]]),
        ),
    ),
)

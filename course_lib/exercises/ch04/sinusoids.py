"""The table of sines and cosines, its wavelengths, and the matrix that shifts a position."""

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
    """A table of positions; `sine` and `cosine` give the exponent of the base for pair i and width d."""

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
    inputs=((2, 2), (3, 4), (7, 6)),
    mistakes=(
        mistake(
            "has the exponent i instead of 2i",
            "Pair i holds the features 2i and 2i+1, and its exponent is 2i/d_model. With i/d_model the "
            "base is in effect 100, and the slow waves are missing.",
            _table(lambda i, d: i / d),
        ),
        mistake(
            "counts features instead of pairs, so that the exponent is twice too large",
            "torch.arange(0, d_model, 2) already is 2i. Multiplied by 2 once more it needs the base 100, "
            "as in Kak's lecture, not 10000.",
            _table(lambda i, d: 4 * i / d),
        ),
        mistake(
            "gives the cosine an exponent of its own",
            "Sine and cosine of a pair share one angle, position / base^(2i/d_model). Otherwise they are "
            "no point on a circle, and no rotation shifts them.",
            _table(_paper, lambda i, d: (2 * i + 1) / d),
        ),
        mistake(
            "swaps sine and cosine",
            "The even features hold the sine, the odd ones the cosine: position 0 is 0, 1, 0, 1, and so on.",
            _table(_paper, wave=(torch.cos, torch.sin)),
        ),
        mistake(
            "puts all sines first and all cosines after them",
            "That is a useful order too, but another one: here sine and cosine of a pair stand side by "
            "side. table[:, 0::2] and table[:, 1::2] pick every other column.",
            _table(_paper, interleaved=False),
        ),
        mistake(
            "multiplies by the power of the base instead of dividing",
            "The waves must become longer from pair to pair, so the position is divided by "
            "base^(2i/d_model).",
            _table(lambda i, d: -2 * i / d),
        ),
        mistake(
            "begins at position 1",
            "Positions count from 0: the first row is 0, 1, 0, 1, and so on.",
            _table(_paper, first=1),
        ),
        mistake(
            "gives all pairs the same wavelength",
            "The exponent must grow with the pair, from 0 to almost 1.",
            _table(lambda i, d: 0.0),
        ),
    ),
)


WAVELENGTH = Exercise(
    id="04.wavelength",
    reference=value(20 * math.pi),
    inputs=((),),
    mistakes=(
        mistake(
            "leaves out 2π",
            "sin(position / 10) is back where it was when position / 10 has grown by 2π.",
            value(10),
        ),
        mistake(
            "is the frequency, not the wavelength",
            "The angle grows by 1/10 from position to position. How many positions does a whole turn take?",
            value(0.1),
            value(1 / (20 * math.pi)),
        ),
        mistake(
            "has the exponent i instead of 2i",
            "Pair 16 holds the features 32 and 33: the exponent is 32/128, not 16/128.",
            value(2 * math.pi * 10000 ** (16 / 128)),
            value(10000 ** (16 / 128)),
        ),
        mistake(
            "has an exponent that is twice too large",
            "The exponent is 2i/d_model = 32/128. The number of pairs is 64, but the formula divides by "
            "d_model.",
            value(2 * math.pi * 10000 ** (32 / 64)),
            value(10000 ** (32 / 64)),
        ),
        mistake(
            "is the longest possible wavelength",
            "2π·10000 is what the last pair comes close to. Pair 16 of 64 is a quarter of the way there, "
            "on a logarithmic scale.",
            value(2 * math.pi * 10000),
        ),
        mistake(
            "goes a quarter of the way on a linear scale",
            "Each pair's wavelength is the same multiple of the one before, so a quarter of the way is "
            "the fourth root of 10000.",
            value(2 * math.pi * 2500),
            value(2500),
        ),
    ),
    tolerance=1e-3,
)


def _turn(sign: int, angle: Callable[[float, int], float] = lambda frequency, k: frequency * k) -> Answer:
    def matrix(frequency: float, k: int) -> Tensor:
        sin, cos = math.sin(angle(frequency, k)), math.cos(angle(frequency, k))
        return torch.tensor([[cos, sign * sin], [-sign * sin, cos]])

    return matrix


def _mirror(frequency: float, k: int) -> Tensor:
    sin, cos = math.sin(frequency * k), math.cos(frequency * k)
    return torch.tensor([[cos, sin], [sin, cos]])


SHIFT = Exercise(
    id="04.shift",
    reference=_turn(1),
    inputs=((1.0, 1), (0.1, 3), (0.25, -2)),
    mistakes=(
        mistake(
            "shifts the wrong way",
            "The transposed matrix turns back: position p becomes p − k. It would be right for (cos, "
            "sin), with the cosine first.",
            _turn(-1),
        ),
        mistake(
            "forgets the frequency",
            "From one position to the next the angle grows by the frequency; k positions on, by frequency "
            "· k.",
            _turn(1, lambda frequency, k: k),
        ),
        mistake(
            "forgets the distance",
            "That matrix shifts by one position. k positions on, the angle has grown by frequency · k.",
            _turn(1, lambda frequency, k: frequency),
        ),
        mistake(
            "divides by the frequency",
            "The angle at position p is frequency · p, so the shift turns by frequency · k.",
            _turn(1, lambda frequency, k: k / frequency),
        ),
        mistake(
            "is no rotation: both sines have the same sign",
            "cos(a + b) = cos a cos b − sin a sin b: one of the two sines gets a minus.",
            _mirror,
            lambda frequency, k: _mirror(-frequency, k),
        ),
        mistake(
            "takes the angle for degrees",
            "math.sin and torch.sin want radians, and that is what frequency · k is.",
            _turn(1, lambda frequency, k: math.radians(frequency * k)),
            _turn(1, lambda frequency, k: math.degrees(frequency * k)),
        ),
    ),
)

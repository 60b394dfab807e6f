"""Distances: which ones look alike to rotary positions, and a mask that hides the long ones."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake


def _off(turns: float) -> float:
    """How far a number of turns is from a whole number."""
    return abs(turns - round(turns))


def _aliases(
    close: Callable[[float, float], bool] = lambda turns, slack: _off(turns) < slack,
    of_all: Callable = all,
    first: int = 1,
    last: int = 0,
    relative: bool = True,
) -> Answer:
    """Distances from distance + first to longest + last that every pair takes for `distance`."""

    def aliases(distance: int, periods: Sequence[float], longest: int, slack: float) -> list[int]:
        found = []
        for other in range(distance + first, longest + 1 + last):
            turned = other - distance if relative else other
            if of_all(close(turned / period, slack) for period in periods):
                found.append(other)
        return found

    return aliases


def _in_positions(distance: int, periods: Sequence[float], longest: int, slack: float) -> list[int]:
    others = range(distance + 1, longest + 1)
    return [o for o in others if all(_off((o - distance) / p) * p < slack for p in periods)]


def _from_one(distance: int, periods: Sequence[float], longest: int, slack: float) -> list[int]:
    return _aliases(first=1 - distance)(distance, periods, longest, slack)


ALIASES = Exercise(
    id="04b.aliases",
    reference=_aliases(),
    inputs=(
        (1, (4.0,), 13, 0.1),
        (0, (4.0,), 8, 0.25),
        (2, (1.0,), 5, 0.1),
        (0, (4.0, 6.0), 36, 0.1),
        (3, (6.3, 11.2), 128, 0.12),
        (5, (6.3, 40.0), 125, 0.06),
    ),
    mistakes=(
        mistake(
            "your code misses the distances just below a full turn",
            "2.95 turns are close to 3, but 2.95 % 1 is 0.95, not small. Measure how far the number is from "
            "the nearest integer: abs(turns - round(turns)).",
            _aliases(lambda turns, slack: turns % 1 < slack),
        ),
        mistake(
            "your code is content with one pair",
            "A score adds up all pairs. Two distances look alike only if they do so to each pair: use all.",
            _aliases(of_all=any),
        ),
        mistake(
            "your code counts the turns from distance 0",
            "The question is how far each pair turns between the two distances, (other − distance) / period.",
            _aliases(relative=False),
        ),
        mistake(
            "your code includes the distance itself",
            "No turn at all is a whole number of turns, too. Begin at distance + 1.",
            _aliases(first=0),
        ),
        mistake(
            "your code leaves out the longest distance",
            "range stops before its end. Use range(distance + 1, longest + 1).",
            _aliases(last=-1),
        ),
        mistake(
            "your code compares positions with `slack`, not turns",
            "`slack` is a fraction of a turn. Divide by the period before you round.",
            _in_positions,
        ),
        mistake(
            "your code includes what is exactly `slack` away",
            "The number of turns must be less than `slack` away from a whole number: <, not <=.",
            _aliases(lambda turns, slack: _off(turns) <= slack),
        ),
        mistake(
            "your code returns how much longer the distances are",
            "Return the distances themselves, not other − distance.",
            lambda *given: [other - given[0] for other in _aliases()(*given)],
        ),
        mistake(
            "your code begins at distance 1",
            "Only longer distances than `distance` are asked for. Begin at distance + 1.",
            _from_one,
        ),
    ),
)


def _visible(condition: Callable[[Tensor, int], Tensor]) -> Answer:
    """Mask of shape (tokens, tokens) from the distances query − key and the window."""

    def mask(tokens: int, window: int) -> Tensor:
        positions = torch.arange(tokens)
        return condition(positions[:, None] - positions, window)

    return mask


WINDOW = Exercise(
    id="04b.window",
    reference=_visible(lambda distance, window: (distance >= 0) & (distance < window)),
    inputs=((4, 2), (5, 3), (6, 1), (3, 7)),
    mistakes=(
        mistake(
            "your mask shows one token too many",
            "A query sees `window` tokens, itself included, so the distance is at most window − 1.",
            _visible(lambda distance, window: (distance >= 0) & (distance <= window)),
        ),
        mistake(
            "your mask shows one token too few",
            "The distances from 0 to window − 1 are `window` tokens. With window = 1, a token sees itself.",
            _visible(lambda distance, window: (distance >= 0) & (distance < window - 1)),
        ),
        mistake(
            "your mask lets tokens see the future",
            "The distance query − key must not be negative. Combine the window with a causal mask.",
            _visible(lambda distance, window: distance.abs() < window),
            _visible(lambda distance, window: distance < window),
        ),
        mistake(
            "your mask is only causal",
            "Tokens further back than window − 1 must be hidden, too.",
            _visible(lambda distance, window: distance >= 0),
        ),
        mistake(
            "your mask is transposed",
            "Rows are queries, columns are keys. The distance is the query's position minus the key's.",
            _visible(lambda distance, window: (distance <= 0) & (distance > -window)),
        ),
        mistake(
            "your mask is inverted",
            "In this course True means that the query may attend to the key.",
            _visible(lambda distance, window: (distance < 0) | (distance >= window)),
        ),
        mistake(
            "your mask hides each token from itself",
            "The window includes the token itself: the distance 0 is visible.",
            _visible(lambda distance, window: (distance > 0) & (distance <= window)),
            _visible(lambda distance, window: (distance > 0) & (distance < window)),
        ),
    ),
)

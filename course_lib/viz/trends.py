"""Curves in words, for alt texts: what they say is computed from the data that the figure shows."""

import math
from collections.abc import Collection, Mapping, Sequence


def trend(values: Sequence[float | int], digits: int = 1, plural: bool = False) -> str:
    """The course of a curve in words, such as "falls from 2.3 to 0.1" or "stays between 2.2 and 2.4".

    digits: after the decimal point. plural: "fall from …", of several points.
    """
    s = "" if plural else "s"
    finite = sum(map(math.isfinite, values))
    if not values or finite < len(values):
        return f"{'are' if plural else 'is'} finite at {finite} of {len(values)} points"
    start, end, low, high = (f"{x:.{digits}f}" for x in (values[0], values[-1], min(values), max(values)))
    if low == high:
        return f"stay{s} at {end}"
    change, width = values[-1] - values[0], max(values) - min(values)
    if start == end or abs(change) < width / 2:
        return f"stay{s} between {low} and {high}, and end{s} at {end}"
    return f"{'rise' if change > 0 else 'fall'}{s} from {start} to {end}"


def span(numbers: Collection[int]) -> str:
    """Counts in words: "3" if all are equal, otherwise such as "1 to 3"."""
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


def courses(curves: Mapping[str, Sequence[float | int]], digits: int = 1) -> str:
    """A sentence with the trend of each curve, by its name."""
    return "; ".join(f"{name} {trend(values, digits)}" for name, values in curves.items()) + "."

"""Measurements as a plain table, and as JSON."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from course_lib.benchmarks.timing import Comparison, Spread
from course_lib.utils.files import atomic_path


def as_text(comparison: Comparison) -> str:
    """One comparison: median and quartiles of each side, then the aim, then the notes."""
    unit = "ms" if comparison.unit == "s" else comparison.unit
    lines = [f"{comparison.row}: {comparison.case}  [{unit}; {comparison.rounds} rounds]"]
    width = max(map(len, comparison.seconds)) + 2
    for side in comparison.seconds:
        line = f"  {side:<{width}}{shown(comparison.speed(side), comparison.unit):<28}"
        if side != comparison.first:
            ratio = comparison.ratio(side)
            rounds = f"by rounds {ratio.rounds.median:.2f}, {ratio.rounds.low:.2f}–{ratio.rounds.high:.2f}"
            line += f"{comparison.first} is {ratio.of_medians:.2f} times as fast ({rounds})"
        lines.append(line.rstrip())
    best = comparison.against_best()
    if comparison.aim and best:
        word = "reached" if best[1] >= comparison.aim else "missed"
        lines.append(f"  aim: {comparison.aim:g} times as fast as {best[0]}, the best of the others; {word}")
    return "\n".join(lines + [f"  {note}" for note in comparison.notes])


def shown(spread: Spread, unit: str) -> str:
    """Median and quartiles; seconds are shown as milliseconds."""
    factor = 1000 if unit == "s" else 1
    numbers = [f"{factor * x:,.{digits(factor * x)}f}" for x in (spread.median, spread.low, spread.high)]
    return "{} ({}–{})".format(*numbers)


def digits(number: float) -> int:
    """Decimal places for at least three significant digits."""
    return 0 if number >= 100 else 1 if number >= 10 else 2


def as_json(comparison: Comparison) -> dict[str, Any]:
    """The numbers behind `as_text`."""
    best = comparison.against_best()
    others = [side for side in comparison.seconds if side != comparison.first]
    return {
        "row": comparison.row,
        "case": comparison.case,
        "unit": comparison.unit,
        "rounds": comparison.rounds,
        "sides": {side: asdict(comparison.speed(side)) for side in comparison.seconds},
        "times_as_fast": {side: asdict(comparison.ratio(side)) for side in others},
        "aim": comparison.aim,
        "best_of_the_others": {"side": best[0], "ratio": best[1]} if best else None,
        "notes": comparison.notes,
    }


def write(path: Path, content: dict[str, Any]) -> None:
    """Write the JSON file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

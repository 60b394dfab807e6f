"""Measurements as a plain table, and as JSON."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from course_lib.benchmarks.timing import Comparison, Spread
from course_lib.utils.files import atomic_path

PLACE = re.compile(r"(?s)(<!-- bench on GPUs -->\n\n).*?(\n<!-- end -->)")


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


def as_table(stored: dict[str, Any]) -> str:
    """The medians of one machine's rows."""
    machine = stored["machine"]
    lines = [f"{machine['gpu']}, torch {machine['torch']}, {stored['measured']}; medians:\n"]
    lines += ["| row | measured | |", "|---|---|---|"]
    for row in stored["rows"]:
        factor, unit = (1000, "ms") if row["unit"] == "s" else (1, row["unit"])
        values = {side: factor * spread["median"] for side, spread in row["sides"].items()}
        sides = ", ".join(f"{side} {value:,.{digits(value)}f}" for side, value in values.items())
        lines.append(f"| {row['row']} | {row['case']}, {unit} | {sides} |")
    return "\n".join(lines) + "\n"


def show_gpus(page: Path, folder: Path) -> None:
    """Write the stored results of GPUs into their place on a page, a table for each."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    tables = "\n".join(as_table(one) for one in found if "gpu" in one["machine"]) or "Not measured yet.\n"
    text = PLACE.sub(lambda place: place[1] + tables + place[2], page.read_text(encoding="utf-8"))
    with atomic_path(page) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write(path: Path, content: dict[str, Any]) -> None:
    """Write the JSON file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

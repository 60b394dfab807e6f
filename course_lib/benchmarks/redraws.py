"""Redraw time of each widget: from the move of a control to its new figure and text."""

import datetime
import statistics
import time
from collections.abc import Callable
from typing import Any

import ipywidgets

from course_lib.benchmarks.rows import GROUP
from course_lib.benchmarks.timing import Plan
from course_lib.chapters import gallery
from course_lib.utils import machine
from course_lib.utils.progress_bar import tracked
from course_lib.widgets.map_explorer import MapExplorer
from course_lib.widgets.recording import values

AIM = 60.0  # milliseconds, for the median of a widget
SLOWER = {"translation_explorer": 150.0}  # it may translate first
Moves = dict[str, list[float]]  # control -> milliseconds of each of its moves


def makers() -> dict[str, Callable[[], Any]]:
    """Every explorer whose pictures the kernel draws, by name; one that needs a model gets the stored one."""
    return {name: gallery.maker(name) for name in gallery.homes() if name not in gallery.BROWSER_DRAWN}


def through(control: ipywidgets.Widget) -> list[float]:
    """The milliseconds of each move, through all values of a control and back to its first."""
    spent = []
    for value in [*values(control), control.value]:
        if value == control.value:
            continue
        start = time.perf_counter()
        control.value = value
        spent.append(1000 * (time.perf_counter() - start))
    return spent


def measure(make: Callable[[], Any], plan: Plan) -> Moves:
    """Move every control of a new widget, then of another new one, until the time is up.

    A new widget has nothing cached from earlier moves, such as the translation of a typed sentence.
    """
    moves: Moves = {}
    begin = time.perf_counter()
    while not moves or time.perf_counter() - begin < plan.seconds:
        explorer = make()
        if isinstance(explorer, MapExplorer):
            explorer.maps.alive = True  # as on a page, which draws the maps by itself
        for _ in range(plan.warm_up):
            explorer.redraw()
        for name, control in explorer.controls.items():
            moves.setdefault(name, []).extend(through(control))
    return {name: spent for name, spent in moves.items() if spent}


def summary(spent: list[float]) -> dict[str, int | float]:
    """Number of moves, median and 95th percentile."""
    last = statistics.quantiles(spent, n=20, method="inclusive")[-1]
    return {"moves": len(spent), "median_ms": statistics.median(spent), "p95_ms": last}


def as_json(moves: Moves) -> dict[str, Any]:
    """The summary of all moves of a widget, and of each control."""
    whole = summary([one for spent in moves.values() for one in spent])
    return whole | {"controls": {name: summary(spent) for name, spent in moves.items()}}


def aim(name: str) -> float:
    """The target redraw time of this widget in milliseconds."""
    return SLOWER.get(name, AIM)


def as_text(name: str, numbers: dict[str, Any]) -> str:
    """One widget: median, 95th percentile, slowest control, and whether the aim is reached."""
    slowest = max(numbers["controls"], key=lambda control: numbers["controls"][control]["median_ms"])
    reached = "reached" if numbers["median_ms"] <= aim(name) else "missed"
    return (
        f"{name}  [ms; {numbers['moves']} moves]\n"
        f"  redraw  {numbers['median_ms']:.1f}, 95 % within {numbers['p95_ms']:.1f}; "
        f"slowest: {slowest}, {numbers['controls'][slowest]['median_ms']:.1f}\n"
        f"  aim: {aim(name):g} or less; {reached}\n"
    )


def run(plan: Plan, tell: Callable[[str], None]) -> dict[str, Any]:
    """Measure all widgets, passing each result to `tell` as text; returns the numbers."""
    facts = machine.describe("cpu")
    tell(", ".join(f"{key} {value}" for key, value in facts.items()) + "\n")
    measured = {}
    for name, make in tracked(list(makers().items()), "measuring", "widget"):
        measured[name] = as_json(measure(make, plan.lasting(0.1)))
        tell(as_text(name, measured[name]))
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"machine": facts, "measured": today, "aim_ms": AIM, "widgets": measured}


def file_name(facts: dict[str, str | int]) -> str:
    """The name of the results file for this kind of machine."""
    return f"{GROUP}-{machine.file_name(facts)}"

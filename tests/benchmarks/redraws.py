"""How long each widget takes from the move of a control to its new picture and text."""

import datetime
import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import ipywidgets

from benchmarks import machine
from benchmarks.timing import Plan

GROUP = "widgets"  # its name among the rows of the command; it is measured by itself
AIM = 60.0  # milliseconds, for the median of a widget
SLOWER = {"translation_explorer": 150.0}  # it draws the whole picture anew, and may translate before
Moves = dict[str, list[float]]  # control -> milliseconds of each of its moves


def makers() -> dict[str, Callable[[], Any]]:
    """Every explorer of `course_lib.widgets` by name; the one that needs a model gets a tiny trained one."""
    from small_translator import small_translation_explorer

    from course_lib import widgets

    found = {name: getattr(widgets, name) for name in widgets.__all__ if name.endswith("_explorer")}
    return found | {"translation_explorer": small_translation_explorer}


def values(control: ipywidgets.Widget) -> list[Any]:
    """Every value that the control can take; of a field to type in, only its text with the last word twice.

    Raises ValueError for a kind of control that is not known here.
    """
    if hasattr(control, "options"):
        return [option[1] if isinstance(option, tuple) else option for option in control.options]
    if isinstance(control, ipywidgets.Text):
        return [f"{control.value} {control.value.split()[-1]}"]  # every vocabulary has that word
    if isinstance(control.value, bool):
        return [False, True]
    if not isinstance(getattr(control, "max", None), int | float):
        raise ValueError(f"no values are known for a {type(control).__name__}")
    steps = math.floor((control.max - control.min) / control.step + 1e-6)
    places = [control.min + i * control.step for i in range(steps + 1)]
    return [control.base**place for place in places] if hasattr(control, "base") else places


def through(control: ipywidgets.Widget) -> list[float]:
    """The milliseconds of each move, through all values of a control and back to the one it had."""
    spent = []
    for value in [*values(control), control.value]:
        if value == control.value:
            continue
        start = time.perf_counter()
        control.value = value
        spent.append(1000 * (time.perf_counter() - start))
    return spent


def measure(make: Callable[[], Any], plan: Plan) -> Moves:
    """Move every control of a new widget, and again of another new one until the time is over.

    A new one has nothing in store from the moves before, such as the translation of a sentence typed.
    """
    moves: Moves = {}
    begin = time.perf_counter()
    while not moves or time.perf_counter() - begin < plan.seconds:
        explorer = make()
        for _ in range(plan.warm_up):
            explorer.redraw()
        for name, control in explorer.controls.items():
            moves.setdefault(name, []).extend(through(control))
    return {name: spent for name, spent in moves.items() if spent}


def summary(spent: list[float]) -> dict[str, float]:
    """How many moves, their median, and what 95 of 100 stay below."""
    last = statistics.quantiles(spent, n=20, method="inclusive")[-1]
    return {"moves": len(spent), "median_ms": statistics.median(spent), "p95_ms": last}


def as_json(moves: Moves) -> dict[str, Any]:
    """The summary of all moves of a widget, and those of each control."""
    whole = summary([one for spent in moves.values() for one in spent])
    return whole | {"controls": {name: summary(spent) for name, spent in moves.items()}}


def aim(name: str) -> float:
    """Within how many milliseconds the picture of this widget should be there."""
    return SLOWER.get(name, AIM)


def as_text(name: str, numbers: dict[str, Any]) -> str:
    """One widget: median and 95th percentile, its slowest control, and whether the aim is reached."""
    slowest = max(numbers["controls"], key=lambda control: numbers["controls"][control]["median_ms"])
    reached = "reached" if numbers["median_ms"] <= aim(name) else "missed"
    return (
        f"{name}  [ms; {numbers['moves']} moves]\n"
        f"  redraw  {numbers['median_ms']:.1f}, 95 % within {numbers['p95_ms']:.1f}; "
        f"slowest: {slowest}, {numbers['controls'][slowest]['median_ms']:.1f}\n"
        f"  aim: {aim(name):g} or less; {reached}\n"
    )


def run(plan: Plan, tell: Callable[[str], None]) -> dict[str, Any]:
    """Measure all widgets one after the other, telling each result; the same in numbers is returned."""
    facts = machine.describe("cpu")
    tell(", ".join(f"{key} {value}" for key, value in facts.items()) + "\n")
    measured = {}
    for name, make in makers().items():
        measured[name] = as_json(measure(make, plan.lasting(0.1)))
        tell(as_text(name, measured[name]))
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"machine": facts, "measured": today, "aim_ms": AIM, "widgets": measured}


def file_name(facts: dict[str, str | int]) -> str:
    """The name of the file for this kind of machine, beside that of the other rows."""
    return f"{GROUP}-{machine.file_name(facts)}"

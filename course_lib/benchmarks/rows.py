"""The rows of the table by name, and how to run them."""

import datetime
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from course_lib.benchmarks import decoding, language, pixels, report, training
from course_lib.benchmarks.timing import Comparison, Plan
from course_lib.utils import machine
from course_lib.utils.progress_bar import tracked

ROWS: dict[str, Callable[[Plan], Iterator[Comparison]]] = {
    "training": training.training,
    "precision": decoding.precision,
    "bucketing": training.bucketing,
    "decoding": lambda plan: chain(decoding.decoding(plan), decoding.recomputing(plan)),
    "gpt": lambda plan: chain(language.training(plan), language.continuing(plan)),
    "vision": pixels.vision,
    "pixels": pixels.pixels,
}
GROUP = "widgets"  # the name for `bench`, which measures them alone
NOTHING = {"precision": "bf16 is not measurably faster than fp32 on this device"}


def run(
    names: Iterable[str],
    plan: Plan,
    tell: Callable[[str], None],
    keep: Callable[[dict], None] = lambda found: None,
) -> dict[str, Any]:
    """Measure these rows, passing each result to `tell` as text; returns the numbers.

    keep: gets the numbers so far after each row, so that an interrupted run leaves those.
    A row for which a package is missing is left out.
    Raises ValueError for an unknown name, before anything is measured.
    """
    names = list(names)
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        there = f"{', '.join(ROWS)}, and {GROUP} by itself"
        raise ValueError(f"no row {', '.join(unknown)}; there are {there}")
    facts = machine.describe(plan.device)
    tell(", ".join(f"{key} {value}" for key, value in facts.items()) + "\n")
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    measured, left_out = [], {}
    for name in tracked(names, "measuring", "row"):
        count, why = len(measured), NOTHING.get(name, "nothing to measure")
        try:
            for comparison in ROWS[name](plan):
                tell(report.as_text(comparison) + "\n")
                measured.append({**report.as_json(comparison), "measured": today})
        except ModuleNotFoundError as absent:
            why = str(absent)
        if len(measured) == count:
            left_out[name] = why
            tell(f"{name}: left out, {left_out[name]}\n")
        found = {"machine": facts, "measured": today, "rows": measured, "left_out": left_out}
        keep(found)
    return found


def renewed(stored: dict[str, Any], fresh: dict[str, Any]) -> dict[str, Any]:
    """Stored results with some rows replaced by those of a new run; each row has its own date.

    Rows that `bench` no longer measures are left out.
    Raises ValueError if the two were measured with different processors or versions.
    """
    differing = [key for key in fresh["machine"] if stored["machine"].get(key) != fresh["machine"][key]]
    if differing:
        pairs = (f"{key} {stored['machine'].get(key)} and {fresh['machine'][key]}" for key in differing)
        raise ValueError(f"stored and fresh results do not belong together: {', '.join(pairs)}")
    new = {row["row"] for row in fresh["rows"]} | set(fresh["left_out"])
    order = list(ROWS)
    old = [row for row in stored["rows"] if row["row"] in order and row["row"] not in new]
    kept = [{"measured": stored["measured"], **row} for row in old]
    rows = sorted(kept + fresh["rows"], key=lambda row: order.index(row["row"]))
    left_out = {name: why for name, why in stored["left_out"].items() if name not in new}
    return {**fresh, "rows": rows, "left_out": {**left_out, **fresh["left_out"]}}

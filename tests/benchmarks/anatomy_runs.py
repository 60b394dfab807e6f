"""The stored runs of the appendix to chapter 5: the lecture's system, its oddities mended one by one.

cd tests && python -m benchmarks.anatomy_runs --minutes 30 timed

Makes what is missing in course_lib/widgets/anatomy_runs.json, part by part, and stops when the minutes are
over; called again, it goes on. To remake everything, delete the file first.
"""

import argparse
import json
import time
from collections.abc import Iterable
from typing import Any

import torch

from benchmarks import report
from course_lib.widgets.anatomy_runs import (
    MENDS,
    PAIRS,
    SECONDS,
    STEPS,
    STORED,
    as_json,
    corpus,
    in_order,
    make,
)


def cumulative() -> Iterable[list[str]]:
    """The lecture's system, then one mend after the other, to the end."""
    names = list(MENDS)
    for count in range(len(names) + 1):
        yield names[:count]


def alone() -> Iterable[list[str]]:
    """One mend each."""
    for name in MENDS:
        yield [name]


def in_one_pass(recipes: Iterable[list[str]]) -> Iterable[list[str]]:
    """With one decoder pass: at equal steps the lecture's nine passes give the same, nine times."""
    return (mended for recipe in recipes if recipe and (mended := in_order({"passes", *recipe})))


STEPWISE, TIMED = {"steps": STEPS}, {"seconds": SECONDS}
PARTS = {
    "cumulative": (STEPWISE, lambda: in_one_pass(cumulative())),
    "alone": (STEPWISE, lambda: in_one_pass(alone())),
    "timed": (TIMED, cumulative),
    "alone, timed": (TIMED, lambda: in_one_pass(alone())),
}


def main() -> None:
    """Make the missing runs of the parts that are asked for, until the minutes are over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--minutes", type=float, default=60.0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    end, pairs = time.monotonic() + 60 * arguments.minutes, corpus()
    for part in arguments.parts:
        limit, recipes = PARTS[part]
        alike = [other for other in PARTS if PARTS[other][0] is limit]
        for mended in recipes():
            if find(mended, [part]) is None and time.monotonic() < end:
                add(part, find(mended, alike) or as_json(make(mended, pairs, **limit)))


def find(mended: Iterable[str], parts: Iterable[str]) -> dict[str, Any] | None:
    """The stored run with these mends in one of these parts."""
    runs, wanted = read()["runs"], in_order(mended)
    return next((run for part in parts for run in runs.get(part, []) if run["mended"] == wanted), None)


def add(part: str, run: dict[str, Any]) -> None:
    """Store one run, beside what another process may have stored in the meantime."""
    content = read()
    runs = content["runs"].setdefault(part, [])
    if run["mended"] not in [other["mended"] for other in runs]:
        runs.append(run)
    report.write_runs(STORED, content)
    print(part, json.dumps(run), flush=True)


def read() -> dict[str, Any]:
    return report.read_runs(STORED, "benchmarks.anatomy_runs", pairs=PAIRS, steps=STEPS, seconds=SECONDS)


if __name__ == "__main__":
    main()

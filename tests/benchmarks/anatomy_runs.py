"""The stored runs of the appendix to chapter 5: the lecture's system, its oddities mended one by one.

cd tests && python -m benchmarks.anatomy_runs --minutes 4 cumulative alone

Makes what is missing in course_lib/widgets/anatomy_runs.json, part by part, and stops when the minutes are
over; called again, it goes on. To remake everything, delete the file first.
"""

import argparse
import json
import time
from collections.abc import Iterable
from typing import Any

import torch

from benchmarks import machine
from course_lib.files import atomic_path
from course_lib.widgets.anatomy_runs import MENDS, PAIRS, STEPS, STORED, as_json, corpus, in_order, make


def cumulative() -> Iterable[list[str]]:
    """The lecture's system, then one mend after the other, to the end."""
    names = list(MENDS)
    for count in range(len(names) + 1):
        yield names[:count]


def alone() -> Iterable[list[str]]:
    """One mend each."""
    for name in MENDS:
        yield [name]


PARTS = {"cumulative": cumulative, "alone": alone}


def main() -> None:
    """Make the missing runs of the parts that are asked for, until the minutes are over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--minutes", type=float, default=60.0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    end, pairs = time.monotonic() + 60 * arguments.minutes, corpus()
    for part in arguments.parts:
        for mended in PARTS[part]():
            if find(mended, part) is None and time.monotonic() < end:
                add(part, find(mended) or as_json(make(mended, pairs)))


def find(mended: Iterable[str], *parts: str) -> dict[str, Any] | None:
    """The stored run with these mends, in these parts or in any."""
    runs = read()["runs"]
    wanted = in_order(mended)
    return next(
        (run for part in parts or runs for run in runs.get(part, []) if run["mended"] == wanted), None
    )


def add(part: str, run: dict[str, Any]) -> None:
    """Store one run, beside what another process may have stored in the meantime."""
    content = read()
    runs = content["runs"].setdefault(part, [])
    if run["mended"] not in [other["mended"] for other in runs]:
        runs.append(run)
    write(content)
    print(part, json.dumps(run), flush=True)


def read() -> dict[str, Any]:
    if STORED.exists():
        return json.loads(STORED.read_text(encoding="utf-8"))
    command = "cd tests && python -m benchmarks.anatomy_runs"
    return {
        "command": command,
        "machine": machine.describe("cpu"),
        "pairs": PAIRS,
        "steps": STEPS,
        "runs": {},
    }


def write(content: dict[str, Any]) -> None:
    """A run on each line, so that the file can be read and compared."""
    parts = []
    for part, runs in content["runs"].items():
        lines = ",\n".join(f"   {json.dumps(run)}" for run in runs)
        parts.append(f'  "{part}": [\n{lines}\n  ]')
    head = json.dumps({**content, "runs": None}, indent=1).removesuffix("null\n}")
    with atomic_path(STORED) as temporary:
        temporary.write_text(head + "{\n" + ",\n".join(parts) + "\n }\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

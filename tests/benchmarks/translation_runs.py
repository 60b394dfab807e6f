"""The stored runs of chapter 6: few pairs and many, words and subwords.

cd tests && python -m benchmarks.translation_runs --minutes 5 real vocabularies

Makes what is missing in course_lib/widgets/translation_runs.json, part by part, and stops when the minutes
are over; called again, it goes on. To remake everything, delete the file first. It needs the set spa-eng.
"""

import argparse
import json
import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import torch

from benchmarks import report
from course_lib.widgets.translation_runs import EVERY, STORED, Recipe, make

NUMBERS = (250, 1000, 4000, 16_000, None)  # of pairs; None: all
ALL_WORDS = 100_000  # room for every word of the training sentences


def real() -> Iterable[Recipe]:
    """The same model, as many steps, on more and more real pairs."""
    for number in NUMBERS:
        yield Recipe(data="spa-eng", pairs=number)


def vocabularies() -> Iterable[Recipe]:
    """The same pairs as subwords, and as whole words."""
    yield Recipe(data="spa-eng", pairs=16_000)
    yield Recipe(data="spa-eng", pairs=16_000, kind="words", vocab=ALL_WORDS)


PARTS = {"real": real, "vocabularies": vocabularies}


def main() -> None:
    """Make the missing runs of the parts that are asked for, until the minutes are over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--minutes", type=float, default=60.0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    end = time.monotonic() + 60 * arguments.minutes
    for part in arguments.parts:
        for recipe in PARTS[part]():
            if find(recipe, part) is None and time.monotonic() < end:
                add(part, find(recipe) or json.loads(json.dumps(asdict(make(recipe)))))


def find(recipe: Recipe, *parts: str) -> dict[str, Any] | None:
    """The stored run of this recipe, in these parts or in any."""
    runs = read()["runs"]
    stored = (run for part in parts or runs for run in runs.get(part, []))
    return next((run for run in stored if run["recipe"] == asdict(recipe)), None)


def add(part: str, run: dict[str, Any]) -> None:
    """Store one run, beside what another process may have stored in the meantime."""
    content = read()
    content["runs"].setdefault(part, []).append(run)
    report.write_runs(STORED, content)
    print(part, json.dumps(run), flush=True)


def read() -> dict[str, Any]:
    return report.read_runs(STORED, "benchmarks.translation_runs", every=EVERY)


if __name__ == "__main__":
    main()

"""The stored runs of chapter 7: what pretraining buys, when labelled pairs are few and when they are many.

cd tests && python -m benchmarks.pretraining_runs --minutes 5 pairs longer tasks joint

Makes what is missing in course_lib/widgets/pretraining_runs.json, part by part, and stops when the minutes
are over; called again, it goes on. To remake everything, delete the file first.
"""

import argparse
import json
import time
from collections.abc import Iterable
from dataclasses import asdict
from itertools import product
from typing import Any

import torch

from benchmarks import report
from course_lib.pretraining import TASKS
from course_lib.widgets.pretraining_runs import (
    EVERY,
    FINE_TUNING,
    NOTHING,
    PRETRAINING,
    STORED,
    Recipe,
    make,
    pretrained,
)

SEEDS, FIRST = (0, 1), (0,)  # the second one is not stored for all recipes
SIZES = (250, 1000, 4000, 16_000)
FEW, MANY = 1000, 4000
NEXT, MENDING = "next token", "mending"


def pairs() -> Iterable[Recipe]:
    """With and without pretraining, over the number of labelled pairs; the same fine-tuning for all."""
    for seed, start, size in product(SEEDS, (MENDING, NOTHING, NEXT), SIZES):
        yield Recipe(pairs=size, start=start, seed=seed)


def longer() -> Iterable[Recipe]:
    """Without pretraining, but for as many steps as pretraining and fine-tuning have together."""
    for seed, size in product(SEEDS, SIZES):
        yield Recipe(pairs=size, start=NOTHING, steps=FINE_TUNING + PRETRAINING, seed=seed)


def tasks() -> Iterable[Recipe]:
    """The other ways of pretraining, as long, from the same text."""
    for seed, task, size in product(FIRST, ("masked token", "autoencoder"), (FEW, MANY)):
        yield Recipe(pairs=size, start=task, seed=seed)


def joint() -> Iterable[Recipe]:
    """The source counts in the loss of the fine-tuning too: P(X, Y) instead of P(Y | X)."""
    for seed, size in product(FIRST, (FEW, MANY)):
        yield Recipe(pairs=size, start=NOTHING, joint=True, seed=seed)


PARTS = {"pairs": pairs, "longer": longer, "tasks": tasks, "joint": joint}


def main() -> None:
    """Make the missing runs of the parts that are asked for, until the minutes are over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seeds", nargs="*", type=int, default=SEEDS)
    parser.add_argument("--starts", nargs="*", choices=[NOTHING, *TASKS], default=[NOTHING, *TASKS])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    end = time.monotonic() + 60 * arguments.minutes
    for part in arguments.parts:
        for recipe in PARTS[part]():
            wanted = recipe.seed in arguments.seeds and recipe.start in arguments.starts
            if wanted and asdict(recipe) not in known(part) and time.monotonic() < end:
                add(part, asdict(make(recipe)), recipe)


def known(part: str) -> list[dict[str, Any]]:
    return [run["recipe"] for run in read()["runs"].get(part, [])]


def add(part: str, run: dict[str, Any], recipe: Recipe) -> None:
    """Store one run and what its pretraining took, beside what another process may have stored meanwhile."""
    content = read()
    runs = content["runs"].setdefault(part, [])
    if run["recipe"] not in [other["recipe"] for other in runs]:
        runs.append(run)
    seconds = content["pretraining seconds"].setdefault(recipe.start, {})
    seconds.setdefault(str(recipe.seed), round(pretrained(recipe.start, recipe.seed)[1], 1))
    report.write_runs(STORED, content)
    print(part, json.dumps(run), flush=True)


def read() -> dict[str, Any]:
    return report.read_runs(STORED, "benchmarks.pretraining_runs", every=EVERY, **{"pretraining seconds": {}})


if __name__ == "__main__":
    main()

"""The stored runs of chapter 5: post-norm and pre-norm over learning rates, warm-ups and depths.

cd tests && python -m benchmarks.norm_runs --minutes 5 grid rates fair lecture blocks

Makes what is missing in course_lib/widgets/norm_runs.json, part by part, and stops when the minutes are over;
called again, it goes on. To remake everything, delete the file first.
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
from course_lib.widgets.norm_runs import EVERY, STORED, Recipe, make

SEEDS = (0, 1, 2)
CHOOSING, FRESH = (0, 1), (10, 11, 12, 13, 14)  # a best rate is chosen with some seeds and used with others
RATES, WARMUPS, DEPTHS = (1e-3, 2e-3, 4e-3, 8e-3), (0, 100), (2, 6)
LONG = {"layers": (2, 2), "steps": 600}


def grid() -> Iterable[Recipe]:
    """Both norms over rates, warm-ups and depths."""
    for seed, depth, norm, warmup, lr in product(SEEDS, DEPTHS, ("post", "pre"), WARMUPS, RATES):
        yield Recipe(norm=norm, layers=(depth, depth), lr=lr, warmup=warmup, steps=200, seed=seed)


def rates() -> Iterable[Recipe]:
    """Longer ones, from which the best rate of each norm is chosen."""
    for seed, norm, lr in product(CHOOSING, ("post", "pre"), RATES[1:]):
        yield Recipe(norm=norm, lr=lr, warmup=100, seed=seed, **LONG)


def fair() -> Iterable[Recipe]:
    """Each norm at its best rate."""
    for seed, norm in product(FRESH, ("post", "pre")):
        yield Recipe(norm=norm, lr=best_rate(norm), warmup=100, seed=seed, **LONG)


def lecture() -> Iterable[Recipe]:
    """As in the lecture's scripts: pre-norm at a constant 1e-5 without warm-up."""
    for seed in CHOOSING:
        yield Recipe(norm="pre", lr=1e-5, warmup=0, seed=seed, **LONG)


def blocks() -> Iterable[Recipe]:
    """Four blocks, shared out between encoder and decoder."""
    for seed, layers in product(SEEDS, ((1, 3), (2, 2), (3, 1))):
        yield Recipe(norm="pre", layers=layers, lr=4e-3, warmup=100, steps=400, seed=seed)


PARTS = {"grid": grid, "rates": rates, "fair": fair, "lecture": lecture, "blocks": blocks}


def best_rate(norm: str) -> float:
    """The rate with the lowest loss at the end of the stored runs of "rates"."""
    ends: dict[float, list[float]] = {}
    for run in read()["runs"]["rates"]:
        if run["recipe"]["norm"] == norm:
            ends.setdefault(run["recipe"]["lr"], []).append(sum(run["losses"][-4:]))
    return min(ends, key=lambda lr: sum(ends[lr]) / len(ends[lr]))


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
            if as_json(recipe) not in known(part) and time.monotonic() < end:
                add(part, measured(recipe))


def known(part: str) -> list[dict[str, Any]]:
    return [run["recipe"] for run in read()["runs"].get(part, [])]


def add(part: str, run: dict[str, Any]) -> None:
    """Store one run, beside what another process may have stored in the meantime."""
    content = read()
    runs = content["runs"].setdefault(part, [])
    if run["recipe"] not in [other["recipe"] for other in runs]:
        runs.append(run)
    report.write_runs(STORED, content)
    print(part, json.dumps(run), flush=True)


def measured(recipe: Recipe) -> dict[str, Any]:
    """One run, with the seconds of processor time that it took."""
    before = time.process_time()
    curve = make(recipe)
    seconds = round(time.process_time() - before, 1)
    return {"recipe": as_json(recipe), "bleu": curve.bleu, "seconds": seconds, "losses": curve.losses}


def as_json(recipe: Recipe) -> dict[str, Any]:
    return json.loads(json.dumps(asdict(recipe)))


def read() -> dict[str, Any]:
    return report.read_runs(STORED, "benchmarks.norm_runs", every=EVERY)


if __name__ == "__main__":
    main()

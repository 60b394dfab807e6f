"""Test accuracy of the CIFAR-10 presets, and what was tried before they were chosen.

    python -m course_lib.experiments.cifar10_quality presets cifar10-cpu --seed 1
    python -m course_lib.experiments.cifar10_quality try "small batches" --seconds 150 --set batch=64 lr=0.003

presets: what `python -m course_lib train vision --preset … --device cpu` trains, scored on the test images.
try: the preset "cifar10-cpu" with other settings, for as many steps as take so many seconds, scored on the
validation images, so that choosing among tries leaves the test images untouched.
Everything runs on one thread, in bf16, and is timed in processor time, without evaluations. A run replaces
the stored one with the same name and seed in results/cifar10_quality.json; `stored()` reads them. The first
tries came before the stem was settled, and cannot be repeated with this command: "stem" lists the widths of
their convolutions, each followed by batch normalization and ReLU, with "pool" where the sides are halved.
CIFAR-10 must be in $COURSE_DATA or in the cache.
"""

import argparse
import copy
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from course_lib.experiments import storage
from course_lib.experiments.cifar10 import Run, learn, preset
from course_lib.experiments.translation_quality import setting
from course_lib.tasks.image_classification import accuracy
from course_lib.training.trainer import train

STORED = Path(__file__).parent / "results" / "cifar10_quality.json"
BASE = "cifar10-cpu"  # the preset that is tried with other settings
TIMED = 16  # steps, to estimate how many fit into the time


@cache
def stored() -> dict[str, list[Any]]:
    """The stored runs: those of "presets" as `Run`, those of "tries" as they are in the file."""
    runs = json.loads(STORED.read_text(encoding="utf-8"))["runs"] if STORED.exists() else {}
    whole = [
        Run(**{**run, "evaluations": [tuple(one) for one in run["evaluations"]]})
        for run in runs.get("presets", [])
    ]
    return {"presets": whole, "tries": runs.get("tries", [])}


def attempt(name: str, seconds: float, settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Train with these settings for about so many seconds of processor time, and validate."""
    data, objective, batches, config = preset(BASE, seed=seed, precision="bf16", **settings)

    def train_for(steps: int, objective: torch.nn.Module) -> float:
        begin = time.process_time()
        train(objective, batches, replace(config, steps=steps), device="cpu", progress=False)
        return time.process_time() - begin

    steps = max(1, round(seconds * TIMED / train_for(TIMED, copy.deepcopy(objective))))
    spent = train_for(steps, objective)
    return {
        "name": name,
        "seed": seed,
        "settings": dict(settings),
        "batch": batches.batch_sampler.batch,
        "steps": steps,
        "epochs": round(steps / len(batches), 1),
        "seconds": round(spent, 1),
        "validation": round(accuracy(objective.model, data.validation), 4),
    }


def add(part: str, run: dict[str, Any]) -> None:
    """Store one run, replacing one with the same name and seed."""
    content = storage.read_runs(STORED, "course_lib.experiments.cifar10_quality")
    storage.add_runs(STORED, content, part, [run], "name", "seed")


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", choices=("presets", "try"))
    parser.add_argument("names", nargs="+", help="presets, or the name of a try")
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--set", nargs="*", type=setting, default=[], metavar="NAME=VALUE")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    for name in args.names:
        if args.part == "presets":
            add("presets", learn(*preset(name, seed=args.seed, precision="bf16"), name=name))
        else:
            add("tries", attempt(name, args.seconds, dict(args.set), args.seed))


if __name__ == "__main__":
    main()

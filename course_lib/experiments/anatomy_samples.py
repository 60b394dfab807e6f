"""Sample translations of the runs in `anatomy`: what their BLEU scores look like.

    python -m course_lib.experiments.anatomy_samples --minutes 30

repeats the stored runs, each for as many steps, and adds what is missing to results/anatomy_samples.json;
call it again to resume. `stored()` reads the results.
"""

import argparse
import json
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from course_lib.experiments import anatomy, storage
from course_lib.experiments.anatomy import EVALUATIONS, Run
from course_lib.lectures.dlstudio import Corpus, small_model, training, translations

STORED = Path(__file__).parent / "results" / "anatomy_samples.json"
EACH = 2  # sentences from the training set, and as many held-out ones
Samples = dict[str, list[str]]  # translations by way of evaluation


def chosen(pairs: Corpus) -> list[tuple[str, str]]:
    """The sample pairs: the first of the training set, then the first held-out ones."""
    return [*pairs.train[:EACH], *pairs.held_out[:EACH]]


def make(run: Run, pairs: Corpus) -> tuple[Samples, float]:
    """Repeat the training of a stored run; returns its translations of the sample pairs and its last loss."""
    deviations, procedure = anatomy.parts_of(run.fixed)
    model = small_model(pairs, deviations)
    losses = list(islice(training(model, *pairs.encode(pairs.train), procedure), run.steps))
    samples = {}
    for name, switches in EVALUATIONS.items():
        lines = translations(model, pairs, chosen(pairs), replace(procedure, **switches))
        samples[name] = [" ".join(line.words) for line in lines]
    return samples, round(losses[-1], 3)


@cache
def stored() -> tuple[list[tuple[str, str]], dict[tuple[frozenset[str], int], Samples]]:
    """The sample pairs, and the translations of each run by its fixes and its number of steps."""
    content = json.loads(STORED.read_text(encoding="utf-8"))
    pairs = [(source, target) for source, target in content["pairs"]]
    runs = content["runs"]["samples"]
    return pairs, {(frozenset(run["fixed"]), run["steps"]): run["samples"] for run in runs}


def missing(content: dict[str, Any]) -> Iterable[Run]:
    """Stored runs without samples; runs in several parts once."""
    runs = content["runs"].get("samples", [])
    known = {(frozenset(run["fixed"]), run["steps"]) for run in runs}
    for run in (run for part in anatomy.stored().values() for run in part):
        if (run.fixed, run.steps) not in known:
            known.add((run.fixed, run.steps))
            yield run


def main() -> None:
    """Make the missing samples until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    end = time.monotonic() + 60 * parser.parse_args().minutes
    torch.set_num_threads(1)
    pairs = anatomy.corpus()
    module = "course_lib.experiments.anatomy_samples"
    content = storage.read_runs(STORED, module, pairs=chosen(pairs))
    for run in missing(content):
        if time.monotonic() > end:
            return
        samples, loss = make(run, pairs)
        one = {"fixed": anatomy.in_order(run.fixed), "steps": run.steps, "loss": loss, "samples": samples}
        content["runs"].setdefault("samples", []).append(one)
        storage.write_runs(STORED, content)
        print(f"stored loss {run.loss}:", json.dumps(one, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()

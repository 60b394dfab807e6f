"""Sample translations of the runs in `anatomy`: what their BLEU scores look like.

    python -m course_lib.experiments anatomy_samples --minutes 30

repeats the stored runs, each for as many steps, and stores what is missing in results/anatomy_samples.json;
`stored()` reads the results.
"""

from collections.abc import Collection
from dataclasses import replace
from itertools import islice
from typing import Any

from course_lib.chapters.chA1_dlstudio import anatomy
from course_lib.chapters.chA1_dlstudio.anatomy import EVALUATIONS
from course_lib.experiments.runner import Experiment
from course_lib.lectures.dlstudio import Corpus, small_model, training, translations

EACH = 2  # sentences from the training set, and as many held-out ones
Samples = dict[str, list[str]]  # translations by way of evaluation


def chosen(pairs: Corpus) -> list[tuple[str, str]]:
    """The sample pairs: the first of the training set, then the first held-out ones."""
    return [*pairs.train[:EACH], *pairs.held_out[:EACH]]


def make(fixed: Collection[str], steps: int, pairs: Corpus | None = None) -> dict[str, Any]:
    """Train for as many steps with these fixes: the translations of the sample pairs, and the last loss."""
    pairs = pairs or anatomy.corpus()
    deviations, procedure = anatomy.parts_of(fixed)
    model = small_model(pairs, deviations)
    losses = list(islice(training(model, *pairs.encode(pairs.train), procedure), steps))
    samples = {}
    for name, switches in EVALUATIONS.items():
        lines = translations(model, pairs, chosen(pairs), replace(procedure, **switches))
        samples[name] = [" ".join(line.words) for line in lines]
    done = {"fixed": anatomy.in_order(fixed), "steps": steps, "loss": round(losses[-1], 3)}
    return {**done, "samples": samples}


def planned() -> list[dict[str, Any]]:
    """The stored runs; `Experiment.run` makes those in several parts once."""
    runs = (run for part in anatomy.stored().values() for run in part)
    return [{"fixed": anatomy.in_order(run.fixed), "steps": run.steps} for run in runs]


EXPERIMENT = Experiment(
    __file__,
    {"samples": planned},
    make,
    dict,
    keys=("fixed", "steps"),
    settings=lambda: {"pairs": chosen(anatomy.corpus())},
)


def stored() -> tuple[list[tuple[str, str]], dict[tuple[frozenset[str], int], Samples]]:
    """The sample pairs, and the translations of each run by its fixes and its number of steps."""
    pairs = [(source, target) for source, target in EXPERIMENT.read()["pairs"]]
    return pairs, {
        (frozenset(run["fixed"]), run["steps"]): run["samples"] for run in EXPERIMENT.part("samples")
    }


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)

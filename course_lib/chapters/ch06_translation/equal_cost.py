"""Training runs of equal cost: what a step of each variant costs, and runs with as many steps as that allows.

Costs are processor time. They are measured in turns, so that a disturbance affects all variants alike.
"""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from course_lib.chapters.ch06_translation.vocabularies import held_out_loss
from course_lib.datasets import TranslationData
from course_lib.experiments.runner import Experiment
from course_lib.models.seq2seq import Seq2Seq
from course_lib.tasks.translation import translate
from course_lib.text.bleu import held_out_scores
from course_lib.text.tokenizers import Tokenizer
from course_lib.training.trainer import FLUSH_EVERY, Trainer

TURN, TURNS = 5, 8  # steps per turn, and turns of each variant
STEPS = TURN * TURNS  # of each variant, to measure its cost


def costs(runs: Mapping[str, Trainer]) -> list[dict[str, Any]]:
    """The cost of a step of each run, as a multiple of the first one's; none has taken a step yet."""
    for run in runs.values():
        run.training_step(run.batches.batch_of(range(4)))  # the first step is slower, and not counted
    seconds = seconds_in_turns(runs, {name: run.remaining() for name, run in runs.items()})
    first = next(iter(seconds.values()))
    return [{"name": name, "cost": round(own / first, 3)} for name, own in seconds.items()]


def seconds_in_turns(runs: Mapping[str, Trainer], batches: Mapping[str, Iterator[Any]]) -> dict[str, float]:
    """Processor time of each run for TURN × TURNS steps, in seconds; the runs take turns of TURN steps."""
    names, seconds = list(runs), dict.fromkeys(runs, 0.0)
    for _ in range(TURNS):
        for name in names:
            begin = time.process_time()
            for _ in range(TURN):
                runs[name].training_step(next(batches[name]))
            runs[name].flush()
            seconds[name] += time.process_time() - begin
        names = [*names[1:], names[0]]  # the first one meets shapes that no kernel has been prepared for
    return seconds


def known_cost(experiment: Experiment[Any], name: str) -> float:
    """The stored cost of a variant's step. Raises ValueError if there is none yet."""
    known = {one["name"]: one["cost"] for one in experiment.read()["runs"].get("costs", [])}
    if name not in known:
        raise ValueError(f"the cost of a step of {name!r} is not known yet: run the part `costs` first")
    return known[name]


def spend(run: Trainer) -> float:
    """Take all steps of a run; returns the processor time in seconds."""
    begin = time.process_time()
    for batch in run.remaining():
        run.training_step(batch)
        if run.due(FLUSH_EVERY):
            run.flush()
    run.model.eval()
    return round(time.process_time() - begin, 1)


def scores(model: Seq2Seq, tokens: Tokenizer, data: TranslationData) -> dict[str, float]:
    """The loss, BLEU and chrF on the validation sentences, with greedy decoding."""
    sources, references = map(list, zip(*data.validation, strict=True))
    found = held_out_scores(translate(model, tokens, sources, precision="fp32"), references)
    loss = held_out_loss(model, tokens, data.validation)
    return {"loss": loss, "bleu": round(found.bleu, 2), "chrf": round(found.chrf, 2)}

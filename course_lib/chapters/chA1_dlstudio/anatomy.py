"""Ablation of the lecture's system: its deviations fixed one by one or alone, in short training runs.

    python -m course_lib.experiments anatomy --minutes 30 timed

makes the missing runs of results/anatomy.json; `stored()` reads them.
"""

import time
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import inf
from typing import Any

from course_lib.datasets import load_translation
from course_lib.experiments.runner import Experiment, every
from course_lib.lectures.dlstudio import (
    Corpus,
    Deviations,
    DLStudioConfig,
    Procedure,
    TransformerFG,
    corpus_of,
    score,
    small_model,
    training,
    translations,
)
from course_lib.lectures.dlstudio.deviations import FLAT

PAIRS, HELD_OUT = 500, 100
STEPS, SECONDS = 400, 60  # a run ends after so many steps, or after so many seconds of one processor

# what is fixed together: a label, and the switches of the model and of the training procedure
FIXES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "passes": ("one decoder pass", ("pass_per_position",), ()),
    "rates": ("shorter warm-up", (), ("lecture_rates",)),
    "flat_attention": ("per-token attention", FLAT[:2], ()),
    "flat_ffn": ("per-token feed-forward", FLAT[2:], ()),
    "vectors": ("learnable embeddings", (), ("frozen_embeddings",)),
    "mask": ("shift and causal mask", ("unmasked", "mask_by_zeroing", "no_shift"), ()),
    "padding": ("padding masked", ("padding_attended", "padding_counted"), ()),
    "softmax": ("softmax over keys", ("scale_after_softmax", "softmax_over_queries"), ()),
    "heads": ("full-width heads, W_O", ("sliced_heads", "no_output_projection"), ()),
    "residual": ("cross-attention residual", ("no_cross_residual",), ()),
    "small": (
        "scaling, tying, dropout",
        ("unscaled_embeddings", "untied_output", "no_dropout", "no_label_smoothing"),
        (),
    ),
}
# ways to translate with a trained model
EVALUATIONS = {
    "lecture": {"new_embeddings": True, "no_feedback": True},
    "learnt": {"new_embeddings": False, "no_feedback": True},
    "feedback": {"new_embeddings": False, "no_feedback": False},
}


@dataclass(frozen=True)
class Score:
    """Corpus BLEU (0 to 100) and exact-match accuracy, on equally many training and held-out sentences."""

    train_bleu: float
    train_right: float
    held_out_bleu: float
    held_out_right: float


@dataclass(frozen=True)
class Run:
    """The result of a training run. fixed: the fixes, names in `FIXES`. seconds: processor time per step."""

    fixed: frozenset[str]
    parameters: int
    steps: int
    seconds: float
    loss: float
    scores: dict[str, Score]

    @property
    def speed(self) -> float:
        """Target positions per second of processor time; a step has 50 sentences of 9 positions."""
        return Procedure.batch * (DLStudioConfig.tokens - 1) / self.seconds


@cache
def corpus() -> Corpus:
    """The first pairs of the course's grammar that are short enough for the system."""
    return corpus_of(load_translation("grammar", max_words=8), PAIRS, HELD_OUT)


def parts_of(fixed: Collection[str]) -> tuple[Deviations, Procedure]:
    """The deviations and the training procedure with these fixes; everything else is as in the lecture.

    The model is always tested in evaluation mode; for the lecture's, without dropout, that is no change.
    Raises ValueError for a name that is not in `FIXES`.
    """
    if unknown := sorted(set(fixed) - set(FIXES)):
        raise ValueError(f"unknown fixes {unknown}: choose from {list(FIXES)}")
    model = Deviations.lecture().without(*(name for fix in fixed for name in FIXES[fix][1]))
    switches = {name: False for m in fixed for name in FIXES[m][2]}
    return model, replace(Procedure.lecture(), never_eval=False, peak=2e-3, warmup=100, **switches)


def make(fixed: Collection[str], pairs: Corpus, steps: int | float = inf, seconds: int | float = inf) -> Run:
    """Train on the pairs, then translate training and held-out sentences in each of `EVALUATIONS`.

    Training ends after this many steps, or after this many seconds of processor time.
    """
    deviations, procedure = parts_of(fixed)
    model = small_model(pairs, deviations)
    losses, start = [], time.process_time()
    for loss in training(model, *pairs.encode(pairs.train), procedure):
        losses.append(loss)
        spent = time.process_time() - start
        if len(losses) >= steps or spent >= seconds:
            break
    scores = {
        name: scored(model, pairs, replace(procedure, **switches)) for name, switches in EVALUATIONS.items()
    }
    pace = round(spent / len(losses), 4)
    number = sum(parameter.numel() for parameter in model.parameters())
    return Run(frozenset(fixed), number, len(losses), pace, round(losses[-1], 3), scores)


def scored(model: TransformerFG, pairs: Corpus, procedure: Procedure) -> Score:
    """Scores on the held-out sentences, and on as many training sentences."""
    found = []
    for chosen in (pairs.train[: len(pairs.held_out)], pairs.held_out):
        result = score(translations(model, pairs, chosen, procedure))
        found += [round(result.bleu, 1), round(result.right, 2)]
    return Score(*found)


def as_json(run: Run) -> dict[str, Any]:
    return {**asdict(run), "fixed": in_order(run.fixed)}


def in_order(fixed: Iterable[str]) -> list[str]:
    """Names from `FIXES`, in that order."""
    return [name for name in FIXES if name in set(fixed)]


# The lecture's first, then fix after fix.
CUMULATIVE = [list(FIXES)[:count] for count in range(len(FIXES) + 1)]
# With one decoder pass: for equal steps, the lecture's nine passes compute the same thing nine times.
ALONE = [in_order({"passes", name}) for name in FIXES]
PARTS = {"cumulative": CUMULATIVE[1:], "alone": ALONE, "timed": CUMULATIVE, "alone, timed": ALONE}


def of_steps(fixed: list[str]) -> dict[str, Any]:
    """The run of a recipe after `STEPS` steps."""
    return as_json(make(fixed, corpus(), steps=STEPS))


def of_seconds(fixed: list[str]) -> dict[str, Any]:
    """The run of a recipe after `SECONDS` seconds."""
    return as_json(make(fixed, corpus(), seconds=SECONDS))


EXPERIMENT = Experiment(
    __file__,
    {part: every(fixed=recipes) for part, recipes in PARTS.items()},
    {part: of_seconds if part.endswith("timed") else of_steps for part in PARTS},
    Run,
    keys=("fixed",),
    settings=lambda: {"pairs": PAIRS, "steps": STEPS, "seconds": SECONDS},
    shared=True,
)


def stored() -> dict[str, list[Run]]:
    """The stored runs by part.

    After `STEPS` steps, all with one decoder pass: "cumulative" (one fix after the other) and "alone" (one
    fix each). After `SECONDS` seconds: "timed", cumulative but starting with the lecture's nine passes, and
    "alone, timed", with one pass.
    """
    return EXPERIMENT.stored()


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)

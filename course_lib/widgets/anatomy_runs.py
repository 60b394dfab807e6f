"""Short trainings of the lecture's system, some oddities mended: how each is made, and the stored ones.

They are remade by `cd tests && python -m benchmarks.anatomy_runs`.
"""

import json
import time
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from course_lib.datasets import load_translation
from course_lib.lectures.dlstudio import (
    Corpus,
    DLStudioConfig,
    Oddities,
    Procedure,
    TransformerFG,
    corpus_of,
    score,
    small_model,
    training,
    translations,
)
from course_lib.lectures.dlstudio.oddities import FLAT

STORED = Path(__file__).with_name("anatomy_runs.json")
PAIRS, HELD_OUT = 500, 100
STEPS, SECONDS = 400, 60  # a run ends after so many steps, or after so many seconds of one processor

# what is mended together: a name, and the switches of the model and of the training
MENDS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "passes": ("one decoder pass", ("pass_per_position",), ()),
    "rates": ("higher rate", (), ("lecture_rates",)),
    "flat_attention": ("attention by word", FLAT[:2], ()),
    "flat_ffn": ("feed-forward by word", FLAT[2:], ()),
    "vectors": ("word vectors trained", (), ("frozen_embeddings",)),
    "mask": ("shift and causal mask", ("unmasked", "mask_by_zeroing", "no_shift"), ()),
    "padding": ("padding ignored", ("padding_attended", "padding_counted"), ()),
    "softmax": ("softmax over keys", ("scale_after_softmax", "softmax_over_queries"), ()),
    "heads": ("heads see all, mixed", ("sliced_heads", "no_output_projection"), ()),
    "residual": ("cross residual", ("no_cross_residual",), ()),
    "small": (
        "scaled, tied, dropped out",
        ("unscaled_embeddings", "untied_output", "no_dropout", "no_label_smoothing"),
        (),
    ),
}
# how a trained model is asked to translate
EVALUATIONS = {
    "lecture": {"new_embeddings": True, "no_feedback": True},
    "learnt": {"new_embeddings": False, "no_feedback": True},
    "feedback": {"new_embeddings": False, "no_feedback": False},
}


@dataclass(frozen=True)
class Score:
    """On as many training as held-out sentences: corpus BLEU (0 to 100) and the share exactly right."""

    train_bleu: float
    train_right: float
    held_out_bleu: float
    held_out_right: float


@dataclass(frozen=True)
class Run:
    """What came of a training. mended: names of `MENDS`. seconds: of one processor, for one step."""

    mended: frozenset[str]
    parameters: int
    steps: int
    seconds: float
    loss: float
    scores: dict[str, Score]

    @property
    def speed(self) -> float:
        """Target positions in a second of one processor: those of 50 sentences, 9 each, in a step."""
        return Procedure.batch * (DLStudioConfig.tokens - 1) / self.seconds


def corpus() -> Corpus:
    """The embedded grammar's first pairs that the system can hold."""
    return corpus_of(load_translation("grammar", max_words=8), PAIRS, HELD_OUT)


def parts_of(mended: Collection[str]) -> tuple[Oddities, Procedure]:
    """The model and the training in which these are mended, and all else is the lecture's.

    For every test the model is in evaluation mode; the lecture's has no dropout, and is the same in both.
    Raises ValueError for a name that is none of `MENDS`.
    """
    if unknown := sorted(set(mended) - set(MENDS)):
        raise ValueError(f"{unknown} is none of the {len(MENDS)} mends {list(MENDS)}")
    model = Oddities.lecture().without(*(name for mend in mended for name in MENDS[mend][1]))
    switches = {name: False for m in mended for name in MENDS[m][2]}
    return model, replace(Procedure.lecture(), never_eval=False, peak=2e-3, warmup=100, **switches)


def make(mended: Collection[str], pairs: Corpus, steps: int | float = inf, seconds: int | float = inf) -> Run:
    """Train on the pairs, then translate training and held-out sentences in each of `EVALUATIONS`.

    The training ends after so many steps, or when it has used so many seconds of one processor.
    """
    oddities, procedure = parts_of(mended)
    model = small_model(pairs, oddities)
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
    return Run(frozenset(mended), number(model), len(losses), pace, round(losses[-1], 3), scores)


def number(model: TransformerFG) -> int:
    """The parameters, each counted once."""
    return sum(parameter.numel() for parameter in model.parameters())


def scored(model: TransformerFG, pairs: Corpus, procedure: Procedure) -> Score:
    """The first training sentences, as many as are held out, beside those."""
    found = []
    for chosen in (pairs.train[: len(pairs.held_out)], pairs.held_out):
        result = score(translations(model, pairs, chosen, procedure))
        found += [round(result.bleu, 1), round(result.right, 2)]
    return Score(*found)


@cache
def stored() -> dict[str, list[Run]]:
    """The stored runs: "cumulative" (one mend after the other) and "alone" (one mend each), after `STEPS`
    steps, where all have one decoder pass; "timed", cumulative with the lecture's passes at first, and
    "alone, timed", with one pass, after `SECONDS` seconds.
    """
    parts: dict[str, list[dict[str, Any]]] = json.loads(STORED.read_text(encoding="utf-8"))["runs"]
    return {part: [as_run(run) for run in runs] for part, runs in parts.items()}


def as_run(run: dict[str, Any]) -> Run:
    scores = {name: Score(**numbers) for name, numbers in run["scores"].items()}
    return Run(**{**run, "mended": frozenset(run["mended"]), "scores": scores})


def as_json(run: Run) -> dict[str, Any]:
    return {**asdict(run), "mended": in_order(run.mended)}


def in_order(mended: Iterable[str]) -> list[str]:
    """Names of `MENDS` in the order in which they stand there."""
    return [name for name in MENDS if name in set(mended)]

"""Short trainings of the lecture's system, some oddities mended: how each is made, and the stored ones.

They are remade by `cd tests && python -m benchmarks.anatomy_runs`.
"""

import json
import time
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from course_lib.datasets import load_translation
from course_lib.lectures.dlstudio import (
    Corpus,
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
PAIRS, HELD_OUT, STEPS = 500, 100, 400

# what is mended together: a name, and the switches of the model and of the training
MENDS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
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
    """What came of a training. mended: names of `MENDS`. seconds: of a processor, for one step."""

    mended: frozenset[str]
    parameters: int
    seconds: float
    loss: float
    scores: dict[str, Score]


def corpus() -> Corpus:
    """The embedded grammar's first pairs that the system can hold."""
    return corpus_of(load_translation("grammar", max_words=8), PAIRS, HELD_OUT)


def parts_of(mended: Collection[str]) -> tuple[Oddities, Procedure]:
    """The model and the training in which these are mended, and all else is the lecture's.

    One decoder pass serves all words: unmasked, the lecture's nine passes give the same nine times.
    For every test the model is in evaluation mode; the lecture's has no dropout, and is the same in both.
    Raises ValueError for a name that is none of `MENDS`.
    """
    if unknown := sorted(set(mended) - set(MENDS)):
        raise ValueError(f"{unknown} is none of the {len(MENDS)} mends {list(MENDS)}")
    model = Oddities.lecture().without("pass_per_position", *(n for m in mended for n in MENDS[m][1]))
    switches = {name: False for m in mended for name in MENDS[m][2]}
    return model, replace(Procedure.lecture(), never_eval=False, peak=2e-3, warmup=100, **switches)


def make(mended: Collection[str], pairs: Corpus, steps: int = STEPS) -> Run:
    """Train on the pairs, then translate training and held-out sentences in each of `EVALUATIONS`."""
    oddities, procedure = parts_of(mended)
    model = small_model(pairs, oddities)
    before = time.process_time()
    losses = list(islice(training(model, *pairs.encode(pairs.train), procedure), steps))
    seconds = (time.process_time() - before) / steps
    scores = {
        name: scored(model, pairs, replace(procedure, **switches)) for name, switches in EVALUATIONS.items()
    }
    return Run(frozenset(mended), number(model), round(seconds, 4), round(losses[-1], 3), scores)


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
    """The stored runs: "cumulative" (one mend after the other), "alone" (one mend each)."""
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

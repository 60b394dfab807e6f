"""What pretraining buys: small language models fine-tuned to translate, and the runs stored beside this file.

They are remade by `cd tests && python -m benchmarks.pretraining_runs`.
"""

import copy
import json
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from course_lib.bleu import held_out_scores
from course_lib.datasets import load_translation
from course_lib.gpt import GPT, GPTConfig
from course_lib.prefix_translation import LabelledObjective, Pair, PairTexts, translate
from course_lib.pretraining import CAUSAL, UnlabelledTexts
from course_lib.schedules import TrainConfig
from course_lib.tokens import Tokens
from course_lib.training import train

STORED = Path(__file__).with_name("pretraining_runs.json")
MAX_WORDS, VOCAB, BATCH, EVERY, HELD_OUT = 5, 4000, 32, 100, 400
MOST_PAIRS = 16_000  # labelled; the sentences of all other pairs are the text without labels
SIZES = {"d_model": 96, "heads": 4, "layers": 2, "positions": "rotary"}
SINCE_GPT_2 = {"normalise": True, "zero_outputs": True, "activation": "squared relu"}  # learns faster
PRETRAINING, FINE_TUNING = 500, 600  # steps
NOTHING = "nothing"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One fine-tuning on labelled pairs. start: a task of `pretraining.TASKS`, or "nothing".

    steps: of fine-tuning. joint: whether the source counts in its loss.
    """

    pairs: int
    start: str
    steps: int = FINE_TUNING
    joint: bool = False
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Run:
    """What came of a recipe. bleu: on the test pairs, 0 to 100, of the state with the best validation BLEU.

    losses: of a token of the validation targets, each 100 steps. bleus: on the validation pairs, at the same
    steps. seconds: of processor time, for the fine-tuning and its evaluations. source_saves: by how much the
    loss of a token of the validation targets is lower after its own source than after that of another pair,
    in the state that was kept; None in runs that were stored before this was asked.
    """

    recipe: Recipe
    bleu: float
    losses: tuple[float, ...]
    bleus: tuple[float, ...]
    seconds: float
    source_saves: float | None = None


@dataclass(frozen=True)
class Material:
    """Pairs, and sentences of both languages from other pairs: English of one half, Spanish of the rest."""

    labelled: list[Pair]
    validation: list[Pair]
    test: list[Pair]
    unlabelled: list[str]
    tokens: Tokens


@cache
def material() -> Material:
    """The grammar's pairs of at most five words, and a vocabulary learnt from the text without labels."""
    data = load_translation("grammar", max_words=MAX_WORDS, test=HELD_OUT, validation=HELD_OUT)
    labelled, others = data.train[:MOST_PAIRS], data.train[MOST_PAIRS:]
    half = len(others) // 2
    known = {sentence for pair in labelled for sentence in pair}
    sentences = [pair[0] for pair in others[:half]] + [pair[1] for pair in others[half:]]
    unlabelled = [sentence for sentence in sentences if sentence not in known]
    tokens = Tokens.train(unlabelled, vocab=VOCAB)
    return Material(labelled, data.validation, data.test, unlabelled, tokens)


def new_model(seed: int) -> GPT:
    """The language model of all these runs, untrained; one id more than the vocabulary, for the mask."""
    torch.manual_seed(seed)
    return GPT(GPTConfig(vocab=len(material().tokens) + 1, **SIZES, **SINCE_GPT_2))


def plan(steps: int, seed: int) -> TrainConfig:
    """How all these runs are trained."""
    times = {"steps": steps, "warmup": 50, "evaluate_every": EVERY}
    return TrainConfig(optimizer="muon", lr=5e-3, seed=seed, precision="fp32", **times)


@cache
def pretrained(task: str, seed: int, steps: int = PRETRAINING) -> tuple[dict[str, Tensor], float]:
    """The weights after pretraining, or before any for "nothing", and the seconds of processor time."""
    model, before = new_model(seed), time.process_time()
    if task != NOTHING:
        texts = UnlabelledTexts(material().unlabelled, material().tokens, BATCH, task, seed)
        objective = LabelledObjective(model, causal=task in CAUSAL)
        train(objective, texts, plan(steps, seed), device="cpu", progress=False)
    return model.state_dict(), time.process_time() - before


def make(recipe: Recipe) -> Run:
    """Fine-tune by the recipe, keep the state with the best validation BLEU, translate the test pairs."""
    data, model = material(), new_model(recipe.seed)
    model.load_state_dict(pretrained(recipe.start, recipe.seed)[0])
    texts = PairTexts(data.labelled[: recipe.pairs], data.tokens, BATCH, seed=recipe.seed, joint=recipe.joint)
    best, losses, bleus = model.state_dict(), [], []

    def evaluate() -> dict[str, float]:
        nonlocal best
        losses.append(validation_loss(model))
        bleus.append(bleu(model, data.validation[: HELD_OUT // 2]))
        if bleus[-1] == max(bleus):
            best = copy.deepcopy(model.state_dict())
        return {"loss": losses[-1]}

    before, config = time.process_time(), plan(recipe.steps, recipe.seed)
    train(LabelledObjective(model), texts, config, evaluate=evaluate, device="cpu", progress=False)
    seconds = round(time.process_time() - before, 1)
    model.load_state_dict(best)
    curves = {"losses": tuple(losses), "bleus": tuple(bleus), "source_saves": source_saves(model)}
    return Run(recipe=recipe, bleu=bleu(model, data.test), seconds=seconds, **curves)


@torch.inference_mode()
def validation_loss(model: GPT, pairs: list[Pair] | None = None) -> float:
    """Mean loss of a target token on the validation pairs, or on others, to three digits."""
    texts = PairTexts(pairs or material().validation, material().tokens, HELD_OUT)
    loss, count = LabelledObjective(model)(*texts.collate(range(len(texts.ids))))
    return round((loss / count).item(), 3)


def source_saves(model: GPT) -> float:
    """By how much the loss of a target token is lower after its own source than after another one."""
    pairs = material().validation
    mixed = [(source, target) for (source, _), (_, target) in zip(pairs, pairs[1:] + pairs[:1], strict=True)]
    return round(validation_loss(model, mixed) - validation_loss(model), 3)


def bleu(model: GPT, pairs: list[Pair]) -> float:
    """sacrebleu's BLEU on some pairs, translated greedily."""
    english, spanish = zip(*pairs, strict=True)
    written = translate(model, material().tokens, english, max_tokens=24)
    return round(held_out_scores(written, spanish).bleu, 1)


@cache
def stored() -> dict[str, list[Run]]:
    """The stored runs by the question they answer; see `tests/benchmarks/pretraining_runs.py`."""
    parts: dict[str, list[dict[str, Any]]] = json.loads(STORED.read_text(encoding="utf-8"))["runs"]
    return {part: [as_run(run) for run in runs] for part, runs in parts.items()}


def as_run(run: dict[str, Any]) -> Run:
    curves = {name: tuple(run[name]) for name in ("losses", "bleus")}
    return Run(**{**run, **curves, "recipe": Recipe(**run["recipe"])})


def bleus(part: str, start: str) -> dict[int, list[float]]:
    """BLEU of the stored runs with this start, by the number of labelled pairs: one for each seed."""
    found: dict[int, list[float]] = {}
    for run in sorted(stored()[part], key=lambda run: (run.recipe.pairs, run.recipe.seed)):
        if run.recipe.start == start:
            found.setdefault(run.recipe.pairs, []).append(run.bleu)
    return found

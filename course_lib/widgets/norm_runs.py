"""Short trainings of a small translator: how each is made, and those that are stored beside this file.

They are remade by `cd tests && python -m benchmarks.norm_runs`.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from course_lib.bleu import held_out_scores
from course_lib.datasets import TranslationData, load_translation
from course_lib.schedules import TrainConfig
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tokens import Tokens
from course_lib.training import Diverged, train
from course_lib.translation import TranslationBatches, TranslationObjective, translate

STORED = Path(__file__).with_name("norm_runs.json")
SIZES = {"d_model": 64, "heads": 4, "d_ff": 128, "max_tokens": 32, "dropout": 0.0}
MAX_WORDS, VOCAB, BATCH, HELD_OUT = 5, 600, 32, 200
EVERY = 25  # steps between two points of a curve


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One training: the model, the learning rate after `warmup` steps of rise, how long, and the seed.

    layers: blocks of the encoder and of the decoder.
    """

    norm: str
    layers: tuple[int, int]
    lr: float
    warmup: int
    steps: int
    seed: int = 0


@dataclass(frozen=True)
class Curve:
    """What came of a recipe. losses: on held-out pairs, each 25 steps. bleu: on them at the end, 0 to 100.

    A run whose loss is no longer finite ends early; its BLEU is 0.
    """

    recipe: Recipe
    losses: tuple[float, ...]
    bleu: float


@cache
def material() -> tuple[TranslationData, Tokens]:
    """The grammar's short pairs, and a vocabulary learnt from a part of them."""
    data = load_translation("grammar", max_words=MAX_WORDS, test=500, validation=300)
    return data, Tokens.train((text for pair in data.train[:10_000] for text in pair), vocab=VOCAB)


def small_model(norm: str, layers: tuple[int, int], seed: int = 0) -> Seq2Seq:
    """The translator of all these runs, untrained."""
    torch.manual_seed(seed)
    encoder, decoder = layers
    blocks = {"encoder_layers": encoder, "decoder_layers": decoder}
    return Seq2Seq(Seq2SeqConfig(vocab=VOCAB, norm=norm, **blocks, **SIZES))


def make(recipe: Recipe) -> Curve:
    """Train by the recipe, at a constant rate after the warm-up, on the CPU."""
    data, tokens = material()
    model = small_model(recipe.norm, recipe.layers, recipe.seed)
    objective = TranslationObjective(model, label_smoothing=0.0)
    batches = TranslationBatches(data.train, tokens, BATCH, SIZES["max_tokens"], recipe.seed)
    plan = {"lr": recipe.lr, "warmup": recipe.warmup, "steps": recipe.steps, "seed": recipe.seed}
    config = TrainConfig(**plan, schedule="constant", evaluate_every=EVERY, precision="fp32")
    losses: list[float] = []

    def evaluate() -> dict[str, float]:
        losses.append(held_out_loss(objective))
        return {"loss": losses[-1]}

    try:
        train(objective, batches, config, evaluate=evaluate, device="cpu", progress=False)
    except Diverged:
        return Curve(recipe, tuple(losses), 0.0)
    return Curve(recipe, tuple(losses), bleu(model))


@torch.inference_mode()
def held_out_loss(objective: TranslationObjective) -> float:
    """Mean loss of a token on the held-out pairs, to three digits."""
    data, tokens = material()
    held_out = TranslationBatches(data.validation[:HELD_OUT], tokens, HELD_OUT)
    loss, count = objective(*held_out.collate(range(HELD_OUT)))
    return round((loss / count).item(), 3)


def bleu(model: Seq2Seq, sentences: int = HELD_OUT) -> float:
    """sacrebleu's BLEU on the held-out pairs, translated greedily."""
    data, tokens = material()
    english, spanish = zip(*data.validation[:sentences], strict=True)
    return round(held_out_scores(translate(model, tokens, english, max_tokens=20), spanish).bleu, 1)


@cache
def stored() -> dict[str, list[Curve]]:
    """The stored runs by the question they answer: "grid", "rates", "fair", "lecture", "blocks"."""
    parts: dict[str, list[dict[str, Any]]] = json.loads(STORED.read_text(encoding="utf-8"))["runs"]
    return {part: [as_curve(run) for run in runs] for part, runs in parts.items()}


def as_curve(run: dict[str, Any]) -> Curve:
    recipe = Recipe(**{**run["recipe"], "layers": tuple(run["recipe"]["layers"])})
    return Curve(recipe, tuple(run["losses"]), run["bleu"])

"""Post-norm and pre-norm in a small translator, over learning rates, warm-ups and depths (chapters 5 and 5b).

    python -m course_lib.experiments norms --minutes 5 grid rates fair lecture blocks

makes the missing runs of results/norms.json; `stored()` reads them.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product
from statistics import fmean

import torch

from course_lib.datasets import TranslationData, load_translation
from course_lib.experiments.runner import Experiment
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tasks.translation import TranslationBatches, TranslationLoss, mean_loss, translate
from course_lib.text.bleu import held_out_scores
from course_lib.text.tokenizers import Tokenizer
from course_lib.training.config import TrainConfig
from course_lib.training.diagnostics import collapsed
from course_lib.training.trainer import Diverged, train

SIZES = {"d_model": 64, "heads": 4, "d_ff": 128, "max_tokens": 32, "dropout": 0.0}
MAX_WORDS, VOCAB, BATCH, HELD_OUT = 5, 600, 32, 200
EVERY = 25  # steps between two points of a curve
ENDING = 100 // EVERY  # points of the last 100 steps, which say how a run ends
UNIGRAM = 5.25  # unigram loss of these pairs


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One training run: the model, the learning rate reached after `warmup` steps, the length, and the seed.

    layers: number of blocks of the encoder and of the decoder.
    """

    norm: str
    layers: tuple[int, int]
    lr: float
    warmup: int
    steps: int
    seed: int = 0


@dataclass(frozen=True)
class Curve:
    """The result of a recipe. losses: on held-out pairs, every 25 steps. bleu: sacreBLEU on them at the end.

    A run that diverges ends early; its BLEU is 0. seconds: processor time.
    """

    recipe: Recipe
    losses: tuple[float, ...]
    bleu: float
    seconds: float = 0.0

    @property
    def end(self) -> float:
        """Mean loss of the last 100 steps."""
        return fmean(self.losses[-ENDING:])

    @property
    def collapsed(self) -> bool:
        """Whether the run ends at the unigram level: chapter 5's definition, applied to held-out losses."""
        return bool(collapsed(self.losses, UNIGRAM, last=ENDING))


@cache
def material() -> tuple[TranslationData, Tokenizer]:
    """The grammar's short pairs, and a tokenizer trained on some of them."""
    data = load_translation("grammar", max_words=MAX_WORDS, test=500, validation=300)
    return data, Tokenizer.train((text for pair in data.train[:10_000] for text in pair), vocab=VOCAB)


def small_model(norm: str, layers: tuple[int, int], seed: int = 0) -> Seq2Seq:
    """The translator of all these runs, untrained."""
    torch.manual_seed(seed)
    encoder, decoder = layers
    blocks = {"encoder_layers": encoder, "decoder_layers": decoder}
    return Seq2Seq(Seq2SeqConfig(vocab=VOCAB, norm=norm, **blocks, **SIZES))


def make(recipe: Recipe) -> Curve:
    """Train by the recipe on the CPU, with a constant learning rate after the warm-up."""
    before, (data, tokens) = time.process_time(), material()
    model = small_model(recipe.norm, recipe.layers, recipe.seed)
    objective = TranslationLoss(model, label_smoothing=0.0)
    batches = TranslationBatches(data.train, tokens, BATCH, SIZES["max_tokens"], recipe.seed)
    plan = {"lr": recipe.lr, "warmup": recipe.warmup, "steps": recipe.steps, "seed": recipe.seed}
    config = TrainConfig(**plan, schedule="constant", evaluate_every=EVERY, precision="fp32")
    losses: list[float] = []

    def evaluate() -> dict[str, float]:
        losses.append(round(mean_loss(model, tokens, data.validation[:HELD_OUT], HELD_OUT), 3))
        return {"loss": losses[-1]}

    try:
        train(objective, batches, config, evaluate=evaluate, device="cpu", progress=False)
        english, spanish = zip(*data.validation[:HELD_OUT], strict=True)
        score = round(held_out_scores(translate(model, tokens, english, max_tokens=20), spanish).bleu, 1)
    except Diverged:
        score = 0.0
    return Curve(recipe, tuple(losses), score, round(time.process_time() - before, 1))


SEEDS = (0, 1, 2)
CHOOSING, FRESH = (0, 1), (10, 11, 12, 13, 14)  # seeds that choose the best rate, and seeds that use it
RATES, WARMUPS, DEPTHS = (1e-3, 2e-3, 4e-3, 8e-3), (0, 100), (2, 6)
LONG = {"layers": (2, 2), "steps": 600}


def grid() -> Iterable[Recipe]:
    """Both norms, over learning rates, warm-ups and depths."""
    for seed, depth, norm, warmup, lr in product(SEEDS, DEPTHS, ("post", "pre"), WARMUPS, RATES):
        yield Recipe(norm=norm, layers=(depth, depth), lr=lr, warmup=warmup, steps=200, seed=seed)


def rates() -> Iterable[Recipe]:
    """Longer runs, which choose the best learning rate of each norm."""
    for seed, norm, lr in product(CHOOSING, ("post", "pre"), RATES[1:]):
        yield Recipe(norm=norm, lr=lr, warmup=100, seed=seed, **LONG)


def fair() -> Iterable[Recipe]:
    """Each norm at its best learning rate, with new seeds."""
    for seed, norm in product(FRESH, ("post", "pre")):
        yield Recipe(norm=norm, lr=best_rate(norm), warmup=100, seed=seed, **LONG)


def lecture() -> Iterable[Recipe]:
    """As in the lecture's scripts: pre-norm at a constant 1e-5 without warm-up."""
    for seed in CHOOSING:
        yield Recipe(norm="pre", lr=1e-5, warmup=0, seed=seed, **LONG)


def blocks() -> Iterable[Recipe]:
    """Four blocks, split between encoder and decoder."""
    for seed, layers in product(SEEDS, ((1, 3), (2, 2), (3, 1))):
        yield Recipe(norm="pre", layers=layers, lr=4e-3, warmup=100, steps=400, seed=seed)


def best_rate(norm: str) -> float:
    """The learning rate with the lowest final loss in the stored runs of "rates"."""
    ends: dict[float, list[float]] = {}
    for run in EXPERIMENT.part("rates"):
        if run.recipe.norm == norm:
            ends.setdefault(run.recipe.lr, []).append(run.end)
    return min(ends, key=lambda lr: fmean(ends[lr]))


PARTS = {part.__name__: part for part in (grid, rates, fair, lecture, blocks)}
EXPERIMENT = Experiment(__file__, PARTS, make, Curve, settings=lambda: {"every": EVERY})


def stored() -> dict[str, list[Curve]]:
    """The stored runs by the question they answer: "grid", "rates", "fair", "lecture", "blocks"."""
    return EXPERIMENT.stored()


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)

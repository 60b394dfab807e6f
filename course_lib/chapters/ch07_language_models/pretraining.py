"""What pretraining buys when labeled pairs are few, and when they are many (chapter 7c).

    python -m course_lib.experiments pretraining --minutes 5 pairs longer tasks directions joint

makes the missing runs of results/pretraining.json; `stored()` reads them.
"""

import copy
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from course_lib.datasets import load_translation
from course_lib.experiments.runner import Experiment, every
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.tasks.prefix_lm import Pair, PrefixLMBatches, PrefixLMLoss, translate_with_lm
from course_lib.tasks.pretraining import CAUSAL, PretrainingBatches
from course_lib.text.bleu import held_out_scores
from course_lib.text.tokenizers import Tokenizer
from course_lib.training.config import TrainConfig
from course_lib.training.trainer import train

MAX_WORDS, VOCAB, BATCH, EVERY, HELD_OUT = 5, 4000, 32, 100, 400
MOST_PAIRS = 16_000  # labeled; the sentences of all other pairs are the unlabeled text
SIZES = {"d_model": 96, "heads": 4, "layers": 2, "positions": "rotary"}
SINCE_GPT_2 = {"qk_norm": True, "zero_outputs": True, "activation": "squared relu"}  # learns faster
PRETRAINING, FINE_TUNING = 500, 600  # steps
NOTHING = "nothing"
ONE_SIDED = "masked token, causal"  # a control: filling in tokens without seeing those to the right


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One fine-tuning run on labeled pairs. start: a task of `pretraining.TASKS`, ONE_SIDED, or "nothing".

    steps: of fine-tuning. joint: whether the loss includes the source.
    """

    pairs: int
    start: str
    steps: int = FINE_TUNING
    joint: bool = False
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Run:
    """The result of a recipe. bleu: test BLEU, 0 to 100, of the checkpoint with the best validation BLEU.

    losses: per target token on the validation pairs, every 100 steps. bleus: validation BLEU, same steps.
    train_losses: on training pairs, same steps; None in runs stored before this was measured.
    seconds: processor time of fine-tuning and its evaluations. source_saves: how much lower the loss per
    target token is after its own source than after the source of another pair, for the checkpoint that was
    kept; None in runs stored before this was measured.
    """

    recipe: Recipe
    bleu: float
    losses: tuple[float, ...]
    bleus: tuple[float, ...]
    seconds: float
    source_saves: float | None = None
    train_losses: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Material:
    """Labeled pairs, and unlabeled sentences of other pairs: English from one half, Spanish from the rest."""

    labelled: list[Pair]
    validation: list[Pair]
    test: list[Pair]
    unlabelled: list[str]
    tokens: Tokenizer


@cache
def material() -> Material:
    """The grammar's pairs of at most five words, and a tokenizer trained on the unlabeled text."""
    data = load_translation("grammar", max_words=MAX_WORDS, test=HELD_OUT, validation=HELD_OUT)
    labelled, others = data.train[:MOST_PAIRS], data.train[MOST_PAIRS:]
    half = len(others) // 2
    known = {sentence for pair in labelled for sentence in pair}
    sentences = [pair[0] for pair in others[:half]] + [pair[1] for pair in others[half:]]
    unlabelled = [sentence for sentence in sentences if sentence not in known]
    tokens = Tokenizer.train(unlabelled, vocab=VOCAB)
    return Material(labelled, data.validation, data.test, unlabelled, tokens)


def new_model(seed: int) -> GPT:
    """The untrained language model of all runs; it has one id more than the tokenizer, for the mask token."""
    torch.manual_seed(seed)
    return GPT(GPTConfig(vocab=len(material().tokens) + 1, **SIZES, **SINCE_GPT_2))


def plan(steps: int, seed: int) -> TrainConfig:
    """The TrainConfig of all runs."""
    times = {"steps": steps, "warmup": 50, "evaluate_every": EVERY}
    return TrainConfig(optimizer="muon", lr=5e-3, seed=seed, precision="fp32", **times)


@cache
def pretrained(task: str, seed: int, steps: int = PRETRAINING) -> dict[str, Tensor]:
    """The weights after pretraining; untrained ones for "nothing"."""
    model = new_model(seed)
    if task != NOTHING:
        kind = task.removesuffix(", causal")
        texts = PretrainingBatches(material().unlabelled, material().tokens, BATCH, kind, seed)
        objective = PrefixLMLoss(model, causal=task in (*CAUSAL, ONE_SIDED))
        train(objective, texts, plan(steps, seed), device="cpu", progress=False)
    return model.state_dict()


def make(recipe: Recipe) -> Run:
    """Fine-tune by the recipe, keep the checkpoint with the best validation BLEU, and test it."""
    data, model = material(), new_model(recipe.seed)
    model.load_state_dict(pretrained(recipe.start, recipe.seed))
    texts = PrefixLMBatches(
        data.labelled[: recipe.pairs], data.tokens, BATCH, seed=recipe.seed, joint=recipe.joint
    )
    best, losses, bleus, train_losses = model.state_dict(), [], [], []
    seen = data.labelled[: min(recipe.pairs, HELD_OUT)]

    def evaluate() -> dict[str, float]:
        nonlocal best
        losses.append(validation_loss(model))
        train_losses.append(validation_loss(model, seen))
        bleus.append(bleu(model, data.validation[: HELD_OUT // 2]))
        if bleus[-1] == max(bleus):
            best = copy.deepcopy(model.state_dict())
        return {"loss": losses[-1]}

    before, config = time.process_time(), plan(recipe.steps, recipe.seed)
    train(PrefixLMLoss(model), texts, config, evaluate=evaluate, device="cpu", progress=False)
    seconds = round(time.process_time() - before, 1)
    model.load_state_dict(best)
    curves = {"losses": tuple(losses), "bleus": tuple(bleus), "train_losses": tuple(train_losses)}
    saves = source_saves(model)
    return Run(recipe=recipe, bleu=bleu(model, data.test), seconds=seconds, source_saves=saves, **curves)


@torch.inference_mode()
def validation_loss(model: GPT, pairs: list[Pair] | None = None) -> float:
    """Mean loss per target token on the validation pairs, or on the given ones, to three digits."""
    texts = PrefixLMBatches(pairs or material().validation, material().tokens, HELD_OUT)
    ids = (some.to(model.embedding.weight.device) for some in texts.batch_of(range(len(texts.dataset))))
    loss, count = PrefixLMLoss(model)(*ids)
    return round((loss / count).item(), 3)


def source_saves(model: GPT) -> float:
    """How much lower the loss per target token is after its own source than after another one."""
    pairs = material().validation
    mixed = [(source, target) for (source, _), (_, target) in zip(pairs, pairs[1:] + pairs[:1], strict=True)]
    return round(validation_loss(model, mixed) - validation_loss(model), 3)


def bleu(model: GPT, pairs: list[Pair]) -> float:
    """sacrebleu's BLEU on some pairs, with greedy decoding."""
    english, spanish = zip(*pairs, strict=True)
    written = translate_with_lm(model, material().tokens, english, max_tokens=24)
    return round(held_out_scores(written, spanish).bleu, 1)


def stored() -> dict[str, list[Run]]:
    """The stored runs by the question that they answer: "pairs", "longer", "tasks", "directions", "joint"."""
    return EXPERIMENT.stored()


def bleus(part: str, start: str) -> dict[int, list[float]]:
    """BLEU of the stored runs with this start, by the number of labeled pairs: one score per seed."""
    found: dict[int, list[float]] = {}
    for run in sorted(stored()[part], key=lambda run: (run.recipe.pairs, run.recipe.seed)):
        if run.recipe.start == start:
            found.setdefault(run.recipe.pairs, []).append(run.bleu)
    return found


SEEDS, FIRST = (0, 1, 2), (0,)  # not every seed is stored for all recipes
NUMBERS = (250, 1000, 4000, 16_000)  # of labeled pairs
FEW, MANY = 1000, 4000
NEXT, DENOISING = "next token", "denoising"


def gaps(part: str, start: str, size: int) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    """Losses on training pairs and on validation pairs along the stored runs with this start and size.

    One row for each seed; runs that were stored without their training losses are left out.
    """
    runs = [run for run in stored()[part] if (run.recipe.start, run.recipe.pairs) == (start, size)]
    known = [(run.train_losses, run.losses) for run in runs if run.train_losses is not None]
    return [trained for trained, _ in known], [held_out for _, held_out in known]


def planned(**choices: Iterable[Any]) -> Callable[[], list[Recipe]]:
    """A plan of all recipes with these values."""
    return lambda: [Recipe(**values) for values in every(**choices)()]


PARTS = {
    # with and without pretraining; fine-tuning is the same for all
    "pairs": planned(seed=SEEDS, start=(DENOISING, NOTHING, NEXT), pairs=NUMBERS),
    # without pretraining, but for as many steps as pretraining and fine-tuning together
    "longer": planned(seed=SEEDS, start=[NOTHING], pairs=NUMBERS, steps=[FINE_TUNING + PRETRAINING]),
    # the other pretraining tasks, for as many steps on the same text
    "tasks": planned(seed=FIRST, start=("masked token", "autoencoder"), pairs=(FEW, MANY)),
    # masked tokens with attention to both sides, and to the left only
    "directions": planned(seed=SEEDS, start=("masked token", ONE_SIDED), pairs=[MANY]),
    # the fine-tuning loss includes the source: P(X, Y) instead of P(Y | X)
    "joint": planned(seed=FIRST, start=[NOTHING], pairs=(FEW, MANY), joint=[True]),
}
EXPERIMENT = Experiment(__file__, PARTS, make, Run, settings=lambda: {"every": EVERY})


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)

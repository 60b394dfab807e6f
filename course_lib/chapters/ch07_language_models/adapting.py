"""How many labeled pairs pretraining replaces, at equal cost: instruction tuning of a small GPT (chapter 7d).

    python -m course_lib.experiments adapting --minutes 9 rates pairs lora

rates: for a model with random weights, the optimizer and the learning rate with the best accuracy. pairs:
that model against a pretrained one, over the number of pairs; both take the same number of steps in all. The
pretrained model is not tuned, so that the comparison favors the control. lora: that model, with LoRA.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import torch

from course_lib.experiments.runner import Experiment, learn
from course_lib.layers.lora import add_lora
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.tasks.instructions import (
    accuracy_by_task,
    document_ids,
    instruction_pairs,
    instruction_tokenizer,
    raw_documents,
    respond,
)
from course_lib.tasks.language_modeling import LanguageModelLoss, TextBatches
from course_lib.tasks.prefix_lm import PrefixLMBatches, PrefixLMLoss
from course_lib.training.config import TrainConfig

SIZES = {"d_model": 64, "heads": 4, "layers": 2, "max_tokens": 48}
DOCUMENTS, BATCH, PRETRAINING, FINE_TUNING = 20_000, 32, 800, 300  # the last two in steps
NUMBERS, SEARCHED, SEEDS = (100, 200, 500, 2000), 500, (0, 1, 2)  # the first two: of pairs
MATRICES = ("w_q", "w_kv", "w_o", "w_in", "w_out")
OWN = ("adamw", 3e-3)  # optimizer and learning rate of the pretrained model
TRIED = (("adamw", 3e-3), ("muon", 5e-3), ("muon", 1e-2), ("muon", 2e-2))


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One run of instruction tuning. pretrained: whether it starts from the pretrained model.

    pairs: number of requests with answers. steps: of instruction tuning. lr: peak learning rate. rank: of
    LoRA in all linear layers of the blocks; 0 trains all weights.
    """

    pairs: int
    pretrained: bool
    steps: int
    optimizer: str
    lr: float
    seed: int = 0
    rank: int = 0


@dataclass(frozen=True, kw_only=True)
class Run:
    """The result of a recipe: the accuracy of greedy answers to new requests, by task."""

    recipe: Recipe
    accuracy: dict[str, float]
    seconds: float


def new_model(seed: int) -> GPT:
    """The untrained model."""
    torch.manual_seed(seed)
    return GPT(GPTConfig(vocab=len(instruction_tokenizer()), positions="rotary", **SIZES))


@cache
def pretrained_model() -> GPT:
    """The model after next-token prediction on raw documents."""
    model, ids = new_model(0), document_ids(raw_documents(DOCUMENTS), instruction_tokenizer())
    config = TrainConfig(steps=PRETRAINING, lr=2e-2, warmup=50, optimizer="muon", precision="fp32")
    text = TextBatches(ids, tokens=SIZES["max_tokens"], batch=BATCH)
    learn(LanguageModelLoss(model), text, config)
    return model


def make(recipe: Recipe) -> Run:
    """Train by the recipe, and measure the accuracy on requests that are not among the pairs."""
    tokenizer, pairs = instruction_tokenizer(), instruction_pairs(max(NUMBERS), seed=1, chatty=0.7)
    seen = {request for request, _ in pairs}
    new = [pair for pair in instruction_pairs(600, seed=2) if pair[0] not in seen]
    model = copy.deepcopy(pretrained_model()) if recipe.pretrained else new_model(recipe.seed)
    if recipe.rank:
        torch.manual_seed(recipe.seed)  # for the random A
        add_lora(model, recipe.rank, alpha=64, names=MATRICES)
    batches = PrefixLMBatches(pairs[: recipe.pairs], tokenizer, BATCH, seed=recipe.seed, pool=1)
    settings = {"lr": recipe.lr, "optimizer": recipe.optimizer, "warmup": 20, "precision": "fp32"}
    _, seconds = learn(PrefixLMLoss(model), batches, TrainConfig(steps=recipe.steps, **settings))
    found = accuracy_by_task(new, respond(model, tokenizer, [request for request, _ in new]))
    return Run(recipe=recipe, accuracy={k: round(v, 3) for k, v in found.items()}, seconds=seconds)


def accuracies(pretrained: bool) -> dict[int, list[float]]:
    """Mean accuracy of the three tasks in percent, by the number of pairs: one for each seed of "pairs"."""
    runs = [run for run in stored("pairs") if run.recipe.pretrained == pretrained]
    runs.sort(key=lambda run: (run.recipe.pairs, run.recipe.seed))
    found: dict[int, list[float]] = {}
    for run in runs:
        found.setdefault(run.recipe.pairs, []).append(100 * sum(run.accuracy.values()) / len(run.accuracy))
    return found


def best_setting() -> tuple[str, float]:
    """Optimizer and learning rate of the run in the part "rates" with the highest mean accuracy."""
    best = max(stored("rates"), key=lambda run: sum(run.accuracy.values())).recipe
    return best.optimizer, best.lr


def tuned(pairs: int, optimizer: str, lr: float, pretrained: bool = False, seed: int = 0) -> Recipe:
    """A recipe; whether the model is pretrained or not, it takes the same number of steps in all."""
    steps = FINE_TUNING if pretrained else PRETRAINING + FINE_TUNING
    return Recipe(pairs=pairs, pretrained=pretrained, steps=steps, optimizer=optimizer, lr=lr, seed=seed)


def rates() -> Iterator[Recipe]:
    """The search for the setting of the model with random weights."""
    yield from (tuned(SEARCHED, *setting) for setting in TRIED)


def pairs() -> Iterator[Recipe]:
    """Both models, over the number of pairs; needs the stored rates."""
    for seed, number in product(SEEDS, NUMBERS):
        yield tuned(number, *OWN, pretrained=True, seed=seed)
        yield tuned(number, *best_setting(), seed=seed)


def lora() -> Iterator[Recipe]:
    """LoRA on all pairs: more steps, and a higher learning rate, as is usual."""
    for seed in SEEDS:
        yield Recipe(
            pairs=max(NUMBERS), pretrained=True, steps=500, optimizer="adamw", lr=8e-3, seed=seed, rank=16
        )


EXPERIMENT = Experiment(__file__, {"rates": rates, "pairs": pairs, "lora": lora}, make, Run)


def stored(part: str) -> list[Run]:
    """The stored runs of a part: "rates", "pairs" or "lora"."""
    return EXPERIMENT.part(part)


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)

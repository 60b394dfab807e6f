"""What context is worth to a small GPT: the model of chapter 7 with other seeds, positions and windows.

    python -m course_lib.experiments context --minutes 20

It reads the course's grammar, 32 tokens at a time or a single one; both answer as many questions in a step.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F

from course_lib.datasets import load_text
from course_lib.experiments.runner import Experiment, learn
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.tasks.language_modeling import LanguageModelLoss, TextBatches, mean_loss
from course_lib.text.tokenizers import Tokenizer
from course_lib.training.config import TrainConfig

QUESTIONS = 1024  # tokens to predict in one step
MODELS = {  # tokens read, positions, steps, number of seeds
    "rotary": (32, "rotary", 1200, 3),
    "learned": (32, "learned", 1200, 3),
    "one token": (1, "rotary", 1200, 1),
    "short": (32, "learned", 240, 1),
}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One run. name: a key of MODELS."""

    name: str
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Run:
    """The result of a recipe.

    loss: on the test text, in nats per token. by_context: the same after 1, 2, … tokens of context.
    """

    recipe: Recipe
    loss: float
    by_context: list[float]
    seconds: float


@cache
def material() -> tuple[Tokenizer, list[int], list[int]]:
    """The tokenizer, and the ids of the training and of the test text, as in chapter 7."""
    data = load_text("grammar")
    text = data.train[:1_000_000]
    tokenizer = Tokenizer.train(text.splitlines(), vocab=1000)
    return tokenizer, tokenizer.encode(text), tokenizer.encode(data.test)


def make(recipe: Recipe) -> Run:
    """Train by the recipe, and measure the losses."""
    tokenizer, ids, test = material()
    window, positions, steps, _ = MODELS[recipe.name]
    torch.manual_seed(recipe.seed)
    sizes = {"d_model": 64, "heads": 4, "layers": 2, "max_tokens": window}
    model = GPT(GPTConfig(vocab=len(tokenizer), positions=positions, **sizes))
    settings: dict[str, Any] = {"lr": 2e-2, "warmup": 30, "optimizer": "muon", "precision": "fp32"}
    config = TrainConfig(steps=steps, seed=recipe.seed, **settings)
    batches = TextBatches(ids, window, QUESTIONS // window, recipe.seed)
    _, seconds = learn(LanguageModelLoss(model), batches, config)
    loss = mean_loss(model, test, stride=max(1, window // 2))
    each = [round(one, 4) for one in by_context(model.eval(), test)]
    return Run(recipe=recipe, loss=round(loss, 4), by_context=each, seconds=seconds)


@torch.inference_mode()
def by_context(model: GPT, ids: list[int], tokens: int = 8000) -> list[float]:
    """Mean loss after 1, 2, … tokens of context: a window starts at every token of the first `tokens`."""
    windows = torch.tensor(ids[:tokens]).unfold(0, model.config.max_tokens + 1, 1)
    losses = [
        F.cross_entropy(model(some[:, :-1]).mT, some[:, 1:], reduction="none") for some in windows.split(400)
    ]
    return torch.cat(losses).mean(dim=0).tolist()


def planned() -> Iterator[Recipe]:
    """The recipes, seed by seed."""
    for seed in range(3):
        yield from (Recipe(name=name, seed=seed) for name, (*_, seeds) in MODELS.items() if seed < seeds)


EXPERIMENT = Experiment(__file__, {"runs": planned}, make, Run)


def stored() -> list[Run]:
    """The stored runs."""
    return EXPERIMENT.part("runs")


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)

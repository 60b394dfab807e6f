"""A small GPT on Shakespeare: what has changed since GPT-2, added one by one; and a comparison with nanoGPT.

    python -m course_lib.experiments.gpt_changes changes --seconds 22
    python -m course_lib.experiments.gpt_changes beside --seed 0

changes: each change added in turn, all for the same time; the first and the last one with two seeds.
beside: nanoGPT's own CPU setting, and our model for as long.
All models of a part take turns in one process. A run replaces the stored one with the same recipe in
results/gpt_changes.json; `stored()` reads those of `changes`.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.datasets import load_text
from course_lib.experiments import storage
from course_lib.experiments.nanogpt import NanoGPT, Setting, Training
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.pretrained.gpt2 import SINCE_GPT2
from course_lib.tasks.language_modeling import LanguageModelLoss, TextBatches, mean_loss
from course_lib.text.tokenizers import SPECIAL_TOKENS, CharTokenizer
from course_lib.training.config import TrainConfig
from course_lib.training.optim import make_optimizer
from course_lib.training.precision import autocast, choose_precision

STORED = Path(__file__).parent / "results" / "gpt_changes.json"


@dataclass(frozen=True)
class Change:
    """One difference from the previous line. model: GPTConfig fields. training: TrainConfig fields."""

    name: str
    model: dict[str, Any]
    training: dict[str, Any]


CHANGES = (
    Change("GPT-2's form, AdamW", {}, {"optimizer": "adamw", "lr": 0.003, "precision": "fp32"}),
    *(
        Change(name, {field: SINCE_GPT2[field]}, {})
        for name, field in (
            ("rotary positions", "positions"),
            ("queries and keys normalised", "qk_norm"),
            ("squared ReLU", "activation"),
            ("outputs begin at zero", "zero_outputs"),
        )
    ),
    Change("Muon for the matrices", {}, {"optimizer": "muon", "lr": 0.01}),
    Change("products in bf16, where that is faster", {}, {"precision": "auto"}),
)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One training run. changes: how many of CHANGES, in order, 1 or more. seconds: how long.

    All runs take turns of about a second in one process, so that a disturbance affects all of them.
    """

    changes: int
    seconds: float
    seed: int = 0

    def settings(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Fields of the GPTConfig, and of the TrainConfig."""
        model, training = {}, {}
        for change in CHANGES[: self.changes]:
            model, training = {**model, **change.model}, {**training, **change.training}
        return model, training


@dataclass(frozen=True, kw_only=True)
class Run:
    """The result of a recipe. loss: on the whole validation text, in nats per character.

    steps: of 32 windows of 64 characters. seconds: their total time. precision: the number format; "" if the
    run was stored before it was chosen by measurement.
    """

    recipe: Recipe
    loss: float
    steps: int
    seconds: float
    precision: str = ""

    @property
    def name(self) -> str:
        """The last of its changes."""
        return CHANGES[self.recipe.changes - 1].name


@cache
def stored() -> list[Run]:
    """The stored runs, with CHANGES added one by one."""
    runs = json.loads(STORED.read_text(encoding="utf-8"))["runs"]["changes"]
    return [Run(**{**run, "recipe": Recipe(**run["recipe"])}) for run in runs]


TEXT, CONTEXT, BATCH, WARMUP = "tinyshakespeare", 64, 32, 0.05
TURN = 1.0  # seconds
CPU = torch.device("cpu")


@cache
def material() -> tuple[CharTokenizer, Tensor, Tensor]:
    """The tokenizer, and the ids of the training and the validation text."""
    data = load_text(TEXT)
    tokens = CharTokenizer.train([data.train, data.validation])
    return tokens, torch.tensor(tokens.encode(data.train)), torch.tensor(tokens.encode(data.validation))


class Ours:
    """One of our models in training; its learning rate depends on the fraction of its time used."""

    def __init__(self, recipe: Recipe):
        tokens, text, _ = material()
        self.recipe, (model, training) = recipe, recipe.settings()
        torch.manual_seed(recipe.seed)
        self.model = GPT(GPTConfig(vocab=len(tokens), max_tokens=CONTEXT, **model))
        self.objective = LanguageModelLoss(self.model)
        self.config = TrainConfig(steps=1, weight_decay=0.1, **training)
        self.optimizer = make_optimizer(self.objective, self.config)
        self.batches = TextBatches(text, CONTEXT, BATCH, recipe.seed)
        self.precision = choose_precision(self.config.precision, CPU)
        self.steps, self.epoch, self.left, self.seconds = 0, 0, [], 0.0

    def step(self, share: float) -> None:
        """One training step at this fraction of the time; the rate rises linearly, then falls to 0."""
        if not self.left:
            self.left, self.epoch = self.batches.batch_sampler.batches(self.epoch), self.epoch + 1
        with autocast(CPU, self.precision):
            loss, count = self.objective(*self.batches.dataset[self.left.pop()])
        (loss / count).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.lr * max(0.0, min(share / WARMUP, (1 - share) / (1 - WARMUP)))
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.steps += 1

    def turn(self, seconds: float, share: Callable[[float], float]) -> None:
        """Train for this many seconds; `share` maps the seconds used to the fraction of the time."""
        begin, before = time.perf_counter(), self.seconds
        while time.perf_counter() - begin < seconds:
            self.step(share(self.seconds))
            self.seconds = before + time.perf_counter() - begin

    def result(self) -> dict[str, Any]:
        loss = mean_loss(self.model, material()[2])
        counts = {"steps": self.steps, "seconds": round(self.seconds, 1), "precision": self.precision}
        return {"loss": round(loss, 4), **counts}


class AsOurs(nn.Module):
    """nanoGPT's model as `mean_loss` calls it: its ids start after our special tokens."""

    def __init__(self, model: NanoGPT, control: int):
        super().__init__()
        self.model, self.control = model, control

    def forward(self, ids: Tensor) -> Tensor:
        logits = self.model(ids - self.control)
        return nn.functional.pad(logits, (self.control, 0), value=float("-inf"))


def changes(seconds: float, seed: int = 0) -> None:
    """Every number of changes with one seed; the first and the last with the next seed as well."""
    last = len(CHANGES)
    plan = [(number, seed) for number in range(1, last + 1)] + [(1, seed + 1), (last, seed + 1)]
    trainings = [Ours(Recipe(changes=number, seconds=seconds, seed=own)) for number, own in plan]
    while going := [training for training in trainings if training.seconds < seconds]:
        for training in going:
            left = seconds - training.seconds
            training.turn(min(TURN, left), lambda used: used / seconds)
    for training in trainings:
        add("changes", {"recipe": asdict(training.recipe), **training.result()})


def beside(seed: int, setting: Setting | None = None) -> None:
    """nanoGPT's setting to its last step, and ours for the same time; they take turns of ten of its steps."""
    _, text, validation = material()
    control = len(SPECIAL_TOKENS)  # special tokens of our vocabulary; nanoGPT's has none
    torch.manual_seed(seed)
    theirs = Training(NanoGPT(setting or Setting()), text - control, seed)
    ours = Ours(Recipe(changes=len(CHANGES), seconds=0.0, seed=seed))
    seconds, steps = 0.0, theirs.model.setting.steps
    while theirs.number < steps:
        begin = time.perf_counter()
        for _ in range(min(10, steps - theirs.number)):
            theirs.step()
        seconds += time.perf_counter() - begin
        share = theirs.number / steps
        ours.turn(max(0.0, seconds - ours.seconds), lambda used, now=share: now)
    loss = mean_loss(AsOurs(theirs.model, control), validation, CONTEXT)
    counts = {"steps": steps, "seconds": round(seconds, 1), "parameters": count(theirs.model)}
    add("nanogpt", {"recipe": {"seed": seed}, "loss": round(loss, 4), **counts})
    recipe = {"changes": len(CHANGES), "seed": seed}
    add("beside", {"recipe": recipe, **ours.result(), "parameters": count(ours.model)})


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def add(part: str, run: dict[str, Any]) -> None:
    """Store one run, replacing one with the same recipe."""
    storage.add_runs(STORED, read(), part, [run], "recipe")


def read() -> dict[str, Any]:
    return storage.read_runs(STORED, "course_lib.experiments.gpt_changes")


def main() -> None:
    """Make the runs of the chosen parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=["changes", "beside"])
    parser.add_argument("--seconds", type=float, default=22.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if "changes" in arguments.parts:
        changes(arguments.seconds, arguments.seed)
    if "beside" in arguments.parts:
        beside(arguments.seed)


if __name__ == "__main__":
    main()

"""The stored runs of a small GPT on Shakespeare: what has changed since GPT-2; and beside nanoGPT.

cd tests && python -m benchmarks.gpt_runs changes --seconds 22
cd tests && python -m benchmarks.gpt_runs beside --seed 0

changes: each change added in turn, all for the same time; the first and the last one with two seeds.
beside: nanoGPT's setting for a CPU as it is, and ours for as long.
All models of a part take turns in one process. Results go into course_lib/widgets/gpt_runs.json, in place of
those with the same recipe.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks import report
from benchmarks.nanogpt import NanoGPT, Setting, Training
from course_lib.characters import Characters
from course_lib.datasets import load_text
from course_lib.gpt import GPT, GPTConfig
from course_lib.language_model import LanguageModelObjective, TextBatches, mean_loss
from course_lib.memory import keep_freed_memory
from course_lib.optimizers import make_optimizer
from course_lib.precision import autocast
from course_lib.schedules import TrainConfig
from course_lib.tokens import CONTROL
from course_lib.widgets.gpt_runs import CHANGES, STORED, Recipe

TEXT, CONTEXT, BATCH, WARMUP = "tinyshakespeare", 64, 32, 0.05
TURN = 1.0  # seconds


@cache
def material() -> tuple[Characters, Tensor, Tensor]:
    """The characters, and the ids of the training and of the validation text."""
    data = load_text(TEXT)
    tokens = Characters.train([data.train, data.validation])
    return tokens, torch.tensor(tokens.encode(data.train)), torch.tensor(tokens.encode(data.validation))


class Ours:
    """One of our models in training, whose learning rate follows the share of its time that is used."""

    def __init__(self, recipe: Recipe):
        tokens, text, _ = material()
        self.recipe, (model, training) = recipe, recipe.settings()
        torch.manual_seed(recipe.seed)
        self.model = GPT(GPTConfig(vocab=len(tokens), max_tokens=CONTEXT, **model))
        self.objective = LanguageModelObjective(self.model)
        self.config = TrainConfig(steps=1, weight_decay=0.1, **training)
        self.optimizer = make_optimizer(self.objective, self.config)
        self.batches = TextBatches(text, CONTEXT, BATCH, recipe.seed)
        self.steps, self.epoch, self.left, self.seconds = 0, 0, [], 0.0

    def step(self, share: float) -> None:
        """One step, when this share of the time is over; the rate rises linearly, then falls to 0."""
        if not self.left:
            self.left, self.epoch = self.batches.epoch(self.epoch), self.epoch + 1
        with autocast(torch.device("cpu"), self.config.precision):
            loss, count = self.objective(*self.batches.collate(self.left.pop()))
        (loss / count).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.lr * max(0.0, min(share / WARMUP, (1 - share) / (1 - WARMUP)))
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.steps += 1

    def turn(self, seconds: float, share: Callable[[float], float]) -> None:
        """Steps for so many seconds; `share` of the time is over when a number of seconds is used."""
        begin, before = time.perf_counter(), self.seconds
        while time.perf_counter() - begin < seconds:
            self.step(share(self.seconds))
            self.seconds = before + time.perf_counter() - begin

    def result(self) -> dict[str, Any]:
        loss = mean_loss(self.model, material()[2])
        return {"loss": round(loss, 4), "steps": self.steps, "seconds": round(self.seconds, 1)}


class AsOurs(nn.Module):
    """nanoGPT's model for `mean_loss`: its ids begin where our control tokens end."""

    def __init__(self, model: NanoGPT, control: int):
        super().__init__()
        self.model, self.control = model, control

    def forward(self, ids: Tensor) -> Tensor:
        logits = self.model(ids - self.control)
        return nn.functional.pad(logits, (self.control, 0), value=float("-inf"))


def changes(seconds: float, seed: int = 0) -> None:
    """Every number of changes with one seed, the first and the last also with the next one."""
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
    """nanoGPT's setting, whatever time it takes, and ours in the same time, in turns of ten of its steps."""
    _, text, validation = material()
    control = len(CONTROL)  # of our vocabulary; theirs has no such tokens
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
    """Store one run, in place of one with the same recipe."""
    content = read()
    others = [other for other in content["runs"].get(part, []) if other["recipe"] != run["recipe"]]
    content["runs"][part] = [*others, run]
    report.write_runs(STORED, content)
    print(part, json.dumps(run), flush=True)


def read() -> dict[str, Any]:
    return report.read_runs(STORED, "benchmarks.gpt_runs")


def main() -> None:
    """Make the runs of the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=["changes", "beside"])
    parser.add_argument("--seconds", type=float, default=22.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    keep_freed_memory()
    if "changes" in arguments.parts:
        changes(arguments.seconds, arguments.seed)
    if "beside" in arguments.parts:
        beside(arguments.seed)


if __name__ == "__main__":
    main()

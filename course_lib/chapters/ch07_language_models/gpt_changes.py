"""A small GPT with all that has changed since GPT-2 on Shakespeare, and nanoGPT's CPU setting, for as long.

    python -m course_lib.experiments gpt_changes beside --seeds 0

The two models take turns in one process. It makes the missing runs of results/gpt_changes.json, which also
has earlier runs with the changes added one by one (part "changes").
"""

import time
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.datasets import load_text
from course_lib.experiments.nanogpt import NanoGPT, Setting, Training
from course_lib.experiments.runner import Experiment, every
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.pretrained.gpt2 import SINCE_GPT2
from course_lib.tasks.language_modeling import LanguageModelLoss, TextBatches, mean_loss
from course_lib.text.tokenizers import SPECIAL_TOKENS, CharTokenizer
from course_lib.training.config import TrainConfig
from course_lib.training.optim import make_optimizer
from course_lib.training.precision import autocast, choose_precision

TEXT, CONTEXT, BATCH, WARMUP = "tinyshakespeare", 64, 32, 0.05
CHANGES = (
    7  # in a stored recipe: positions, QK-norm, activation, zero outputs, Muon, precision, and GPT-2's form
)
CPU = torch.device("cpu")


@cache
def material() -> tuple[CharTokenizer, Tensor, Tensor]:
    """The tokenizer, and the ids of the training and the validation text."""
    data = load_text(TEXT)
    tokens = CharTokenizer.train([data.train, data.validation])
    return tokens, torch.tensor(tokens.encode(data.train)), torch.tensor(tokens.encode(data.validation))


class Ours:
    """Our model in training; its learning rate depends on the fraction of its time used."""

    def __init__(self, seed: int):
        tokens, text, _ = material()
        torch.manual_seed(seed)
        self.model = GPT(GPTConfig(vocab=len(tokens), max_tokens=CONTEXT, **SINCE_GPT2))
        self.objective = LanguageModelLoss(self.model)
        self.config = TrainConfig(steps=1, weight_decay=0.1, optimizer="muon", lr=0.01, precision="auto")
        self.optimizer = make_optimizer(self.objective, self.config)
        self.batches = TextBatches(text, CONTEXT, BATCH, seed)
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

    def turn(self, seconds: float, share: float) -> None:
        """Train for this many seconds, at this fraction of the time."""
        begin, before = time.perf_counter(), self.seconds
        while time.perf_counter() - begin < seconds:
            self.step(share)
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


def beside(changes: int, seed: int, setting: Setting | None = None) -> dict[str, Any]:
    """nanoGPT's setting to its last step, and ours for the same time; they take turns of ten of its steps.

    Stores nanoGPT's run, and returns ours.
    """
    _, text, validation = material()
    control = len(SPECIAL_TOKENS)  # special tokens of our vocabulary; nanoGPT's has none
    torch.manual_seed(seed)
    theirs = Training(NanoGPT(setting or Setting()), text - control, seed)
    ours, seconds, steps = Ours(seed), 0.0, theirs.model.setting.steps
    while theirs.number < steps:
        begin = time.perf_counter()
        for _ in range(min(10, steps - theirs.number)):
            theirs.step()
        seconds += time.perf_counter() - begin
        ours.turn(max(0.0, seconds - ours.seconds), theirs.number / steps)
    loss = mean_loss(AsOurs(theirs.model, control), validation, CONTEXT)
    counts = {"steps": steps, "seconds": round(seconds, 1), "parameters": count(theirs.model)}
    EXPERIMENT.add("nanogpt", {"recipe": {"seed": seed}, "loss": round(loss, 4), **counts})
    return {"recipe": {"changes": changes, "seed": seed}, **ours.result(), "parameters": count(ours.model)}


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


PLAN = every(changes=[CHANGES], seed=range(3))
EXPERIMENT = Experiment(__file__, {"beside": PLAN}, beside, dict, threads=None)


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)

"""Chapter 9: which hidden state to read, and what pretraining brings where labels are few.

    python -m course_lib.experiments text_classifiers

makes the missing runs of all parts, or of those that are named ("pooling", "few labels", "rates"), and stores
them in results/text_classifiers.json: about nine minutes of one thread. `stored()` reads the results.
"""

import copy
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from course_lib.datasets import LabelledData, load_labelled
from course_lib.experiments.runner import Experiment, every, learn
from course_lib.layers.lora import add_lora
from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.tasks.prefix_lm import PrefixLMLoss
from course_lib.tasks.pretraining import PretrainingBatches
from course_lib.tasks.text_classification import (
    LabelledBatches,
    TextClassificationLoss,
    TextClassifier,
    accuracy,
)
from course_lib.text.tokenizers import Tokenizer
from course_lib.training.config import TrainConfig

SIZES = {"d_model": 32, "heads": 4, "layers": 2, "max_tokens": 24}
STEPS, EVERY, SEEDS = 800, 100, (0, 1, 2)
VARIANTS: dict[str, dict[str, Any]] = {  # what differs from a two-sided encoder with learned positions
    "class token": {},
    "last token": {},
    "causal, last token": {"causal": True},
    "mean": {},
    "max": {},
    "flatten": {},
    "mean, no positions": {"positions": "none"},
}
FEW, PRETRAINING = 400, 600  # labels; steps
HOW: dict[str, dict[str, Any]] = {  # one optimizer for all, so that the results can be compared
    "frozen": {"optimizer": "adamw", "lr": 3e-2},
    "LoRA": {"optimizer": "adamw", "lr": 1e-2},
    "fine-tuned": {"optimizer": "adamw", "lr": 3e-3},
}
RATES = (1e-3, 3e-3, 1e-2, 3e-2)  # learning rates that LoRA and fine-tuning are compared at


def pooling_run(variant: str, seed: int, steps: int = STEPS) -> dict[str, Any]:
    """Train one classifier on all labels: validation accuracy along the way, test accuracy at the end."""
    start, data = time.process_time(), load_labelled("reviews")
    tokenizer = Tokenizer.train(data.train.sentences, vocab=1000, kind="words")
    ids = {p: tokenizer.encode_batch(getattr(data, p).sentences) for p in ("train", "validation", "test")}
    pooling = variant.removeprefix("causal, ").removesuffix(", no positions")
    torch.manual_seed(seed)
    config = EncoderConfig(vocab=len(tokenizer), **SIZES, **VARIANTS[variant])
    model = TextClassifier(TextEncoder(config), 2, pooling)
    to = SIZES["max_tokens"] if pooling == "flatten" else None
    batches = LabelledBatches(ids["train"], data.train.labels, classes=2, batch=64, to=to, seed=seed)
    form = {"optimizer": "muon", "precision": "fp32", "evaluate_every": min(EVERY, steps), "seed": seed}
    plan = TrainConfig(steps=steps, lr=1e-2, warmup=30, **form)

    def evaluate() -> dict[str, float]:
        return {"accuracy": accuracy(model, ids["validation"], data.validation.labels)}

    history, _ = learn(TextClassificationLoss(model), batches, plan, evaluate)
    return {
        "variant": variant,
        "seed": seed,
        "steps": steps,
        "validation": [round(100 * scores["accuracy"], 1) for scores in history.evaluations],
        "test": round(100 * accuracy(model, ids["test"], data.test.labels), 2),
        "seconds": round(time.process_time() - start, 1),
    }


def swap_neighbors(row: Sequence[int], rng: random.Random) -> list[int]:
    """The sentence with two different neighboring words exchanged; the final period keeps its place."""
    i = rng.choice([i for i in range(len(row) - 2) if row[i] != row[i + 1]])
    return [*row[:i], row[i + 1], row[i], *row[i + 2 :]]


def order_task(rows: Sequence[Sequence[int]], seed: int) -> tuple[list[Sequence[int]], list[int]]:
    """Sentences in their own order (label 1), and with two neighboring words exchanged (label 0).

    Sentences in which no exchange would change anything are left out.
    """
    rng = random.Random(seed)
    rows = [row for row in rows if len(set(row[:-1])) > 1]
    texts = [row if n % 2 else swap_neighbors(row, rng) for n, row in enumerate(rows)]
    return texts, [n % 2 for n in range(len(rows))]


def pretrain(data: LabelledData, tokenizer: Tokenizer, encoder: TextEncoder, seed: int, steps: int) -> None:
    """Masked language modeling on the training sentences, cut so that two of them fit into a text."""
    longest = (encoder.config.max_tokens - 3) // 2  # a text has BOS and two EOS as well
    texts = PretrainingBatches(data.train.sentences, tokenizer, 24, "masked token", seed, longest)
    form = {"optimizer": "muon", "precision": "fp32", "seed": seed}
    plan = TrainConfig(steps=steps, lr=1e-2, warmup=30, **form)
    learn(PrefixLMLoss(encoder, causal=False), texts, plan)


def tune(
    encoder: TextEncoder, how: str, few: LabelledBatches, seed: int, steps: int, **changes: Any
) -> TextClassifier:
    """Train a new head on few labels: on a frozen copy of the encoder, with LoRA, or with all its weights.

    changes: to the settings in `HOW`.
    """
    torch.manual_seed(seed)
    model = TextClassifier(copy.deepcopy(encoder), 2, "mean")
    if how == "LoRA":
        add_lora(model.encoder, rank=4)
    else:
        model.encoder.requires_grad_(how == "fine-tuned")
    plan = TrainConfig(steps=steps, warmup=10, precision="fp32", seed=seed, **{**HOW[how], **changes})
    learn(TextClassificationLoss(model), few, plan)
    return model.eval()


@dataclass(frozen=True)
class FewLabels:
    """The word order task with few labels, and an encoder before and after pretraining."""

    encoders: dict[str, TextEncoder]
    train: tuple[list[Sequence[int]], list[int]]
    test: tuple[list[Sequence[int]], list[int]]
    seed: int
    steps: int

    @classmethod
    def of(
        cls, data: LabelledData, seed: int, steps: int = 200, pretraining: int = PRETRAINING
    ) -> "FewLabels":
        """Pretrain an encoder on all training sentences; keep the labels of a few."""
        tokenizer = Tokenizer.train(data.train.sentences, vocab=1000, kind="words")
        texts, labels = order_task(tokenizer.encode_batch(data.train.sentences), seed)
        test = order_task(tokenizer.encode_batch(data.test.sentences), seed + 100)
        torch.manual_seed(seed)
        config = EncoderConfig(**{**SIZES, "vocab": len(tokenizer) + 1, "max_tokens": 48})
        pretrained = TextEncoder(config)
        encoders = {"untrained": copy.deepcopy(pretrained), "pretrained": pretrained}
        pretrain(data, tokenizer, pretrained, seed, pretraining)
        return cls(encoders, (texts[:FEW], labels[:FEW]), test, seed, steps)

    def run(self, encoder: str, how: str, **changes: Any) -> dict[str, Any]:
        """Test accuracy of one of the encoders, tuned in one way."""
        few = LabelledBatches(*self.train, classes=2, batch=50, seed=self.seed)
        model = tune(self.encoders[encoder], how, few, self.seed, self.steps, **changes)
        trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
        run = {"encoder": encoder, "how": how, "seed": self.seed, "trained": trained, **changes}
        return {**run, "test": round(100 * accuracy(model, *self.test), 2)}


@cache
def task(seed: int) -> FewLabels:
    """The word order task on the reviews."""
    return FewLabels.of(load_labelled("reviews"), seed)


def tuned(seed: int, **choices: Any) -> dict[str, Any]:
    """A run of the word order task."""
    return task(seed).run(**choices)


EXPERIMENT = Experiment(
    __file__,
    {
        "pooling": every(seed=SEEDS, variant=VARIANTS),
        "few labels": every(seed=SEEDS, encoder=("untrained", "pretrained"), how=HOW),
        "rates": every(seed=SEEDS, encoder=["pretrained"], how=("LoRA", "fine-tuned"), lr=RATES),
    },
    {"pooling": pooling_run, "few labels": tuned, "rates": tuned},
    dict,
    keys=("variant", "encoder", "how", "lr", "seed"),
)


def stored() -> dict[str, Any]:
    """The stored runs by part, with machine and command."""
    return EXPERIMENT.read()


def accuracies(part: str, **wanted: Any) -> list[float]:
    """Stored test accuracies in percent, one per seed, of the runs of a part with these fields."""
    return [run["test"] for run in EXPERIMENT.part(part) if wanted.items() <= run.items()]


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)

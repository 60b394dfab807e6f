"""Image classifiers on CIFAR-10, in training runs that are too long for a notebook.

    python -m course_lib.experiments.cifar10 presets cifar10-cpu-strided
    python -m course_lib.experiments.cifar10 fixes --steps 937
    python -m course_lib.experiments.cifar10 augmentations --steps 1000
    python -m course_lib.experiments.cifar10 tokenizers --steps 1000

presets: what `python -m course_lib train vision --preset … --device cpu` trains.
fixes: the lecture's visTransformer with its own settings for so many batches of 48, its deviations fixed one
after the other.
augmentations: the preset "cifar10-cpu-strided" for so many steps on few images, with each augmentation.
tokenizers: the run of "augmentations" with crop+flip, with patches instead of convolutions.
Everything runs on one thread and is timed in processor time. A run replaces the stored one with the same name
and seed in results/cifar10.json; `stored()` reads them. CIFAR-10 must be in $COURSE_DATA or in the cache.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import nn

from course_lib.datasets import ImageData, load_images
from course_lib.experiments import storage
from course_lib.experiments.recipes import prepare_vision, recipe
from course_lib.lectures.dlstudio import VisionConfig, VisionDeviations, VisTransformer
from course_lib.tasks.image_classification import (
    ImageBatches,
    ImageClassificationLoss,
    accuracy,
    confusion_matrix,
    predict,
)
from course_lib.training.config import TrainConfig
from course_lib.training.trainer import train

STORED = Path(__file__).parent / "results" / "cifar10.json"
FIXES: dict[str, tuple[str, ...]] = {  # what is fixed in the lecture's model, one after the other
    "the lecture's model": (),
    "embedding, positions and class token trained": ("frozen_embedding", "frozen_class_token"),
    "true patches": ("scrambled_patches",),
    "softmax over the keys, scaled inside": ("softmax_over_queries", "scale_after_softmax"),
    "heads that see all, and are mixed": ("sliced_heads", "no_output_projection"),
    "LayerNorm before, no dropout in the test": ("post_norm", "never_eval"),
}
PARTS = ("presets", "fixes", "augmentations", "tokenizers")
AUGMENTS = ("", "flip", "crop+flip", "crop+flip+randaugment", "crop+flip+mixup", "crop+flip+cutmix")


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training run and its results.

    name: of the preset, the last fix, or the augmentations. validation, test: accuracy.
    losses: means of several steps each. evaluations: step and validation accuracy.
    confusion: confusion matrix on the test images, rows are true classes. images: number of training images;
    None: all. seconds: processor time on one thread, training only.
    """

    name: str
    seed: int
    parameters: int
    steps: int
    batch: int
    seconds: float
    validation: float
    test: float
    losses: list[float]
    evaluations: list[tuple[int, float]]
    confusion: list[list[int]]
    images: int | None = None

    @property
    def images_per_second(self) -> float:
        return self.steps * self.batch / self.seconds


@cache
def stored() -> dict[str, list[Run]]:
    """The stored runs by part: "presets", "fixes", "augmentations", "tokenizers"; a part may be empty."""
    runs = json.loads(STORED.read_text(encoding="utf-8"))["runs"] if STORED.exists() else {}
    return {
        part: [Run(**{**run, "evaluations": [tuple(one) for one in run["evaluations"]]}) for run in some]
        for part, some in {**{name: [] for name in PARTS}, **runs}.items()
    }


FEW = 5000  # training images, so that the model overfits, which augmentation is meant to prevent
POINTS = 60  # of a stored loss curve
LECTURE = {"optimizer": "adamw", "lr": 1e-4, "schedule": "constant", "warmup": 0, "weight_decay": 0.0}


@cache
def images() -> ImageData:
    return load_images("cifar10")


def learn(
    data: ImageData, objective: nn.Module, batches: ImageBatches, config: TrainConfig, **about: Any
) -> dict[str, Any]:
    """Train, and return the results; evaluation time is not counted."""
    model, aside = objective.model, 0.0

    def evaluate() -> dict[str, float]:
        nonlocal aside
        begin = time.process_time()
        scores = {"accuracy": accuracy(model, data.validation)}
        aside += time.process_time() - begin
        return scores

    begin = time.process_time()
    history = train(objective, batches, config, evaluate=evaluate, device="cpu", progress=False)
    seconds = time.process_time() - begin - aside
    counts = confusion_matrix(data.test.labels, predict(model, data.test.pixels).argmax(-1), 10)
    return {
        **about,
        "seed": config.seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "steps": history.steps,
        "batch": batches.batch_sampler.batch,
        "seconds": round(seconds, 1),
        "validation": round(history.evaluations[-1]["accuracy"], 4),
        "test": round(counts.diagonal().sum().item() / len(data.test), 4),
        "losses": [round(loss, 3) for loss in curve(history.losses)],
        "evaluations": [[one["step"], round(one["accuracy"], 4)] for one in history.evaluations],
        "confusion": counts.tolist(),
    }


def curve(losses: Sequence[float]) -> Iterator[float]:
    """The means of equal parts of the losses, at most POINTS of them."""
    width = -(-len(losses) // POINTS)
    for i in range(0, len(losses), width):
        part = losses[i : i + width]
        yield fmean(part)


def preset(name: str, **overrides: Any) -> tuple[ImageData, nn.Module, ImageBatches, TrainConfig]:
    """Images, loss, batches and TrainConfig of a vision preset on a CPU, with some settings changed."""
    return prepare_vision(recipe("vision", preset=name, device="cpu", **overrides))


def presets(names: Sequence[str], seed: int) -> None:
    """Each named preset, unchanged."""
    for name in names:
        add("presets", learn(*preset(name, seed=seed), name=name))


def fixes(steps: int, seed: int) -> None:
    """The lecture's model, then with its deviations fixed one after the other."""
    deviations = VisionDeviations.lecture()
    for name, fixed in FIXES.items():
        deviations = deviations.without(*fixed)
        torch.manual_seed(seed)
        objective = ImageClassificationLoss(VisTransformer(VisionConfig(), deviations))
        batches = ImageBatches(images().train, 48, seed)
        config = TrainConfig(steps=steps, clip=1e9, precision="fp32", seed=seed, **LECTURE)
        add("fixes", learn(images(), objective, batches, config, name=name))


def augmentations(steps: int, seed: int) -> None:
    """The CPU preset on few images, with each kind of augmentation."""
    for augment in AUGMENTS:
        run = on_few_images(augment or "none", augment=augment, steps=steps, seed=seed)
        add("augmentations", run)


def tokenizers(steps: int, seed: int) -> None:
    """The CPU preset on few images, with patches instead of convolutions."""
    add("tokenizers", on_few_images("patches", tokenizer="patches", steps=steps, seed=seed))


def on_few_images(name: str, **overrides: Any) -> dict[str, Any]:
    """The CPU preset on few images, with some settings changed."""
    data, objective, batches, config = preset("cifar10-cpu-strided", **overrides)
    few = ImageBatches(data.train[:FEW], batches.batch_sampler.batch, config.seed, batches.augment)
    return learn(data, objective, few, config, name=name, images=FEW)


def add(part: str, run: dict[str, Any]) -> None:
    """Store one run, replacing one with the same name and seed."""
    storage.add_runs(STORED, read(), part, [run], "name", "seed")


def read() -> dict[str, Any]:
    return storage.read_runs(STORED, "course_lib.experiments.cifar10")


def main() -> None:
    """Make the runs of the chosen part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("names", nargs="*", help="presets")
    parser.add_argument("--steps", type=int, default=937)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.part == "presets":
        presets(arguments.names, arguments.seed)
    else:
        parts = {"fixes": fixes, "augmentations": augmentations, "tokenizers": tokenizers}
        parts[arguments.part](arguments.steps, arguments.seed)


if __name__ == "__main__":
    main()

"""Image classifiers on CIFAR-10, in training runs that are too long for a notebook.

    python -m course_lib.experiments cifar10 presets cifar10-cpu-strided
    python -m course_lib.experiments cifar10 fixes augmentations tokenizers

presets: what `python -m course_lib train vision --preset … --device cpu` trains.
fixes: the lecture's visTransformer with its own settings for an epoch, 937 batches of 48, its deviations
fixed one after the other.
augmentations: the preset "cifar10-cpu-strided" for 1000 steps on few images, with each augmentation.
tokenizers: the run of "augmentations" with crop+flip, with patches instead of convolutions.
Everything runs on one thread and is timed in processor time. --again makes runs again that are already
stored in results/cifar10.json; `stored()` reads them. CIFAR-10 must be in $COURSE_DATA or in the cache.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any

import torch
from torch import nn

from course_lib.datasets import ImageData, load_images
from course_lib.experiments.recipes import prepare_vision, recipe
from course_lib.experiments.runner import Experiment, every, learn
from course_lib.lectures.dlstudio import VisionConfig, VisionDeviations, VisTransformer
from course_lib.tasks.image_classification import (
    ImageBatches,
    ImageClassificationLoss,
    accuracy,
    confusion_matrix,
    predict,
)
from course_lib.training.config import TrainConfig

FIXES: dict[str, tuple[str, ...]] = {  # what is fixed in the lecture's model, one after the other
    "the lecture's model": (),
    "embedding, positions and class token trained": ("frozen_embedding", "frozen_class_token"),
    "true patches": ("scrambled_patches",),
    "softmax over the keys, scaled inside": ("softmax_over_queries", "scale_after_softmax"),
    "heads that see all, and are mixed": ("sliced_heads", "no_output_projection"),
    "LayerNorm before, no dropout in the test": ("post_norm", "never_eval"),
}
AUGMENTS = ("none", "flip", "crop+flip", "crop+flip+randaugment", "crop+flip+mixup", "crop+flip+cutmix")
PRESETS = ("cifar10-cpu-strided", "cifar10-cpu-long-strided")


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


FEW = 5000  # training images, so that the model overfits, which augmentation is meant to prevent
POINTS = 60  # of a stored loss curve
EPOCH, STEPS = 937, 1000  # steps of the parts "fixes", and "augmentations" and "tokenizers"
LECTURE = {"optimizer": "adamw", "lr": 1e-4, "schedule": "constant", "warmup": 0, "weight_decay": 0.0}


@cache
def images() -> ImageData:
    return load_images("cifar10")


def measured(
    data: ImageData, objective: nn.Module, batches: ImageBatches, config: TrainConfig, **about: Any
) -> dict[str, Any]:
    """Train, and return the results; evaluation time is not counted."""
    model = objective.model
    history, seconds = learn(
        objective, batches, config, lambda: {"accuracy": accuracy(model, data.validation)}
    )
    counts = confusion_matrix(data.test.labels, predict(model, data.test.pixels).argmax(-1), 10)
    return {
        **about,
        "seed": config.seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "steps": history.steps,
        "batch": batches.batch_sampler.batch,
        "seconds": seconds,
        "validation": round(history.evaluations[-1]["accuracy"], 4),
        "test": round(counts.diagonal().sum().item() / len(data.test), 4),
        "losses": [round(loss, 3) for loss in curve(history.losses)],
        "evaluations": [[one["step"], round(one["accuracy"], 4)] for one in history.evaluations],
        "confusion": counts.tolist(),
    }


def curve(losses: Sequence[float]) -> list[float]:
    """The means of equal parts of the losses, at most POINTS of them."""
    width = math.ceil(len(losses) / POINTS)
    return [fmean(losses[i : i + width]) for i in range(0, len(losses), width)]


def preset(name: str, **overrides: Any) -> tuple[ImageData, nn.Module, ImageBatches, TrainConfig]:
    """Images, loss, batches and TrainConfig of a vision preset on a CPU, with some settings changed."""
    return prepare_vision(recipe("vision", preset=name, device="cpu", **overrides))


def fixed(name: str, seed: int) -> dict[str, Any]:
    """The run of the lecture's model with its deviations fixed up to the named ones."""
    names = list(FIXES)[: list(FIXES).index(name) + 1]
    deviations = VisionDeviations.lecture().without(*(switch for one in names for switch in FIXES[one]))
    torch.manual_seed(seed)
    objective = ImageClassificationLoss(VisTransformer(VisionConfig(), deviations))
    batches = ImageBatches(images().train, 48, seed)
    config = TrainConfig(steps=EPOCH, clip=1e9, precision="fp32", seed=seed, **LECTURE)
    return measured(images(), objective, batches, config, name=name)


def on_few_images(name: str, seed: int, **overrides: Any) -> dict[str, Any]:
    """The CPU preset on few images, with some settings changed."""
    data, objective, batches, config = preset(PRESETS[0], steps=STEPS, seed=seed, **overrides)
    few = ImageBatches(data.train[:FEW], batches.batch_sampler.batch, config.seed, batches.augment)
    return measured(data, objective, few, config, name=name, images=FEW)


NAMES = {"presets": PRESETS, "fixes": FIXES, "augmentations": AUGMENTS, "tokenizers": ["patches"]}
EXPERIMENT = Experiment(
    __file__,
    {part: every(name=names, seed=[0]) for part, names in NAMES.items()},
    {
        "presets": lambda name, seed: measured(*preset(name, seed=seed), name=name),
        "fixes": fixed,
        "augmentations": lambda name, seed: on_few_images(name, seed, augment="" if name == "none" else name),
        "tokenizers": lambda name, seed: on_few_images(name, seed, tokenizer="patches"),
    },
    Run,
    keys=("name", "seed"),
)


def stored() -> dict[str, list[Run]]:
    """The stored runs by part: "presets", "fixes", "augmentations", "tokenizers"."""
    return EXPERIMENT.stored()


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)

"""Controls for the ViTs of chapters 8 and 8c: other networks on few digits, a ViT in parts trained longer.

    python -m course_lib.experiments vit_controls --seeds 0 1 2

trains the networks of NETWORKS on 50, 200 and 800 digits, and the variants of chapter 8, section 7, for 600
steps, and stores the missing accuracies in results/vit_controls.json: about six minutes a seed on one CPU
thread. `stored()` reads them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.chapters.ch08_images.digits_vit import digits, held_out
from course_lib.datasets import ImageSplit
from course_lib.experiments.runner import Experiment, every, learn
from course_lib.layers.patches import unfold_patches
from course_lib.models.vit import ViT, ViTConfig
from course_lib.tasks.image_classification import ImageBatches, ImageClassificationLoss, accuracy
from course_lib.training.config import TrainConfig

SHAPE = ViTConfig(classes=10, image_size=8, patch_size=2, channels=1, d_model=32, heads=4, layers=2)
MUON = TrainConfig(steps=300, lr=5e-3, warmup=30, optimizer="muon", precision="fp32")
ADAMW = replace(MUON, optimizer="adamw", lr=3e-3)
COUNTS = (50, 200, 800)  # training images


def convolutional(pooled: bool = True) -> nn.Sequential:
    """Three 3 × 3 convolutions and a linear head, which reads their mean over the image, or all of it."""
    layers: list[nn.Module] = []
    for channels in (1, 32, 32):
        layers += [nn.Conv2d(channels, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.ReLU()]
    layers += [nn.AdaptiveAvgPool2d(1 if pooled else 8), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(32 if pooled else 32 * 64, 10))


NETWORKS: dict[str, tuple[Callable[[], nn.Module], TrainConfig]] = {
    "ViT": (lambda: ViT(SHAPE), MUON),
    "ViT, AdamW": (lambda: ViT(SHAPE), ADAMW),
    "ViT, three times the steps": (lambda: ViT(SHAPE), replace(MUON, steps=900)),
    "ViT, mean pooling": (lambda: ViT(replace(SHAPE, pooling="mean")), MUON),
    "convolutions, mean pooling": (convolutional, ADAMW),
    "convolutions, flattened": (lambda: convolutional(pooled=False), ADAMW),
}


def moved(split: ImageSplit) -> ImageSplit:
    """The images, one pixel to the right; black comes in at the left."""
    return ImageSplit(F.pad(split.pixels, (1, -1, 0, 0)), split.labels)


def few_images(network: str, images: int, seed: int) -> dict[str, Any]:
    """Accuracy of a network trained on the first `images` digits."""
    make, config = NETWORKS[network]
    torch.manual_seed(seed)
    model, split = make(), digits().train[:images]
    batches = ImageBatches(split, batch=32, seed=seed)
    learn(ImageClassificationLoss(model), batches, replace(config, seed=seed))
    splits = {"training": split, "test": digits().test, "moved": moved(digits().test)}
    return {
        "network": network,
        "images": images,
        "seed": seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        **{part: round(accuracy(model, one), 4) for part, one in splits.items()},
    }


def shuffled(split: ImageSplit, orders: torch.Tensor) -> ImageSplit:
    """The images with their 16 patches in other orders: one row for all images, or one row each."""
    patches = unfold_patches(split.pixels.float(), 2)
    mixed = patches.gather(1, orders[..., None].expand_as(patches)).transpose(1, 2)
    return ImageSplit(F.fold(mixed, (8, 8), 2, stride=2).to(torch.uint8), split.labels)


def one_order(split: ImageSplit, seed: int) -> ImageSplit:
    """The images with their patches in one random order for all."""
    return shuffled(split, torch.rand(1, 16, generator=torch.Generator().manual_seed(seed)).argsort(dim=1))


def per_image_order(split: ImageSplit, seed: int) -> ImageSplit:
    """The images, each with its patches in its own random order."""
    rng = torch.Generator().manual_seed(seed)
    return shuffled(split, torch.rand(len(split), 16, generator=rng).argsort(dim=1))


def as_they_are(split: ImageSplit, seed: int) -> ImageSplit:
    """The images."""
    return split


WAYS: dict[str, dict[str, Any]] = {  # what differs from the baseline
    "baseline": {},
    "mean pooling": {"pooling": "mean"},
    "A: one order": {"change": one_order},
    "B: per-image order": {"change": per_image_order},
    "no positions": {"positions": "none"},
}


def trained(
    seed: int, steps: int = 150, change: Callable[[ImageSplit, int], ImageSplit] = as_they_are, **parts: Any
) -> ViT:
    """A small ViT, trained on the digits; `parts` are fields of `ViTConfig`."""
    torch.manual_seed(seed)
    model = ViT(replace(SHAPE, **parts))
    batches = ImageBatches(change(digits().train, seed), 64, seed)
    config = TrainConfig(steps=steps, lr=8e-3, warmup=20, optimizer="muon", precision="fp32", seed=seed)
    learn(ImageClassificationLoss(model), batches, config)
    return model


def longer(way: str, seed: int) -> dict[str, Any]:
    """Accuracy on the held-out digits after 600 steps."""
    change = WAYS[way].get("change", as_they_are)
    model = trained(seed, steps=600, **WAYS[way])
    scores = {"training": change(digits().train, seed), "accuracy": change(held_out(), seed)}
    return {"way": way, "seed": seed, **{part: round(accuracy(model, s), 4) for part, s in scores.items()}}


SEEDS = (0, 1, 2)
EXPERIMENT = Experiment(
    __file__,
    {
        "few images": every(seed=SEEDS, network=NETWORKS, images=COUNTS),
        "longer": every(seed=SEEDS, way=WAYS),
    },
    {"few images": few_images, "longer": longer},
    dict,
    keys=("network", "images", "way", "seed"),
)


def stored() -> dict[str, list[dict[str, Any]]]:
    """The stored runs: "few images", and "longer" (600 steps)."""
    return EXPERIMENT.stored()


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)

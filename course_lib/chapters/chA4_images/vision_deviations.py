"""What deviations of the lecture's vision Transformer cost on digits, with three seeds each (appendix A4).

    python -m course_lib.experiments vision_deviations --minutes 5 patches frozen whole

makes the missing runs of results/vision_deviations.json, each in about 10 seconds on one core; `stored()`
reads them.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.chapters.ch08_images.digits_vit import digits, held_out
from course_lib.datasets import ImageSplit
from course_lib.experiments.runner import Experiment, learn
from course_lib.lectures.dlstudio.vision import (
    VisionConfig,
    VisionDeviations,
    VisTransformer,
    scrambled_patches,
)
from course_lib.models.vit import ViT, ViTConfig
from course_lib.tasks.image_classification import ImageBatches, ImageClassificationLoss, accuracy
from course_lib.training.config import TrainConfig

SIZES = {"image_size": 8, "patch_size": 2, "d_model": 48, "layers": 2}
BATCH, HELD_OUT_SEED = 64, 1000


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One training run.

    images: a key of IMAGES. model: a key of MODELS. seed: of the weights, of the batches and of the colors
    of the training images.
    """

    images: str
    model: str
    steps: int
    seed: int


@dataclass(frozen=True)
class Run:
    """The result of a recipe: accuracy on the training images and on the held-out ones, from 0 to 1."""

    recipe: Recipe
    train: float
    held_out: float
    seconds: float


def plain(split: ImageSplit, seed: int = 0) -> ImageSplit:
    """Gray digits in three equal channels, as the lecture's model takes them. The seed has no effect."""
    return ImageSplit(split.pixels.expand(-1, 3, -1, -1).contiguous(), split.labels)


def colored(split: ImageSplit, seed: int = 0) -> ImageSplit:
    """Each digit in a random ink on a random paper, half the range apart in each channel."""
    ink = torch.rand(len(split), 3, 1, 1, generator=torch.Generator().manual_seed(seed))
    paper = (ink + 0.5) % 1
    pixels = 255 * paper + (ink - paper) * split.pixels
    return ImageSplit(pixels.round().to(torch.uint8), split.labels)


def plates(split: ImageSplit, seed: int = 0) -> ImageSplit:
    """Digits that are redder than the ground, in pixels of random brightness, as in a color vision test."""
    draw = torch.Generator().manual_seed(seed)
    light = 0.2 + 0.6 * torch.rand(len(split), 1, *split.pixels.shape[2:], generator=draw)
    hue = 0.3 * split.pixels / 255 - 0.15
    pixels = torch.cat([light + hue, light - hue, light], dim=1)
    return ImageSplit((255 * pixels).round().to(torch.uint8), split.labels)


IMAGES: dict[str, Callable[[ImageSplit, int], ImageSplit]] = {
    "plain": plain, "colored": colored, "plates": plates,
}  # fmt: skip


class ScrambledPatches(nn.Module):
    """Patch embedding of what the lecture's listing takes for patches."""

    def __init__(self, patch_size: int, d_model: int, channels: int = 3):
        super().__init__()
        self.patch_size, self.embed = patch_size, nn.Linear(channels * patch_size**2, d_model)

    def forward(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch patches d_model"]:
        return self.embed(scrambled_patches(images, self.patch_size))


def vit() -> ViT:
    """The course's model, in the sizes of these runs."""
    return ViT(ViTConfig(classes=10, channels=3, heads=4, **SIZES))


def scrambled_vit() -> ViT:
    """The course's model with the patches of the lecture's listing."""
    model = vit()
    model.patches = ScrambledPatches(model.config.patch_size, model.config.d_model)
    return model


def freeze_embedding(model: ViT) -> ViT:
    """Fix patch embedding, positions and class token at random values, as in the lecture's training."""
    for part in (model.positions.table, model.class_token):
        nn.init.normal_(part).requires_grad_(False)
    model.patches.requires_grad_(False)
    return model


MODELS: dict[str, Callable[[], nn.Module]] = {
    "true patches": vit,
    "scrambled patches": scrambled_vit,
    "frozen embedding": lambda: freeze_embedding(vit()),
    "as in the lecture": lambda: VisTransformer(VisionConfig(**SIZES), VisionDeviations.lecture()),
    "all fixed": lambda: VisTransformer(VisionConfig(**SIZES), VisionDeviations()),
}


def make(recipe: Recipe) -> Run:
    """Train by the recipe on the CPU, and measure."""
    began = time.process_time()
    torch.manual_seed(recipe.seed)
    model, change, images = MODELS[recipe.model](), IMAGES[recipe.images], digits()
    shown = change(images.train, recipe.seed)
    config = replace(TRAINING, steps=recipe.steps, seed=recipe.seed)
    batches = ImageBatches(shown, BATCH, recipe.seed)
    learn(ImageClassificationLoss(model), batches, config)
    scores = [round(accuracy(model, part), 4) for part in (shown, change(held_out(), HELD_OUT_SEED))]
    return Run(recipe, *scores, round(time.process_time() - began, 1))


STEPS, SEEDS = 1000, (0, 1, 2)
TRAINING = TrainConfig(
    steps=STEPS, lr=3e-3, warmup=50, schedule="cosine", weight_decay=0.05, precision="fp32"
)
PARTS = {  # the image sets and the models that are compared
    "patches": (("colored", "plates"), ("true patches", "scrambled patches")),
    "frozen": (("plain",), ("true patches", "frozen embedding")),
    "whole": (("plain",), ("as in the lecture", "all fixed")),
}


def recipes(part: str) -> Iterable[Recipe]:
    """What a part trains."""
    sets, models = PARTS[part]
    for seed, images, model in product(SEEDS, sets, models):
        yield Recipe(images=images, model=model, steps=STEPS, seed=seed)


EXPERIMENT = Experiment(__file__, {part: partial(recipes, part) for part in PARTS}, make, Run)


def stored() -> dict[str, list[Run]]:
    """The stored runs by part: "patches", "frozen", "whole"."""
    return EXPERIMENT.stored()


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)

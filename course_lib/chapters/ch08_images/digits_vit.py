"""The small Vision Transformer that the widgets show: trained on the digits, stored, and loaded.

    python -m course_lib.experiments digits_vit

trains it on the training digits, prints its accuracy, and saves it in models/digits_vit: less than a minute
on one CPU thread.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import torch

from course_lib.datasets import ImageData, ImageSplit, load_images
from course_lib.experiments.runner import learn
from course_lib.models.vit import ViT, ViTConfig
from course_lib.tasks.image_classification import (
    ImageBatches,
    ImageClassificationLoss,
    accuracy,
    check_fits,
    load_classifier,
    save_classifier,
)
from course_lib.training.config import TrainConfig

STORED = Path(__file__).parent / "models" / "digits_vit"


@cache
def digits() -> ImageData:
    """The digits that ship with the course, loaded once."""
    return load_images("digits")


@cache
def held_out() -> ImageSplit:
    """The validation and test digits together; for models of which nothing is chosen by them."""
    parts = digits().validation, digits().test
    return ImageSplit(torch.cat([part.pixels for part in parts]), torch.cat([part.labels for part in parts]))


@cache
def digits_model() -> ViT:
    """The stored model (16 patches, trained on the training digits), loaded once."""
    return load_classifier(STORED)[0].requires_grad_(False)


def classifier_of(
    model: ViT | None, split: ImageSplit | None, classes: Sequence[str]
) -> tuple[ViT, ImageSplit, list[str]]:
    """The model, images and class names given to an explorer; by default the stored model and test digits.

    Raises ValueError for a model without images or class names, or one that does not fit them.
    """
    if model is None and split is None:
        return digits_model(), digits().test, list(digits().classes)
    many = None if model is None else model.config.classes
    if model is None or split is None or len(classes) != many:
        raise ValueError(
            f"a model needs images and the names of its classes: a model of classes={many}, "
            f"{'no' if split is None else len(split)} images, {len(classes)} names"
        )
    check_fits(model, split)
    return model, split, list(classes)


SIZES = {"image_size": 8, "patch_size": 2, "channels": 1, "d_model": 40, "heads": 4, "layers": 3}
TRAINING = TrainConfig(steps=800, lr=3e-3, warmup=50, schedule="cosine", weight_decay=0.05, precision="fp32")


def make(steps: int | None = None, seed: int = 0, positions: str = "learned") -> ViT:
    """Train the model and return it; `steps` shortens training. positions: as in `ViTConfig`."""
    torch.manual_seed(seed)
    model = ViT(ViTConfig(classes=len(digits().classes), dropout=0.1, positions=positions, **SIZES))
    config = replace(TRAINING, steps=TRAINING.steps if steps is None else steps)
    learn(ImageClassificationLoss(model), ImageBatches(digits().train, 64, seed), config)
    return model.eval()


def main() -> None:
    """Train, evaluate, save."""
    torch.set_num_threads(1)
    model = make()
    for name in ("train", "validation", "test"):
        print(f"{name} accuracy: {accuracy(model, getattr(digits(), name)):.1%}")
    save_classifier(STORED, model, digits().classes)
    print(f"saved in {STORED}")


if __name__ == "__main__":
    main()

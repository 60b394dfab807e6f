"""What the widgets of an image classifier share: the embedded digits and a small model that reads them."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from course_lib.datasets import ImageData, ImageSplit, load_images
from course_lib.vision import check_fits, load_classifier
from course_lib.vit import ViT

STORED = Path(__file__).parent / "models" / "digits_vit"  # remade by tests/benchmarks/digits_vit.py


@cache
def digits() -> ImageData:
    """The embedded digits, read once."""
    return load_images("digits")


@cache
def digits_model() -> ViT:
    """A model of 16 patches that was trained on the digits for training; read from the disk once."""
    return load_classifier(STORED)[0].requires_grad_(False)


def classifier_of(
    model: ViT | None, split: ImageSplit | None, classes: Sequence[str]
) -> tuple[ViT, ImageSplit, list[str]]:
    """What an explorer was given, or else the small model and the digits for the test.

    Raises ValueError where a model comes without images or without the names of its classes, or does not fit.
    """
    if model is None and split is None:
        return digits_model(), digits().test, list(digits().classes)
    if model is None or split is None or len(classes) != model.config.classes:
        many = None if model is None else model.config.classes
        raise ValueError(
            f"a model needs images and the names of its classes: a model of classes={many}, "
            f"{'no' if split is None else len(split)} images, {len(classes)} names"
        )
    check_fits(model, split)
    return model, split, list(classes)

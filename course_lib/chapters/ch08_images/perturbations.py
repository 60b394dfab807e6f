"""Predictions of an image classifier on original and perturbed images."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from course_lib.datasets import ImageSplit
from course_lib.models.vit import ViT
from course_lib.tasks.image_classification import confusion_matrix, predict

Pixels = UInt8[Tensor, "images channels height width"]
NOISE = 60.0  # standard deviation of the noise, for pixels from 0 to 255


@dataclass(frozen=True)
class Outcome:
    """Images as shown to the model, their labels and the predicted probabilities."""

    pixels: Pixels
    labels: Int[Tensor, " images"]
    probabilities: Float[Tensor, "images classes"]

    def matrix(self) -> Int[Tensor, "classes classes"]:
        classes = self.probabilities.shape[1]
        return confusion_matrix(self.labels, self.probabilities.argmax(dim=-1), classes)

    def behind(self, true: int, taken: int) -> list[int]:
        """Indices of the images in a cell: errors by falling confidence, correct ones by rising."""
        inside = (self.labels == true) & (self.probabilities.argmax(dim=-1) == taken)
        numbers = inside.nonzero()[:, 0]
        order = self.probabilities[numbers, taken].argsort(descending=true != taken, stable=True)
        return numbers[order].tolist()


def moved(pixels: Pixels) -> Pixels:
    """Shifted one pixel to the right; the new first column is 0."""
    return F.pad(pixels, (1, -1))


def faint(pixels: Pixels) -> Pixels:
    """Brightness halved, and so the contrast."""
    return pixels // 2


def noisy(pixels: Pixels) -> Pixels:
    """Gaussian noise added to each pixel, with a fixed seed."""
    noise = torch.randn(pixels.shape, generator=torch.Generator().manual_seed(0)).to(pixels.device)
    return (pixels + NOISE * noise).clamp(0, 255).to(torch.uint8)


CHANGES: dict[str, Callable[[Pixels], Pixels]] = {
    "original": lambda pixels: pixels,
    "one pixel to the right": moved,
    "half the contrast": faint,
    "with noise": noisy,
}


def outcome(model: ViT, split: ImageSplit, change: Callable[[Pixels], Pixels]) -> Outcome:
    pixels = change(split.pixels)
    return Outcome(pixels.cpu(), split.labels.cpu(), predict(model, pixels).softmax(dim=-1).cpu())

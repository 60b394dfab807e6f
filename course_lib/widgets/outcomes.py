"""What an image classifier makes of many images, as they are or changed a little."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from course_lib.datasets import ImageSplit
from course_lib.vision import confusion_matrix, predict
from course_lib.vit import ViT

Pixels = UInt8[Tensor, "images channels height width"]
NOISE = 60.0  # of 255, the deviation of what is added to each pixel


@dataclass(frozen=True)
class Outcome:
    """Images as they were shown to the model, and how probable it holds each class."""

    pixels: Pixels
    labels: Int[Tensor, " images"]
    probabilities: Float[Tensor, "images classes"]

    def matrix(self) -> Int[Tensor, "classes classes"]:
        classes = self.probabilities.shape[1]
        return confusion_matrix(self.labels, self.probabilities.argmax(dim=-1), classes)

    def behind(self, true: int, taken: int) -> list[int]:
        """The numbers of the images of a cell: the surest mistakes, or the least sure right ones first."""
        inside = (self.labels == true) & (self.probabilities.argmax(dim=-1) == taken)
        numbers = inside.nonzero()[:, 0]
        order = self.probabilities[numbers, taken].argsort(descending=true != taken, stable=True)
        return numbers[order].tolist()


def moved(pixels: Pixels) -> Pixels:
    """One pixel to the right; the first column stays as well."""
    return torch.cat([pixels[..., :1], pixels[..., :-1]], dim=-1)


def faint(pixels: Pixels) -> Pixels:
    """With half the contrast."""
    return pixels // 2


def noisy(pixels: Pixels) -> Pixels:
    """With a random number added to each pixel, always the same ones."""
    noise = torch.randn(pixels.shape, generator=torch.Generator().manual_seed(0)).to(pixels.device)
    return (pixels + NOISE * noise).clamp(0, 255).to(torch.uint8)


CHANGES: dict[str, Callable[[Pixels], Pixels]] = {
    "as they are": lambda pixels: pixels,
    "one pixel to the right": moved,
    "half the contrast": faint,
    "with noise": noisy,
}


def outcome(model: ViT, split: ImageSplit, change: Callable[[Pixels], Pixels]) -> Outcome:
    pixels = change(split.pixels)
    return Outcome(pixels.cpu(), split.labels.cpu(), predict(model, pixels).softmax(dim=-1).cpu())

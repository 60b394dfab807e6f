"""Images in classes: a vision Transformer, against the most frequent class and the nearest image."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.chapters.ch11_your_own_model.project import MOST_ANSWERS, Project, heads, part_of
from course_lib.datasets import ImageSplit, load_images
from course_lib.datasets.image_data import ImageData
from course_lib.datasets.text_files import PathLike
from course_lib.models.vit import ViT, ViTConfig
from course_lib.tasks.image_classification import (
    ImageBatches,
    ImageClassificationLoss,
    accuracy,
    predict,
    save_classifier,
)

SIDES = (2, 4, 8)  # patches along a side


class ImagesProject(Project):
    """Images from a folder with a folder per class, or a set of the course; the first `limit` to train on."""

    kind, unit = "images", "% accuracy"
    lr = 5e-3

    def __init__(self, data: ImageData, limit: int = 4000):
        self.whole, self.limit = data, limit
        self.data = replace(
            data, train=data.train[:limit], validation=data.validation[:500], test=data.test[:1000]
        )
        _, self.channels, self.size, _ = data.train.pixels.shape

    @classmethod
    def load(cls, path: PathLike, **more: Any) -> "ImagesProject":
        return cls(load_images(path), **more)

    def examples(self, part: str) -> list[str]:
        return [one.numpy().tobytes().hex() for one in getattr(self.data, part).pixels]

    def answers(self, part: str) -> list[int]:
        return getattr(self.data, part).labels[:MOST_ANSWERS].tolist()

    def look(self) -> Iterator[str]:
        parts = {part: getattr(self.data, part) for part in ("train", "validation", "test")}
        sizes = ", ".join(f"{len(split):,} for {part}" for part, split in parts.items())
        yield f"{sizes}; {self.size}×{self.size} pixels, {'gray' if self.channels == 1 else 'color'}"
        counts = Counter(self.data.train.labels.tolist())
        yield "training images: " + ", ".join(
            f"{counts[i]} {name}" for i, name in enumerate(self.data.classes)
        )
        yield f"each test image counts {100 / len(self.data.test):.1f} points of accuracy"

    def options(self) -> Mapping[int, str]:
        sides = [n for n in SIDES if self.size % n == 0 and self.size // n > 1]
        return {self.size // n: self.about(self.size // n) for n in reversed(sides)}

    def about(self, patch: int) -> str:
        tokens, numbers = (self.size // patch) ** 2, self.channels * patch**2
        return f"{tokens:3} tokens of {numbers:4} numbers; {tokens**2:5,} attention weights per head"

    @property
    def usual(self) -> int:
        """Four patches along each side, or the nearest number that fits."""
        return min(self.options(), key=lambda patch: abs(self.size // patch - 4))

    def choose(self, option: int | None = None) -> None:
        option = option or self.usual
        if option not in self.options():
            raise self.option_error(option)
        self.option, self.per_example = option, (self.size // option) ** 2
        self.unique = len(self.data.train) * self.per_example

    def baselines(self) -> dict[str, float]:
        """The most frequent class of the training set, and the class of the nearest training image."""
        train, test = self.data.train, self.data.test
        majority = train.labels.mode().values
        flat = (split.pixels.flatten(1).float() for split in (test, train))
        nearest = train.labels[torch.cdist(*flat).argmin(dim=1)]
        answers = {"most frequent class": majority.expand_as(test.labels), "nearest image": nearest}
        return {name: 100 * (found == test.labels).float().mean().item() for name, found in answers.items()}

    def new_model(self, d_model: int, classes: int | None = None) -> ViT:
        sizes: dict[str, Any] = {"d_model": d_model, "heads": heads(d_model), "layers": 2, "pooling": "mean"}
        image = {"image_size": self.size, "patch_size": self.option, "channels": self.channels}
        return ViT(ViTConfig(classes=classes or len(self.data.classes), **image, **sizes))

    def objective(self, model: nn.Module) -> ImageClassificationLoss:
        return ImageClassificationLoss(model)

    def batches(self, seed: int) -> ImageBatches:
        return ImageBatches(self.data.train, min(self.batch, len(self.data.train)), seed)

    def validation_loss(self, model: nn.Module) -> float:
        split = self.data.validation
        return F.cross_entropy(predict(model, split.pixels), split.labels).item()

    def score(self, model: nn.Module) -> float:
        return 100 * accuracy(model, self.data.test)

    def errors(self, model: nn.Module, most: int = 6) -> Iterator[str]:
        """The wrong answers that the model is surest of."""
        split, names = self.data.validation, self.data.classes
        p, found = predict(model, split.pixels).softmax(-1).max(-1)
        wrong = (found != split.labels).nonzero().flatten().tolist()
        yield f"{len(wrong)} of {len(split)} validation images are wrong"
        for i in sorted(wrong, key=lambda i: -p[i].item())[:most]:
            yield f"image {i}: {names[split.labels[i]]}, taken for {names[found[i]]} ({p[i]:.0%})"

    def save(self, folder: Path, model: nn.Module) -> None:
        save_classifier(folder, model, self.data.classes)  # type: ignore[arg-type]

    def with_train(self, split: ImageSplit, **more: Any) -> "ImagesProject":
        """The same held-out images and patches with other training images."""
        other = ImagesProject(replace(self.data, train=split, **more), len(split))
        other.choose(self.option)
        return other

    def fewer(self, part: int) -> "ImagesProject":
        """A part of each class."""
        labels = self.data.train.labels
        places = [part_of((labels == i).nonzero().flatten(), part) for i in labels.unique()]
        return self.with_train(self.data.train[torch.cat(places)])

    def related(self) -> "ImagesProject":
        """Your images without their labels: the task is to say by how many quarters each one is turned.

        Source: Gidaris et al. 2018.
        """
        parts = {part: turned(getattr(self.data, part).pixels) for part in ("train", "validation", "test")}
        train = parts.pop("train")
        return self.with_train(train, classes=("0°", "90°", "180°", "270°"), **parts)

    def receive(self, model: nn.Module) -> nn.Module:
        """With a new head, for the classes."""
        width = model.config.d_model  # type: ignore[union-attr]
        fresh = self.new_model(width)  # type: ignore[arg-type]
        rest = {name: weight for name, weight in model.state_dict().items() if not name.startswith("head.")}
        fresh.load_state_dict(rest, strict=False)
        return fresh

    def unfrozen(self, model: nn.Module) -> list[nn.Module]:
        return [model.head]  # type: ignore[list-item]


def turned(pixels: Tensor) -> ImageSplit:
    """Each image in its four orientations, labeled by the number of quarter turns."""
    four = torch.cat([pixels.rot90(k, (2, 3)) for k in range(4)])
    return ImageSplit(four, torch.arange(4).repeat_interleave(len(pixels)))

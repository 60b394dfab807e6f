"""Image classifiers: images as batches, the loss, predictions and how right they are, files."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Num, UInt8
from torch import Tensor, nn

from course_lib.checkpoints import load_model, save_model
from course_lib.datasets import ImageSplit, check_labels
from course_lib.files import atomic_path
from course_lib.vit import ViT, ViTConfig

Pixels = UInt8[Tensor, "batch channels height width"]
Images = Float[Tensor, "batch channels height width"]
Labels = Int[Tensor, " batch"] | Float[Tensor, "batch classes"]  # one class, or a share of each
Augment = Callable[[Pixels, Labels], tuple[Pixels, Labels]]


def to_floats(
    pixels: UInt8[Tensor, "*batch channels height width"],
) -> Float[Tensor, "*batch channels height width"]:
    """Pixels 0 … 255 as numbers -1 … 1, what the models of the course read."""
    return pixels.float() / 127.5 - 1


class ImageBatches:
    """Labelled images for `course_lib.training`, in another order in each epoch.

    split: on the device that the model is trained on, where there is room. batch: images in a batch; an epoch
    leaves out the few that would not fill the last one. seed: of the order.
    augment: makes other images of a batch, see course_lib.augment; it draws from PyTorch's own generator.
    Raises ValueError where there are fewer images than a batch.
    """

    def __init__(self, split: ImageSplit, batch: int, seed: int = 0, augment: Augment | None = None):
        if not 1 <= batch <= len(split):
            raise ValueError(f"batch={batch} must be from 1 to {len(split)}, the number of images")
        self.split, self.batch, self.seed, self.augment = split, batch, seed, augment

    def epoch(self, number: int) -> list[list[int]]:
        """The batches of an epoch, as numbers of images; they depend on seed and epoch alone."""
        rng = torch.Generator().manual_seed(self.seed * 1_000_003 + number)
        order = torch.randperm(len(self.split), generator=rng).tolist()
        whole = len(order) - len(order) % self.batch
        return [order[i : i + self.batch] for i in range(0, whole, self.batch)]

    def collate(self, numbers: Sequence[int]) -> tuple[Images, Labels]:
        """These images, augmented and as floats, with their labels."""
        chosen = torch.tensor(numbers, device=self.split.labels.device)
        pixels, labels = self.split.pixels[chosen], self.split.labels[chosen]
        if self.augment is not None:
            pixels, labels = self.augment(pixels, labels)
        return to_floats(pixels), labels


class ImageObjective(nn.Module):
    """The loss of an image classifier: −log of the probability of the right class.

    label_smoothing: share of the target probability that is spread over all classes.
    """

    def __init__(self, model: nn.Module, label_smoothing: float = 0.0):
        super().__init__()
        self.model, self.label_smoothing = model, label_smoothing

    def forward(self, images: Images, labels: Labels) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """Sum of the losses over the images, and their number.

        Raises ValueError for labels that the model has no class for; on a GPU, where looking at them would
        make every step wait, only `check_fits` does.
        """
        logits = self.model(images)
        if labels.device.type == "cpu" and not labels.is_floating_point():
            check_labels(labels, logits.shape[-1])
        loss = F.cross_entropy(logits, labels, reduction="sum", label_smoothing=self.label_smoothing)
        return loss, torch.tensor(len(images), device=images.device)


def check_fits(model: ViT, split: ImageSplit) -> None:
    """Raises ValueError where the model cannot read these images, or has no class for a label."""
    c = model.config
    found, expected = tuple(split.pixels.shape[1:]), (c.channels, c.image_size, c.image_size)
    if found[0] != expected[0]:
        kinds = {1: "grey", 3: "in colour"}
        raise ValueError(
            f"the images are {kinds.get(found[0], 'neither grey nor in colour')}, channels={found[0]}, "
            f"and the model is for channels={expected[0]}"
        )
    if found != expected:
        raise ValueError(f"images of {found[1]}×{found[2]} pixels for a model of image_size={c.image_size}")
    check_labels(split.labels, c.classes)


@torch.inference_mode()
def predict(
    model: nn.Module, pixels: Num[Tensor, "images channels height width"], batch: int = 256
) -> Float[Tensor, "images classes"]:
    """How well each class fits each image: logits, from the model in evaluation mode, on the pixels' device.

    pixels: 0 … 255, or floats as `to_floats` makes them.
    """
    device, training = next(model.parameters()).device, model.training
    model.eval()
    logits = []
    for some in pixels.split(batch):
        images = some if some.is_floating_point() else to_floats(some.to(device))
        logits.append(model(images.to(device)).float().to(pixels.device))
    model.train(training)
    return torch.cat(logits)


def accuracy(model: nn.Module, split: ImageSplit, batch: int = 256) -> float:
    """The share of images, from 0 to 1, whose most probable class is the right one."""
    return (predict(model, split.pixels, batch).argmax(-1) == split.labels).float().mean().item()


def confusion_matrix(
    labels: Int[Tensor, " images"], predicted: Int[Tensor, " images"], classes: int
) -> Int[Tensor, "classes classes"]:
    """How many images of the class of each row were taken for the class of each column.

    Raises ValueError where a number is not one of 0 … classes − 1. Source: Kak slide 103, in percent there.
    """
    for some in (labels, predicted):
        check_labels(some, classes)
    return (labels * classes + predicted).bincount(minlength=classes**2).view(classes, classes)


def save_classifier(folder: str | Path, model: ViT, classes: Sequence[str]) -> None:
    """Write a classifier: its configuration, the names of its classes, its weights."""
    about = {"model": asdict(model.config), "classes": list(classes)}
    with atomic_path(folder) as room:
        room.mkdir()
        (room / "config.json").write_text(json.dumps(about, indent=2), encoding="utf-8")
        save_model(model, room / "model.safetensors")


def load_classifier(folder: str | Path, device: torch.device | str = "cpu") -> tuple[ViT, list[str]]:
    """Read what `save_classifier` wrote: the model, for evaluation, and the names of its classes.

    Raises FileNotFoundError where a file is missing, ValueError where the files do not belong together.
    """
    folder = Path(folder)
    about = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model = ViT(ViTConfig(**about["model"]))
    if len(about["classes"]) != model.config.classes:
        raise ValueError(
            f"{folder}: {len(about['classes'])} names, but the model has classes={model.config.classes}"
        )
    load_model(model, folder / "model.safetensors")
    return model.to(device).eval(), about["classes"]

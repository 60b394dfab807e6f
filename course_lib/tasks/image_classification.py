"""Image classification: batches, loss, predictions, accuracy, confusion matrix, model files."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Num, UInt8
from torch import Tensor, nn

from course_lib.datasets import ImageSplit, check_labels
from course_lib.datasets.batching import Batches, RandomBatchSampler, TensorExamples
from course_lib.models.vit import ViT, ViTConfig
from course_lib.tasks.augmentation import Augmented, Labels, Pixels
from course_lib.text.unicode_text import refuse_text
from course_lib.training.evaluation import evaluating
from course_lib.training.model_folder import load_model_folder, save_model_folder

Images = Float[Tensor, "batch channels height width"]
Augment = Callable[[Pixels, Labels], Augmented]


def to_floats(
    pixels: UInt8[Tensor, "*batch channels height width"],
) -> Float[Tensor, "*batch channels height width"]:
    """Scale pixels from 0 … 255 to -1 … 1, the input range of the course's models.

    >>> to_floats(torch.tensor([[[0, 255]]], dtype=torch.uint8))
    tensor([[[-1.,  1.]]])
    """
    return pixels.float() / 127.5 - 1


class ImageBatches(Batches):
    """Batches of labeled images, in a different order in each epoch.

    split: put it on the device of the model if it fits. batch: batch size; an incomplete last batch is
    dropped. seed: of the order.
    augment: data augmentation of a batch, see `course_lib.tasks.augmentation`.
    Raises ValueError if there are fewer images than one batch.

    >>> from course_lib.datasets import ImageSplit
    >>> split = ImageSplit(torch.zeros(10, 1, 8, 8, dtype=torch.uint8), torch.arange(10))
    >>> [images.shape for images, labels in ImageBatches(split, batch=4)]
    [torch.Size([4, 1, 8, 8]), torch.Size([4, 1, 8, 8])]
    """

    dataset: TensorExamples

    def __init__(self, split: ImageSplit, batch: int, seed: int = 0, augment: Augment | None = None):
        if not 1 <= batch <= len(split):
            raise ValueError(f"batch={batch} must be from 1 to {len(split)}, the number of images")
        self.augment, self.device = augment, split.labels.device
        examples = TensorExamples(split.pixels, split.labels)
        super().__init__(examples, RandomBatchSampler(len(split), batch, seed), self.collate)

    def collate(self, examples: tuple[Pixels, Labels]) -> tuple[Images, Labels]:
        """Augment the images and scale them to -1 … 1."""
        pixels, labels = examples if self.augment is None else self.augment(*examples)
        return to_floats(pixels), labels


class ImageClassificationLoss(nn.Module):
    """Cross-entropy of an image classifier: −log of the probability of the correct class.

    label_smoothing: the smoothing ε, the probability mass spread evenly over all classes.
    Source: Szegedy et al. 2016 (label smoothing).

    >>> from course_lib.models import ViT, ViTConfig
    >>> model = ViT(ViTConfig(classes=10))  # at first, all classes are equally likely
    >>> loss, images = ImageClassificationLoss(model)(torch.randn(2, 3, 32, 32), torch.tensor([1, 2]))
    >>> round((loss / images).exp().item(), 4), images
    (10.0, tensor(2))
    """

    def __init__(self, model: nn.Module, label_smoothing: float = 0.0):
        super().__init__()
        self.model, self.label_smoothing = model, label_smoothing

    def forward(self, images: Images, labels: Labels) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """Sum of the losses over the images, and the number of images.

        Raises ValueError for labels outside the model's classes, on a CPU only and not in compiled code: on a
        GPU, checking them would make every step wait, so use `check_fits` once.
        """
        logits = self.model(images)
        readable = labels.device.type == "cpu" and not torch.compiler.is_compiling()
        if readable and not labels.is_floating_point():
            check_labels(labels, logits.shape[-1])
        loss = F.cross_entropy(logits, labels, reduction="sum", label_smoothing=self.label_smoothing)
        return loss, torch.full((), images.shape[0], device=images.device)


def check_fits(model: ViT, split: ImageSplit) -> None:
    """Raise ValueError if the images do not have the model's size, or a label is outside its classes."""
    c = model.config
    found, expected = tuple(split.pixels.shape[1:]), (c.channels, c.image_size, c.image_size)
    if found[0] != expected[0]:
        kinds = {1: "gray", 3: "in color"}
        raise ValueError(
            f"the images are {kinds.get(found[0], 'neither gray nor in color')}, channels={found[0]}, "
            f"and the model is for channels={expected[0]}"
        )
    if found != expected:
        raise ValueError(f"images of {found[1]}×{found[2]} pixels for a model of image_size={c.image_size}")
    check_labels(split.labels, c.classes)


@torch.inference_mode()
def predict(
    model: nn.Module, pixels: Num[Tensor, "images channels height width"], batch: int = 256
) -> Float[Tensor, "images classes"]:
    """Logits of each image, from the model in evaluation mode, on the device of `pixels`.

    pixels: 0 … 255, or floats by `to_floats`. batch: batch size.
    """
    device, logits = next(model.parameters()).device, []
    with evaluating(model):
        for some in pixels.split(batch):
            images = some if some.is_floating_point() else to_floats(some.to(device))
            logits.append(model(images.to(device)).float().to(pixels.device))
    return torch.cat(logits)


def accuracy(model: nn.Module, split: ImageSplit, batch: int = 256) -> float:
    """Accuracy: fraction of images whose most likely class is correct."""
    return (predict(model, split.pixels, batch).argmax(-1) == split.labels).float().mean().item()


def confusion_matrix(
    labels: Int[Tensor, " images"], predicted: Int[Tensor, " images"], classes: int
) -> Int[Tensor, "classes classes"]:
    """Confusion matrix: counts of images by true class (row) and predicted class (column).

    Raises ValueError for a class outside 0 … classes − 1. Source: Kak slide 103, which shows percentages.

    >>> confusion_matrix(torch.tensor([0, 0, 1]), predicted=torch.tensor([0, 1, 1]), classes=2)
    tensor([[1, 1],
            [0, 1]])
    """
    for some in (labels, predicted):
        check_labels(some, classes)
    return (labels * classes + predicted).bincount(minlength=classes**2).view(classes, classes)


def save_classifier(folder: str | Path, model: ViT, classes: Sequence[str]) -> None:
    """Write an image classifier: configuration, class names, weights.

    Raises ValueError unless there is one name for each class of the model.
    """
    refuse_text(classes=classes)
    if len(classes) != model.config.classes:
        raise ValueError(f"{len(classes)} class names, but the model has classes={model.config.classes}")
    save_model_folder(folder, "image classifier", model, model.config, classes=list(classes))


def load_classifier(folder: str | Path, device: torch.device | str = "cpu") -> tuple[ViT, list[str]]:
    """Read a folder by `save_classifier`: the model in evaluation mode, and its class names.

    Errors: as in `load_model_folder`.
    """
    kind = ("image classifier", ViTConfig, lambda config, about: ViT(config))
    model, _, about = load_model_folder(folder, *kind, device, ("classes",))
    if len(about["classes"]) != model.config.classes:
        raise ValueError(
            f"{folder}: {len(about['classes'])} class names, but the model has classes={model.config.classes}"
        )
    return model, about["classes"]

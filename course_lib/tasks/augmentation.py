"""Data augmentation: random crops, flips, Cutout, Mixup, CutMix, RandAugment.

An augmentation takes a batch of pixels 0 … 255 and labels, and returns the same kinds of tensors, on the same
device; each image gets its own random change. After `Mixup` and `CutMix`, labels are probabilities of the
classes. Randomness comes from PyTorch's global generator.
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from course_lib.pretrained.torchvision_ops import import_torchvision

Pixels = UInt8[Tensor, "batch channels height width"]
Labels = Int[Tensor, " batch"] | Float[Tensor, "batch classes"]  # indices, or probabilities
Augmented = tuple[Pixels, Labels]

GRAY = 128  # the middle of the range of a pixel


class RandomCrop:
    """Random crop with reflection padding: shifts each image by up to `padding` pixels in each direction.

    padding: by default 1/8 of the height, as usual for CIFAR-10 (He et al. 2016, section 4.2).

    >>> pixels, labels = torch.zeros(4, 3, 32, 32, dtype=torch.uint8), torch.arange(4)
    >>> RandomCrop(padding=2)(pixels, labels)[0].shape
    torch.Size([4, 3, 32, 32])
    """

    def __init__(self, padding: int | None = None):
        self.padding = padding

    def __call__(self, pixels: Pixels, labels: Labels) -> Augmented:
        """Raises ValueError if the images are not larger than the padding."""
        height, width = pixels.shape[2:]
        padding = height // 8 if self.padding is None else self.padding
        if padding >= min(height, width):
            raise ValueError(f"padding={padding} must be less than height={height} and width={width}")
        y, x = torch.randint(-padding, padding + 1, (2, len(pixels), 1), device=pixels.device)
        rows = reflect(y + torch.arange(height, device=pixels.device), height)
        columns = reflect(x + torch.arange(width, device=pixels.device), width)
        moved = pixels.take_along_dim(rows[:, None, :, None], dim=2)
        return moved.take_along_dim(columns[:, None, None, :], dim=3), labels


class RandomFlip:
    """Random horizontal flip of half of the images. Not for digits or letters.

    >>> pixels = torch.tensor([0, 255], dtype=torch.uint8).expand(100, 1, 1, 2)
    >>> flipped, _ = RandomFlip()(pixels, torch.zeros(100, dtype=torch.long))
    >>> 0 < (flipped[..., 0] == 255).sum() < 100  # about half of the hundred
    tensor(True)
    """

    def __call__(self, pixels: Pixels, labels: Labels) -> Augmented:
        flipped = torch.rand(len(pixels), device=pixels.device) < 0.5
        return torch.where(flipped[:, None, None, None], pixels.flip(-1), pixels), labels


class Cutout:
    """Cutout: grays out a square of each image, around a random pixel, so a part of it may lie outside.

    size: side of the square in pixels, by default 1/4 of the height.
    Source: DeVries and Taylor 2017, section 3.2.
    """

    def __init__(self, size: int | None = None):
        self.size = size

    def __call__(self, pixels: Pixels, labels: Labels) -> Augmented:
        height, width = pixels.shape[2:]
        size = torch.full(
            (len(pixels),), height // 4 if self.size is None else self.size, device=pixels.device
        )
        inside = random_interval(size / height, height)[:, :, None]
        inside = inside & random_interval(size / width, width)[:, None, :]
        return pixels.masked_fill(inside[:, None], GRAY), labels


class Mixup:
    """Mixup: a weighted average of each image with another one of the batch, and of their labels.

    alpha: of the Beta distribution of the weights; close to 0, images are hardly mixed.
    Source: Zhang et al. 2018, equation (1).

    >>> pixels, labels = torch.zeros(4, 3, 8, 8, dtype=torch.uint8), torch.arange(4)
    >>> Mixup(classes=10)(pixels, labels)[1].shape  # probabilities instead of class indices
    torch.Size([4, 10])
    """

    def __init__(self, classes: int, alpha: float = 0.8):
        self.classes, self.alpha = classes, alpha

    def __call__(self, pixels: Pixels, labels: Labels) -> Augmented:
        weight, other = sample_beta(len(pixels), self.alpha, pixels.device), sample_partners(pixels)
        own = weight[:, None, None, None]
        mixed = own * pixels.float() + (1 - own) * pixels[other].float()
        return mixed.round().to(torch.uint8), mix_labels(labels, weight, other, self.classes)


class CutMix:
    """CutMix: replaces a rectangle of each image by that of another image of the batch.

    Labels are mixed in proportion to the pixels. alpha: of the Beta distribution of the fraction kept.
    Source: Yun et al. 2019, equations (1) and (2).

    >>> pixels, labels = torch.zeros(4, 3, 8, 8, dtype=torch.uint8), torch.arange(4)
    >>> CutMix(classes=10)(pixels, labels)[1].sum(dim=1).round()  # labels of two classes
    tensor([1., 1., 1., 1.])
    """

    def __init__(self, classes: int, alpha: float = 1.0):
        self.classes, self.alpha = classes, alpha

    def __call__(self, pixels: Pixels, labels: Labels) -> Augmented:
        side = (1 - sample_beta(len(pixels), self.alpha, pixels.device)).sqrt()
        other, (height, width) = sample_partners(pixels), pixels.shape[2:]
        inside = random_interval(side, height)[:, :, None] & random_interval(side, width)[:, None, :]
        kept = 1 - inside.float().mean(dim=(1, 2))
        mixed = torch.where(inside[:, None], pixels[other], pixels)
        return mixed, mix_labels(labels, kept, other, self.classes)


class RandAugment:
    """RandAugment by torchvision: random changes of color, sharpness and shape.

    changes: number of changes per image. strength: 0 to 30. together: number of images that share their
    changes, because torchvision draws once per call; larger is faster.
    Source: Cubuk et al. 2020.
    """

    def __init__(self, changes: int = 2, strength: int = 9, together: int = 1):
        import_torchvision()
        from torchvision.transforms import v2

        self.change, self.together = v2.RandAugment(changes, strength), together

    def __call__(self, pixels: Pixels, labels: Labels) -> Augmented:
        return torch.cat([self.change(some) for some in pixels.split(self.together)]), labels


class Chain:
    """Several augmentations, applied in order."""

    def __init__(self, steps: Sequence[Callable[[Tensor, Tensor], Augmented]]):
        self.steps = list(steps)

    def __call__(self, pixels: Pixels, labels: Labels) -> Augmented:
        for step in self.steps:
            pixels, labels = step(pixels, labels)
        return pixels, labels


AUGMENTATIONS: dict[str, Callable[[int], Callable]] = {  # by number of classes
    "crop": lambda classes: RandomCrop(),
    "flip": lambda classes: RandomFlip(),
    "cutout": lambda classes: Cutout(),
    "randaugment": lambda classes: RandAugment(),
    "mixup": Mixup,
    "cutmix": CutMix,
}


def augmentation(names: str, classes: int) -> Chain | None:
    """The augmentation with this name, such as "crop+flip+mixup", applied in this order; None for "".

    Raises ValueError for an unknown name.

    >>> [type(step).__name__ for step in augmentation("crop+flip", classes=10).steps]
    ['RandomCrop', 'RandomFlip']
    """
    wanted = [name.strip() for name in names.split("+")] if names.strip() else []
    for name in wanted:
        if name not in AUGMENTATIONS:
            raise ValueError(f"augmentation {name!r} is none of {', '.join(AUGMENTATIONS)}")
    return Chain([AUGMENTATIONS[name](classes) for name in wanted]) if wanted else None


def reflect(places: Int[Tensor, "batch places"], length: int) -> Int[Tensor, "batch places"]:
    """Reflect places outside of 0 … length − 1 at the first and the last place."""
    return (length - 1) - ((length - 1) - places.abs()).abs()


def sample_beta(batch: int, alpha: float, device: torch.device) -> Float[Tensor, " batch"]:
    """Sample from Beta(alpha, alpha), once for each image."""
    shape = torch.full((), alpha, device=device)
    return torch.distributions.Beta(shape, shape, validate_args=False).sample((batch,))  # a check would wait


def sample_partners(pixels: Pixels) -> Int[Tensor, " batch"]:
    """For each image another one of the batch: the next one in a random order."""
    order = torch.randperm(len(pixels), device=pixels.device)
    return torch.empty_like(order).scatter(0, order, order.roll(1))


def random_interval(side: Float[Tensor, " batch"], length: int) -> Bool[Tensor, "batch places"]:
    """True in an interval of 0 … length − 1 with a random center; `side` is its fraction of the length."""
    center = torch.rand_like(side) * length
    places = torch.arange(length, device=side.device) + 0.5
    return (places - center[:, None]).abs() < side[:, None] * length / 2


def mix_labels(
    labels: Labels, weight: Float[Tensor, " batch"], other: Int[Tensor, " batch"], classes: int
) -> Float[Tensor, "batch classes"]:
    """Probabilities of the classes; `weight` is that of an image's own label."""
    rows = labels if labels.is_floating_point() else F.one_hot(labels, classes).float()
    return weight[:, None] * rows + (1 - weight[:, None]) * rows[other]

"""Other images from the images of a batch, so that a model never sees the same one twice.

An augmentation takes pixels 0 … 255 with their labels and gives such pixels with labels, on their device, for
a whole batch at once, each image by its own chance. After `Mixup` and `CutMix` an image has a share of two
classes: its label is then a row of shares. Chance comes from PyTorch's own generator.
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from course_lib.torchvision_ops import import_torchvision

Pixels = UInt8[Tensor, "batch channels height width"]
Labels = Int[Tensor, " batch"] | Float[Tensor, "batch classes"]
Augmented = tuple[Pixels, Labels]


class RandomCrop:
    """The image moved by up to `padding` pixels each way; what is laid bare shows it mirrored.

    padding: by default an eighth of the height, as usual for CIFAR-10 (He et al. 2016, section 4.2).
    """

    def __init__(self, padding: int | None = None):
        self.padding = padding

    def __call__(self, pixels: Pixels, labels: Labels) -> Augmented:
        """Raises ValueError where the images are no larger than the padding."""
        height, width = pixels.shape[2:]
        padding = height // 8 if self.padding is None else self.padding
        if padding >= min(height, width):
            raise ValueError(f"padding={padding} must be less than height={height} and width={width}")
        y, x = torch.randint(-padding, padding + 1, (2, len(pixels), 1), device=pixels.device)
        rows = mirrored(y + torch.arange(height, device=pixels.device), height)
        columns = mirrored(x + torch.arange(width, device=pixels.device), width)
        moved = pixels.take_along_dim(rows[:, None, :, None], dim=2)
        return moved.take_along_dim(columns[:, None, None, :], dim=3), labels


class RandomFlip:
    """Left and right exchanged, for half of the images; not for digits, of which some would become others."""

    def __call__(self, pixels: Pixels, labels: Labels) -> Augmented:
        flipped = torch.rand(len(pixels), device=pixels.device) < 0.5
        return torch.where(flipped[:, None, None, None], pixels.flip(-1), pixels), labels


class Mixup:
    """Each image mixed with another of the batch, pixel by pixel, and their labels in the same proportion.

    alpha: of the Beta distribution of the proportion; the nearer to 0, the less is mixed.
    Source: Zhang et al. 2018, equation (1).
    """

    def __init__(self, classes: int, alpha: float = 0.8):
        self.classes, self.alpha = classes, alpha

    def __call__(self, pixels: Pixels, labels: Labels) -> Augmented:
        share, other = drawn_shares(len(pixels), self.alpha, pixels.device), drawn_partners(pixels)
        own = share[:, None, None, None]
        mixed = own * pixels.float() + (1 - own) * pixels[other].float()
        return mixed.round().to(torch.uint8), mixed_labels(labels, share, other, self.classes)


class CutMix:
    """A rectangle of each image replaced by the same one of another image of the batch.

    The label is shared in the proportion of the pixels. alpha: of the Beta distribution of the share kept.
    Source: Yun et al. 2019, equations (1) and (2).
    """

    def __init__(self, classes: int, alpha: float = 1.0):
        self.classes, self.alpha = classes, alpha

    def __call__(self, pixels: Pixels, labels: Labels) -> Augmented:
        side = (1 - drawn_shares(len(pixels), self.alpha, pixels.device)).sqrt()
        other, (height, width) = drawn_partners(pixels), pixels.shape[2:]
        inside = stretch(side, height)[:, :, None] & stretch(side, width)[:, None, :]
        kept = 1 - inside.float().mean(dim=(1, 2))
        mixed = torch.where(inside[:, None], pixels[other], pixels)
        return mixed, mixed_labels(labels, kept, other, self.classes)


class RandAugment:
    """Some random changes of colour, sharpness and shape to each image, by torchvision.

    changes: how many. strength: from 0 to 30. together: images that get the same ones; torchvision draws once
    for all that it is given, and the fewer it is given at once the longer a batch takes.
    Source: Cubuk et al. 2020.
    """

    def __init__(self, changes: int = 2, strength: int = 9, together: int = 1):
        import_torchvision()
        from torchvision.transforms import v2

        self.change, self.together = v2.RandAugment(changes, strength), together

    def __call__(self, pixels: Pixels, labels: Labels) -> Augmented:
        return torch.cat([self.change(some) for some in pixels.split(self.together)]), labels


class Chain:
    """Several augmentations, one after the other."""

    def __init__(self, steps: Sequence[Callable[[Tensor, Tensor], Augmented]]):
        self.steps = list(steps)

    def __call__(self, pixels: Pixels, labels: Labels) -> Augmented:
        for step in self.steps:
            pixels, labels = step(pixels, labels)
        return pixels, labels


AUGMENTATIONS: dict[str, Callable[[int], Callable]] = {  # of the number of classes
    "crop": lambda classes: RandomCrop(),
    "flip": lambda classes: RandomFlip(),
    "randaugment": lambda classes: RandAugment(),
    "mixup": Mixup,
    "cutmix": CutMix,
}


def augmentation(names: str, classes: int) -> Chain | None:
    """The augmentations of these names, such as "crop+flip+mixup", in this order; none for an empty text.

    Raises ValueError for an unknown name.
    """
    wanted = [name.strip() for name in names.split("+")] if names.strip() else []
    for name in wanted:
        if name not in AUGMENTATIONS:
            raise ValueError(f"augmentation {name!r} is none of {', '.join(AUGMENTATIONS)}")
    return Chain([AUGMENTATIONS[name](classes) for name in wanted]) if wanted else None


def mirrored(places: Int[Tensor, "batch places"], length: int) -> Int[Tensor, "batch places"]:
    """Places outside of 0 … length − 1, reflected at the first and the last."""
    return (length - 1) - ((length - 1) - places.abs()).abs()


def drawn_shares(batch: int, alpha: float, device: torch.device) -> Float[Tensor, " batch"]:
    """From Beta(alpha, alpha), a share for each image."""
    shape = torch.tensor(alpha, device=device)
    return torch.distributions.Beta(shape, shape).sample((batch,))


def drawn_partners(pixels: Pixels) -> Int[Tensor, " batch"]:
    """For each image another of the batch: the one that follows it in a random order."""
    order = torch.randperm(len(pixels), device=pixels.device)
    return torch.empty_like(order).scatter(0, order, order.roll(1))


def stretch(side: Float[Tensor, " batch"], length: int) -> Bool[Tensor, "batch places"]:
    """True on a stretch of each line of pixels: a share `side` of it, around a random place."""
    middle = torch.rand_like(side) * length
    places = torch.arange(length, device=side.device) + 0.5
    return (places - middle[:, None]).abs() < side[:, None] * length / 2


def mixed_labels(
    labels: Labels, share: Float[Tensor, " batch"], other: Int[Tensor, " batch"], classes: int
) -> Float[Tensor, "batch classes"]:
    """The shares of the classes where an image keeps `share` of its own."""
    rows = labels if labels.is_floating_point() else F.one_hot(labels, classes).float()
    return share[:, None] * rows + (1 - share[:, None]) * rows[other]

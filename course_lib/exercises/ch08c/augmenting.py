"""Augmentation: shifted images, mixup, and the cross-entropy of mixed labels."""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, normal, numbered


def _shift(image: Tensor, right: int, down: int) -> Tensor:
    """The image moved to the right and down, with zeros where nothing has moved to."""
    return F.pad(image, (right, -right, down, -down))


SHIFT = Exercise(
    id="08c.shift",
    reference=_shift,
    inputs=(
        (1 + numbered(1, 2, 3), 1, 0),
        (1 + numbered(1, 4, 4), 1, -1),
        (1 + numbered(2, 5, 4), -2, 1),
        (1 + numbered(1, 3, 3), 0, 0),
    ),
    mistakes=(
        mistake(
            "your image wraps around",
            "`roll` brings back on the left what leaves on the right. The new pixels must be 0.",
            lambda image, right, down: image.roll((down, right), dims=(-2, -1)),
        ),
        mistake(
            "your code moves the image the opposite way",
            "With right = 1, the pixel of column 0 must be in column 1 afterwards.",
            lambda image, right, down: _shift(image, -right, -down),
        ),
        mistake(
            "your code swaps rows and columns",
            "The axes are (channels, height, width): `right` moves along the last axis, `down` along the "
            "one before.",
            lambda image, right, down: _shift(image, down, right),
        ),
        mistake(
            "your code moves to the right only",
            "It must also move the image `down`, along axis −2.",
            lambda image, right, down: _shift(image, right, 0),
        ),
        mistake(
            "your code turns `down` into up",
            "Row 0 is at the top. With down = 1, the pixels of row 0 must be in row 1 afterwards.",
            lambda image, right, down: _shift(image, right, -down),
        ),
        mistake(
            "your code moves down only",
            "It must also move the image to the `right`, along the last axis.",
            lambda image, right, down: _shift(image, 0, down),
        ),
        mistake(
            "your image grows",
            "The model takes images of one size. Cut the padded image to the size it had.",
            lambda image, right, down: F.pad(
                image, (max(right, 0), max(-right, 0), max(down, 0), max(-down, 0))
            ),
            lambda image, right, down: F.pad(image, (right, 0, down, 0)),
            lambda image, right, down: F.pad(image, (right, right, down, down)),
        ),
        mistake(
            "your new pixels are not 0",
            "The exercise asks for zeros, the default of `F.pad`.",
            lambda image, right, down: F.pad(image, (right, -right, down, -down), value=-1.0),
            lambda image, right, down: F.pad(image, (right, -right, down, -down), value=1.0),
        ),
    ),
)


def _rows(labels: Tensor, classes: int) -> Tensor:
    return F.one_hot(labels, classes).float()


def _mixed(values: Tensor, weight: Tensor, other: Tensor) -> Tensor:
    """`weight` of each item, plus 1 − weight of the item `other`."""
    own = weight.view(-1, *[1] * (values.ndim - 1))
    return own * values + (1 - own) * values[other]


def _mixup(images: Tensor, labels: Tensor, weight: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    return _mixed(images, weight, other), _mixed(labels, weight, other)


def _mixup_case(batch: int, side: int, classes: int, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    rng = torch.Generator().manual_seed(seed)
    labels = torch.randperm(max(batch, classes), generator=rng)[:batch] % classes
    weight = 0.05 + 0.9 * torch.rand(batch, generator=rng)
    other = torch.arange(batch).roll(1)
    return normal(batch, 1, side, side, seed=seed), _rows(labels, classes), weight, other


MIXUP = Exercise(
    id="08c.mixup",
    reference=_mixup,
    inputs=(_mixup_case(2, 1, 3, 0), _mixup_case(3, 3, 4, 1), _mixup_case(5, 2, 10, 2)),
    mistakes=(
        mistake(
            "your code leaves the labels as they are",
            "The image now shows two classes. The label needs the same two weights.",
            lambda images, labels, weight, other: (_mixed(images, weight, other), labels),
        ),
        mistake(
            "your code swaps the two weights of the labels",
            "An image that keeps 0.9 of its pixels must keep 0.9 of its label.",
            lambda images, labels, weight, other: (
                _mixed(images, weight, other),
                _mixed(labels, 1 - weight, other),
            ),
        ),
        mistake(
            "your code swaps the two images",
            "`weight` belongs to an image itself, and 1 − weight to its partner `other`.",
            lambda images, labels, weight, other: _mixup(images, labels, 1 - weight, other),
        ),
        mistake(
            "your labels do not sum to 1",
            "You added the partner's label without its weight. Multiply it by 1 − weight.",
            lambda images, labels, weight, other: (
                _mixed(images, weight, other),
                weight[:, None] * labels + labels[other],
            ),
            lambda images, labels, weight, other: (_mixed(images, weight, other), labels + labels[other]),
            lambda images, labels, weight, other: (_mixed(images, weight, other), weight[:, None] * labels),
            lambda images, labels, weight, other: (
                _mixed(images, weight, other),
                labels + (1 - weight[:, None]) * labels[other],
            ),
        ),
        mistake(
            "your code mixes every image half and half",
            "Each image has its own `weight`. Reshape it to (batch, 1, 1, 1) for the images and to "
            "(batch, 1) for the labels.",
            lambda images, labels, weight, other: _mixup(images, labels, torch.full_like(weight, 0.5), other),
        ),
        mistake(
            "your code uses one weight for the whole batch",
            "Each image has its own `weight`. Reshape it to (batch, 1, 1, 1) for the images and to "
            "(batch, 1) for the labels.",
            lambda images, labels, weight, other: _mixup(images, labels, weight[:1].expand_as(weight), other),
        ),
        mistake(
            "your code swaps the two weights of the images",
            "An image that keeps 0.9 of its label must keep 0.9 of its pixels.",
            lambda images, labels, weight, other: (
                _mixed(images, 1 - weight, other),
                _mixed(labels, weight, other),
            ),
        ),
        mistake(
            "your code gives the partner the wrong weight",
            "Image i keeps weight[i], and its partner gets the rest, 1 − weight[i].",
            lambda images, labels, weight, other: tuple(
                (own := weight.view(-1, *[1] * (x.ndim - 1))) * x + own * x[other] for x in (images, labels)
            ),
            lambda images, labels, weight, other: (
                images + (1 - weight.view(-1, 1, 1, 1)) * images[other],
                _mixed(labels, weight, other),
            ),
            lambda images, labels, weight, other: tuple(
                x + (1 - weight.view(-1, *[1] * (x.ndim - 1))) * x[other] for x in (images, labels)
            ),
        ),
        mistake(
            "your code mixes all images with one weight",
            "Image i has its own weight[i].",
            lambda images, labels, weight, other: (
                weight.mean() * images + (1 - weight.mean()) * images[other],
                weight.mean() * labels + (1 - weight.mean()) * labels[other],
            ),
        ),
    ),
)

LOSS = Exercise(
    id="08c.loss",
    reference=lambda logits, labels: -(labels * logits.log_softmax(dim=-1)).sum(dim=-1).mean(),
    inputs=(
        (torch.tensor([[0.0, 0.0]]).requires_grad_(), torch.tensor([[0.25, 0.75]])),
        (torch.tensor([[2.0, 0.0]]).requires_grad_(), torch.tensor([[0.25, 0.75]])),
        ((2 * normal(3, 4, seed=1)).requires_grad_(), normal(3, 4, seed=2).softmax(dim=-1)),
        ((3 * normal(5, 10, seed=3)).requires_grad_(), (2 * normal(5, 10, seed=4)).softmax(dim=-1)),
    ),
    mistakes=(
        mistake(
            "your code uses the most likely class only",
            "That throws the second label away. Weight the log-probability of each class with its label.",
            lambda logits, labels: F.cross_entropy(logits, labels.argmax(dim=-1)),
        ),
        mistake(
            "your loss is the Kullback–Leibler divergence",
            "`kl_div` subtracts the entropy of the labels. Its gradient is the same, but the exercise asks "
            "for the cross-entropy: −Σ label · log p.",
            lambda logits, labels: F.kl_div(logits.log_softmax(-1), labels, reduction="batchmean"),
            lambda logits, labels: F.kl_div(logits.log_softmax(-1), labels, reduction="none").mean(),
        ),
        mistake(
            "your code takes the logarithm of the average",
            "Average −log p over the classes, with the label as weights; not p first, and then its "
            "logarithm.",
            lambda logits, labels: -(labels * logits.softmax(dim=-1)).sum(dim=-1).log().mean(),
        ),
        mistake(
            "your loss has one number for each image",
            "Return their mean.",
            lambda logits, labels: -(labels * logits.log_softmax(dim=-1)).sum(dim=-1),
        ),
        mistake(
            "your loss applies softmax twice",
            "cross_entropy takes logits and applies softmax itself.",
            lambda logits, labels: F.cross_entropy(logits.softmax(dim=-1), labels),
        ),
        mistake(
            "your loss swaps logits and labels",
            "log p comes from the logits, and the labels are the weights.",
            lambda logits, labels: F.cross_entropy(labels, logits),
            lambda logits, labels: -(logits.softmax(dim=-1) * labels.log()).sum(dim=-1).mean(),
        ),
        mistake(
            "your loss has no gradient",
            "The value is right, but .item() and .detach() cut it off from the logits, and then backward() "
            "cannot work. Return the tensor itself.",
            lambda logits, labels: F.cross_entropy(logits, labels).item(),
        ),
        mistake(
            "your code averages over the classes",
            "Sum over the classes, and average over the images: only the batch has equal weights.",
            lambda logits, labels: -(labels * logits.log_softmax(dim=-1)).mean(),
        ),
        mistake(
            "your code sums over the images",
            "The loss must not grow with the batch. Take the mean over the images.",
            lambda logits, labels: -(labels * logits.log_softmax(dim=-1)).sum(),
        ),
        mistake(
            "your code takes no logarithm of the probabilities",
            "Cross-entropy weights log-probabilities. Use `log_softmax`.",
            lambda logits, labels: -(labels * logits.softmax(dim=-1)).sum(dim=-1).mean(),
        ),
        mistake(
            "your code leaves out the softmax",
            "Logits are not log-probabilities. Apply `log_softmax` over the classes first.",
            lambda logits, labels: -(labels * logits).sum(dim=-1).mean(),
        ),
        mistake(
            "your sign is wrong",
            "Log-probabilities are negative, and the loss is positive. Put a minus in front.",
            lambda logits, labels: (labels * logits.log_softmax(dim=-1)).sum(dim=-1).mean(),
        ),
        mistake(
            "your softmax is over the batch",
            "The probabilities of the classes of one image must sum to 1. The classes are the last axis.",
            lambda logits, labels: -(labels * logits.log_softmax(dim=0)).sum(dim=-1).mean(),
        ),
        mistake(
            "your code applies the sigmoid",
            "The classes compete: take log_softmax over them.",
            lambda logits, labels: -(labels * F.logsigmoid(logits)).sum(-1).mean(),
        ),
    ),
)

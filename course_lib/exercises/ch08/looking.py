"""What a trained model gets wrong, and where its class token looks."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake


def _count(labels: Tensor, predicted: Tensor, classes: int) -> Tensor:
    return torch.bincount(labels * classes + predicted, minlength=classes**2).view(classes, classes)


CONFUSION = Exercise(
    id="08.confusion",
    reference=_count,
    inputs=(
        (torch.tensor([0, 0, 1, 2]), torch.tensor([0, 1, 1, 0]), 3),
        (torch.tensor([1, 1, 1, 3, 0, 3, 1]), torch.tensor([2, 1, 2, 3, 3, 0, 1]), 5),
    ),
    mistakes=(
        mistake(
            "has the answers as rows and the truth as columns",
            "In this course, as on slide 103, a row is a true class: it says what became of its images.",
            lambda labels, predicted, classes: _count(predicted, labels, classes),
        ),
        mistake(
            "counts equal cases once",
            "`table[labels, predicted] += 1` reads, adds and writes for all images at once, so the second "
            "image of a cell writes the same 1 again. Use a loop, bincount or index_put_(accumulate=True).",
            lambda labels, predicted, classes: _count(labels, predicted, classes).clamp(max=1),
        ),
        mistake(
            "gives shares instead of counts",
            "Shares hide how many images there were. Slide 103 prints them; asked are the counts.",
            lambda labels, predicted, classes: (
                (table := _count(labels, predicted, classes).float())
                / table.sum(dim=1, keepdim=True).clamp(min=1)
            ),
            lambda labels, predicted, classes: _count(labels, predicted, classes) / len(labels),
            lambda labels, predicted, classes: 100 * _count(labels, predicted, classes) / len(labels),
        ),
        mistake(
            "counts only what is right",
            "The diagonal is the accuracy. What is confused with what stands beside it.",
            lambda labels, predicted, classes: _count(labels, predicted, classes).diag().diag(),
        ),
        mistake(
            "counts only what is wrong",
            "What is right belongs into it, on the diagonal. Otherwise a rare class looks like an easy one.",
            lambda labels, predicted, classes: (
                (table := _count(labels, predicted, classes)) - table.diag().diag()
            ),
        ),
    ),
)


def _weights(heads: int, side: int, seed: int) -> Tensor:
    """Of two images: (batch, heads, tokens, tokens), with a class token before side × side patches."""
    tokens = 1 + side * side
    return torch.randn(2, heads, tokens, tokens, generator=torch.Generator().manual_seed(seed)).softmax(-1)


def _picture(looks: Tensor, side: int) -> Tensor:
    """A weight for each patch as a picture that sums to 1."""
    return (looks / looks.sum(dim=-1, keepdim=True)).unflatten(-1, (side, side))


MAP = Exercise(
    id="08.map",
    reference=lambda weights, side: _picture(weights[:, :, 0, 1:].mean(dim=1), side),
    inputs=((_weights(2, 2, 0), 2), (_weights(3, 3, 1), 3)),
    mistakes=(
        mistake(
            "asks which patches look at the class token",
            "Rows are queries, columns are keys. The class token's own weights are row 0, not column 0.",
            lambda weights, side: _picture(weights[:, :, 1:, 0].mean(dim=1), side),
        ),
        mistake(
            "begins with the class token itself",
            "Key 0 is the class token, and patch 0 is key 1. Here every weight stands one place too late.",
            lambda weights, side: _picture(weights[:, :, 0, :-1].mean(dim=1), side),
        ),
        mistake(
            "lays the picture on its side",
            "Patches follow one another row by row: the row of patches is the first of the two axes.",
            lambda weights, side: _picture(weights[:, :, 0, 1:].mean(dim=1), side).transpose(1, 2),
        ),
        mistake(
            "does not sum to 1",
            "What the class token gives to itself is left out, so the rest sums to less: divide by its sum.",
            lambda weights, side: weights[:, :, 0, 1:].mean(dim=1).unflatten(-1, (side, side)),
        ),
        mistake(
            "divides before it averages over the heads",
            "Then a head that hardly looks at the patches counts as much as one that looks at nothing else. "
            "Average first, divide afterwards.",
            lambda weights, side: _picture(weights[:, :, 0, 1:], side).mean(dim=1),
        ),
        mistake(
            "shows the first head only",
            "Average over the heads, axis 1.",
            lambda weights, side: _picture(weights[:, 0, 0, 1:], side),
        ),
        mistake(
            "averages over the queries",
            "That is where all tokens look. Asked is the class token: row 0.",
            lambda weights, side: _picture(weights[:, :, :, 1:].mean(dim=(1, 2)), side),
        ),
        mistake(
            "averages over the images",
            "Axis 0 is the batch, and each image has its own picture. The heads are axis 1.",
            lambda weights, side: _picture(weights[:, :, 0, 1:].mean(dim=0), side),
        ),
    ),
)

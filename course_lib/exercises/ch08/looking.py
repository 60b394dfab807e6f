"""Confusion matrix, and the attention map of the class token."""

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
            "your matrix has predictions as rows and true classes as columns",
            "In this course, each row is a true class and shows how its images were classified. Swap "
            "the two.",
            lambda labels, predicted, classes: _count(predicted, labels, classes),
        ),
        mistake(
            "your code counts repeated pairs once",
            "`table[labels, predicted] += 1` reads, adds and writes all entries at once, so repeated "
            "pairs overwrite each other. Use a loop, bincount or index_put_(accumulate=True).",
            lambda labels, predicted, classes: _count(labels, predicted, classes).clamp(max=1),
        ),
        mistake(
            "your matrix holds fractions instead of counts",
            "Fractions hide how many images there were. Return the counts.",
            lambda labels, predicted, classes: (
                (table := _count(labels, predicted, classes).float())
                / table.sum(dim=1, keepdim=True).clamp(min=1)
            ),
            lambda labels, predicted, classes: _count(labels, predicted, classes) / len(labels),
            lambda labels, predicted, classes: 100 * _count(labels, predicted, classes) / len(labels),
        ),
        mistake(
            "your matrix counts only the correct predictions",
            "The diagonal gives the accuracy, but the confusions are beside it. Count every image.",
            lambda labels, predicted, classes: _count(labels, predicted, classes).diag().diag(),
        ),
        mistake(
            "your matrix counts only the wrong predictions",
            "Without the diagonal, a rare class looks like an easy one. Count the correct ones too.",
            lambda labels, predicted, classes: (
                (table := _count(labels, predicted, classes)) - table.diag().diag()
            ),
        ),
    ),
)


def _weights(heads: int, side: int, seed: int) -> Tensor:
    """Random attention weights of two images, (batch, heads, tokens, tokens), with a class token first."""
    tokens = 1 + side * side
    return torch.randn(2, heads, tokens, tokens, generator=torch.Generator().manual_seed(seed)).softmax(-1)


def _map(weights_of_patches: Tensor, side: int) -> Tensor:
    """Weights of the patches as an image that sums to 1."""
    return (weights_of_patches / weights_of_patches.sum(dim=-1, keepdim=True)).unflatten(-1, (side, side))


MAP = Exercise(
    id="08.map",
    reference=lambda weights, side: _map(weights[:, :, 0, 1:].mean(dim=1), side),
    inputs=((_weights(2, 2, 0), 2), (_weights(3, 3, 1), 3)),
    mistakes=(
        mistake(
            "your code shows which patches attend to the class token",
            "Rows are queries and columns are keys. The weights of the class token are row 0, not column 0.",
            lambda weights, side: _map(weights[:, :, 1:, 0].mean(dim=1), side),
        ),
        mistake(
            "your map begins with the class token itself",
            "Key 0 is the class token, so patch 0 is key 1. Your map is shifted by one patch: use [..., 1:].",
            lambda weights, side: _map(weights[:, :, 0, :-1].mean(dim=1), side),
        ),
        mistake(
            "your map is transposed",
            "Patches follow one another row by row. The first of the two map axes is the patch row.",
            lambda weights, side: _map(weights[:, :, 0, 1:].mean(dim=1), side).transpose(1, 2),
        ),
        mistake(
            "your map does not sum to 1",
            "You left out the weight of the class token on itself, so the rest sums to less. Divide by "
            "its sum.",
            lambda weights, side: weights[:, :, 0, 1:].mean(dim=1).unflatten(-1, (side, side)),
        ),
        mistake(
            "your code normalizes before it averages over the heads",
            "Then a head that hardly attends to the patches counts as much as one that attends only to "
            "them. Average first, then normalize.",
            lambda weights, side: _map(weights[:, :, 0, 1:], side).mean(dim=1),
        ),
        mistake(
            "your map shows only the first head",
            "Average over all heads, axis 1.",
            lambda weights, side: _map(weights[:, 0, 0, 1:], side),
        ),
        mistake(
            "your code averages over the queries",
            "That shows where all tokens attend. The exercise asks for the class token: row 0.",
            lambda weights, side: _map(weights[:, :, :, 1:].mean(dim=(1, 2)), side),
        ),
        mistake(
            "your code averages over the images",
            "Axis 0 is the batch, and each image needs its own map. Average over the heads, axis 1.",
            lambda weights, side: _map(weights[:, :, 0, 1:].mean(dim=0), side),
        ),
    ),
)

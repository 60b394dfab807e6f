"""Confusion matrix."""

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
        (torch.tensor([0, 1]).repeat(300), torch.tensor([1, 1]).repeat(300), 2),  # more than a byte can count
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
            lambda labels, predicted, classes: (
                (table := _count(labels, predicted, classes).float()) / table.sum(dim=1, keepdim=True)
            ),
        ),
        mistake(
            "your counts overflow",
            "With 300 images in one cell, your table starts again from 0 or below: an 8-bit integer holds at "
            "most 255. Count in `torch.long`.",
            lambda labels, predicted, classes: _count(labels, predicted, classes).to(torch.uint8),
            lambda labels, predicted, classes: _count(labels, predicted, classes).to(torch.int8),
        ),
        mistake(
            "your matrix counts only the correct predictions",
            "The diagonal gives the accuracy, but the confusions are beside it. Count every image.",
            lambda labels, predicted, classes: _count(labels, predicted, classes).diag().diag(),
            lambda labels, predicted, classes: _count(labels, predicted, classes).diag(),
            lambda labels, predicted, classes: (labels == predicted).sum(),
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

"""Measuring: which checkpoint to keep, and a confusion matrix in percent."""

import torch

from course_lib.exercises.exercise import Exercise, mistake

Losses = list[float]


def _lowest(steps: list[int], losses: Losses) -> int:
    return steps[losses.index(min(losses))]


BEST = Exercise(
    id="08c.best",
    reference=lambda steps, training, validation: _lowest(steps, validation),
    inputs=(
        ([100, 200, 300], [1.5, 0.6, 0.2], [1.6, 0.9, 1.1]),
        ([50, 100, 150, 200], [1.2, 0.4, 0.02, 0.03], [0.9, 1.0, 1.3, 1.2]),
        ([10, 20, 30, 40, 50], [2.0, 1.4, 1.1, 0.7, 0.1], [2.1, 1.5, 1.6, 1.2, 1.4]),
    ),
    mistakes=(
        mistake(
            "your code keeps the lowest training loss",
            "A model that has memorized its images has the lowest one. Use images it was not trained on.",
            lambda steps, training, validation: _lowest(steps, training),
        ),
        mistake(
            "your code keeps the last checkpoint",
            "Toward the end, the validation loss may rise again. Look for its lowest value.",
            lambda steps, training, validation: steps[-1],
        ),
        mistake(
            "your code returns a position in the list",
            "A checkpoint is named after its step. Return `steps[i]`, not i.",
            lambda steps, training, validation: validation.index(min(validation)),
        ),
        mistake(
            "your code returns the loss",
            "It should return the step at which the loss was lowest.",
            lambda steps, training, validation: min(validation),
        ),
        mistake(
            "your code keeps the highest validation loss",
            "Of an accuracy, you would keep the highest. A lower loss is better.",
            lambda steps, training, validation: steps[validation.index(max(validation))],
        ),
        mistake(
            "your code stops at the first rise",
            "The loss goes up and down from one checkpoint to the next. Compare all of them.",
            lambda steps, training, validation: next(
                step for step, now, then in zip(steps, validation, validation[1:], strict=False) if then > now
            ),
        ),
        mistake(
            "your code looks for the smallest gap",
            "The gap between the two losses is smallest before the model has learned much. Keep the lowest "
            "validation loss.",
            lambda steps, training, validation: min(
                zip(steps, training, validation, strict=True), key=lambda row: abs(row[2] - row[1])
            )[0],
        ),
    ),
)

PERCENT = Exercise(
    id="08c.percent",
    reference=lambda counts: 100 * counts / counts.sum(dim=1, keepdim=True),
    inputs=(
        (torch.tensor([[3, 1], [4, 12]]),),
        (torch.tensor([[7, 1, 1], [0, 3, 1], [5, 0, 16]]),),
    ),
    mistakes=(
        mistake(
            "your columns sum to 100",
            "Each row holds the images of one true class, so each row must sum to 100. Divide by the sum "
            "over the columns, `dim=1`.",
            lambda counts: 100 * counts / counts.sum(dim=0),
            lambda counts: 100 * counts / counts.sum(dim=0, keepdim=True),
        ),
        mistake(
            "your code divides a row by the sum of another row",
            "`counts.sum(dim=1)` has shape (classes,) and is spread over the columns. Keep the axis with "
            "`keepdim=True`.",
            lambda counts: 100 * counts / counts.sum(dim=1),
        ),
        mistake(
            "your whole table sums to 100",
            "Classes with more images would get larger numbers. Divide each row by its own sum.",
            lambda counts: 100 * counts / counts.sum(),
        ),
        mistake(
            "your code returns fractions",
            "The exercise asks for percent. Multiply by 100.",
            lambda counts: counts / counts.sum(dim=1, keepdim=True),
        ),
        mistake(
            "your code returns the diagonal only",
            "That is the accuracy of each class. Return the whole table.",
            lambda counts: 100 * counts.diag() / counts.sum(dim=1),
        ),
        mistake(
            "your code returns whole numbers",
            "Rounding comes last, when you print. Use `/`, not `//`.",
            lambda counts: 100 * counts // counts.sum(dim=1, keepdim=True),
            lambda counts: (100 * counts / counts.sum(dim=1, keepdim=True)).round(),
        ),
    ),
)

"""The tokens around the patches: the class token, positions on a grid, and one vector for all of it."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, normal


def _before(patches: Tensor, class_token: Tensor) -> Tensor:
    """The class token before the patches of each image."""
    return torch.cat([class_token.expand(len(patches), 1, -1), patches], dim=1)


def _case(batch: int, patches: int, d_model: int) -> tuple[Tensor, Tensor, Tensor]:
    return normal(batch, patches, d_model), normal(d_model, seed=1), normal(1 + patches, d_model, seed=2)


SEQUENCE = Exercise(
    id="08.sequence",
    reference=lambda patches, class_token, positions: _before(patches, class_token) + positions,
    inputs=(_case(1, 3, 2), _case(2, 4, 3), _case(5, 2, 6)),
    mistakes=(
        mistake(
            "does not expand the class token over the batch",
            "There is one class token, and every image of the batch needs it. With a batch of one image "
            "nobody notices: `expand(batch, 1, -1)`.",
            lambda patches, class_token, positions: (
                torch.cat([class_token[None, None], patches], dim=1) + positions
            ),
        ),
        mistake(
            "puts the class token last",
            "It could stand there, but the head will read `states[:, 0]`, and row 0 of the positions is its.",
            lambda patches, class_token, positions: (
                torch.cat([patches, class_token.expand(len(patches), 1, -1)], dim=1) + positions
            ),
        ),
        mistake(
            "has a class token for every patch",
            "So says slide 100, and its listing does something else: one class token for each image of the "
            "batch. It is a token of its own beside the patches.",
            lambda patches, class_token, positions: torch.cat([class_token.expand_as(patches), patches], 1),
            lambda patches, class_token, positions: patches + class_token + positions[1:],
            lambda patches, class_token, positions: patches + class_token,
        ),
        mistake(
            "adds no position to the class token",
            "The table has a row for each token, and row 0 is that of the class token.",
            lambda patches, class_token, positions: _before(patches + positions[1:], class_token),
        ),
        mistake(
            "gives the patches the rows of their neighbours",
            "Row 0 of the table belongs to the class token, so patch 0 gets row 1.",
            lambda patches, class_token, positions: _before(patches + positions[:-1], class_token),
        ),
        mistake(
            "leaves the positions out",
            "Without them the model cannot tell an image from its patches in a heap.",
            lambda patches, class_token, positions: _before(patches, class_token),
        ),
    ),
)


def _grid(rows: Tensor, columns: Tensor) -> Tensor:
    """Row and column vectors side by side, patch by patch in reading order."""
    return torch.cat([rows.repeat_interleave(len(columns), 0), columns.repeat(len(rows), 1)], dim=1)


def _down(rows: Tensor, columns: Tensor) -> Tensor:
    """The same, in the order that goes down the columns."""
    return torch.cat([rows.repeat(len(columns), 1), columns.repeat_interleave(len(rows), 0)], dim=1)


POSITIONS = Exercise(
    id="08.positions",
    reference=_grid,
    inputs=((normal(2, 2), normal(2, 2, seed=1)), (normal(3, 2), normal(4, 2, seed=1))),
    mistakes=(
        mistake(
            "goes down the columns",
            "Patch 1 is the right neighbour of patch 0: the row changes only after a whole line.",
            _down,
        ),
        mistake(
            "puts the column before the row",
            "Asked is the row's half first.",
            lambda rows, columns: _grid(rows, columns).roll(columns.shape[1], dims=1),
        ),
        mistake(
            "adds row and column instead of joining them",
            "Added up, the two take the same numbers, and (1, 2) can look like (2, 1). Each has its own "
            "half: cat.",
            lambda rows, columns: (rows[:, None] + columns).flatten(0, 1),
        ),
        mistake(
            "leaves the grid as it is",
            "The patches are one sequence. Flatten rows and columns into one axis.",
            lambda rows, columns: _grid(rows, columns).unflatten(0, (len(rows), len(columns))),
        ),
    ),
)

POOL = Exercise(
    id="08.pool",
    reference=lambda states: states[:, 1:].mean(dim=1),
    inputs=((normal(1, 3, 2),), (normal(4, 6, 4),), (normal(2, 5, 3),)),
    mistakes=(
        mistake(
            "averages over the batch",
            "Axis 0 is the batch: this mixes different images, and the same image gets another answer in "
            "other company. The tokens are axis 1.",
            lambda states: states[:, 1:].mean(dim=0),
        ),
        mistake(
            "averages over the features",
            "The last axis holds the numbers of one token. Of these nothing must be lost; the tokens are "
            "axis 1.",
            lambda states: states[:, 1:].mean(dim=-1),
            lambda states: states.mean(dim=-1),
        ),
        mistake(
            "counts the class token in",
            "Token 0 is the class token, and the patches begin after it.",
            lambda states: states.mean(dim=1),
        ),
        mistake(
            "leaves out the last patch instead of the class token",
            "The class token stands first: [:, 1:].",
            lambda states: states[:, :-1].mean(dim=1),
        ),
        mistake(
            "sums up",
            "The sum grows with the number of patches. A larger image would be louder.",
            lambda states: states[:, 1:].sum(dim=1),
        ),
        mistake(
            "takes the class token",
            "That is the other way to get one vector. Here the patches are asked for.",
            lambda states: states[:, 0],
        ),
        mistake(
            "takes the maximum",
            "Max pooling is possible too. Asked is the mean.",
            lambda states: states[:, 1:].amax(dim=1),
        ),
    ),
)

"""Position embeddings on a grid."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, normal, numbered


def _grid(rows: Tensor, columns: Tensor) -> Tensor:
    """Concatenated row and column vectors, patch by patch in reading order."""
    return torch.cat([rows.repeat_interleave(len(columns), 0), columns.repeat(len(rows), 1)], dim=1)


def _column_by_column(rows: Tensor, columns: Tensor) -> Tensor:
    """Concatenated row and column vectors, column by column."""
    return torch.cat([rows.repeat(len(columns), 1), columns.repeat_interleave(len(rows), 0)], dim=1)


def _repeated_alike(rows: Tensor, columns: Tensor) -> Tensor:
    return torch.cat([rows.repeat_interleave(len(rows), 0), columns.repeat(len(columns), 1)], dim=1)


POSITIONS = Exercise(
    id="08b.positions",
    reference=_grid,
    inputs=(
        (numbered(2, 1), 10 * (1 + numbered(2, 1))),
        (numbered(2, 1), 10 * (1 + numbered(3, 1))),
        (numbered(2, 2), 10 * (1 + numbered(2, 2))),
        (normal(3, 2), normal(4, 2, seed=1)),
    ),
    mistakes=(
        mistake(
            "your code orders the positions column by column",
            "Patch 1 is the right neighbor of patch 0. The row changes only after a whole line.",
            _column_by_column,
        ),
        mistake(
            "your code puts the column half before the row half",
            "Each position is the row vector followed by the column vector. Swap the two.",
            lambda rows, columns: _grid(rows, columns).roll(columns.shape[1], dims=1),
        ),
        mistake(
            "your code adds row and column instead of concatenating them",
            "Added, both use the same features, so (1, 2) can look like (2, 1). Give each its own half "
            "with torch.cat.",
            lambda rows, columns: (rows[:, None] + columns).flatten(0, 1),
        ),
        mistake(
            "your code pairs row i with column i",
            "Every row meets every column: height · width positions. Repeat the rows and the columns first.",
            lambda rows, columns: torch.cat([rows[: len(columns)], columns[: len(rows)]], dim=1),
        ),
        mistake(
            "your code repeats rows and columns alike",
            "Row 0 stays while the column runs from 0 to the end: repeat_interleave for the rows, repeat for "
            "the columns.",
            lambda rows, columns: torch.cat(
                [rows.repeat(len(columns), 1), columns.repeat(len(rows), 1)], dim=1
            ),
            lambda rows, columns: torch.cat(
                [rows.repeat_interleave(len(columns), 0), columns.repeat_interleave(len(rows), 0)], dim=1
            ),
        ),
        mistake(
            "your code returns a grid",
            "The patches are one sequence. Flatten rows and columns into one axis.",
            lambda rows, columns: _grid(rows, columns).unflatten(0, (len(rows), len(columns))),
        ),
        mistake(
            "your code concatenates along the tokens",
            "The two halves are features: dim=1.",
            lambda rows, columns: torch.cat(
                [rows.repeat_interleave(len(columns), 0), columns.repeat(len(rows), 1)], dim=0
            ),
        ),
        mistake(
            "your code repeats by the wrong number",
            "Each row occurs once per *column*, and each column once per *row*: "
            "repeat_interleave(len(columns)) and repeat(len(rows), 1).",
            _repeated_alike,
        ),
    ),
)

"""Position embeddings on a grid."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, normal


def _grid(rows: Tensor, columns: Tensor) -> Tensor:
    """Concatenated row and column vectors, patch by patch in reading order."""
    return torch.cat([rows.repeat_interleave(len(columns), 0), columns.repeat(len(rows), 1)], dim=1)


def _column_by_column(rows: Tensor, columns: Tensor) -> Tensor:
    """Concatenated row and column vectors, column by column."""
    return torch.cat([rows.repeat(len(columns), 1), columns.repeat_interleave(len(rows), 0)], dim=1)


POSITIONS = Exercise(
    id="08b.positions",
    reference=_grid,
    inputs=((normal(2, 2), normal(2, 2, seed=1)), (normal(3, 2), normal(4, 2, seed=1))),
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
            "your code returns a grid",
            "The patches are one sequence. Flatten rows and columns into one axis.",
            lambda rows, columns: _grid(rows, columns).unflatten(0, (len(rows), len(columns))),
        ),
    ),
)

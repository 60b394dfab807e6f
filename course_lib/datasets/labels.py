"""Label checks: one label per example, each a valid class index."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor


def check_number(what: str, examples: int, labels: int) -> None:
    """Raise ValueError if there are no examples, or if there is not one label per example.

    what: name of the examples in the message, such as "images".
    """
    if examples != labels or not examples:
        raise ValueError(f"{examples} {what} and {labels} labels: the numbers must match and be at least 1")


def check_labels(labels: Int[Tensor, " n"] | Sequence[int], classes: int, of: str = "") -> None:
    """Raise ValueError if a label is outside 0 … classes − 1; on a GPU, such a label would crash the process.

    of: name of the data set in the message.

    >>> check_labels([0, 2, 1], classes=2)
    Traceback (most recent call last):
    ValueError: labels run from 0 to 2, but classes=2 takes 0 to 1
    """
    low, high = (label.item() for label in torch.as_tensor(labels).aminmax())
    if low < 0 or high >= classes:
        whose = f"{of}: " if of else ""
        raise ValueError(
            f"{whose}labels run from {low} to {high}, but classes={classes} takes 0 to {classes - 1}"
        )

"""What is asked of labels everywhere: one for each example, and a class for each."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor


def check_number(what: str, examples: int, labels: int) -> None:
    """Raises ValueError where there are no examples, or not as many labels. what: the examples are."""
    if examples != labels or not examples:
        raise ValueError(f"{examples} {what} and {labels} labels: there must be as many, and at least 1")


def check_labels(labels: Int[Tensor, " n"] | Sequence[int], classes: int, of: str = "") -> None:
    """Raises ValueError where a label is not one of 0 … classes − 1; on a GPU it would end the process.

    of: what they are labels of, for the message.
    """
    low, high = (label.item() for label in torch.as_tensor(labels).aminmax())
    if low < 0 or high >= classes:
        whose = f"{of}: " if of else ""
        raise ValueError(
            f"{whose}labels run from {low} to {high}, but classes={classes} takes 0 to {classes - 1}"
        )

"""Evaluation mode as a context manager."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from course_lib.training.optim import WeightEMA


@contextmanager
def evaluating(model: nn.Module, average: WeightEMA | None = None) -> Iterator[nn.Module]:
    """Evaluation mode within the `with` block; with an `average` of the weights, the model has those there.

    Afterwards, even after an error or an interrupt, each module has its former mode again, the model its own
    weights, and PyTorch's random generators have their former states.

    >>> from torch import nn
    >>> model = nn.Dropout()
    >>> with evaluating(model):
    ...     print(model.training)
    False
    >>> model.training
    True
    """
    modes = [(module, module.training) for module in model.modules()]
    device = next((weight.device for weight in model.parameters()), torch.device("cpu"))
    if average:
        average.exchange()
    try:
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            yield model.eval()
    finally:
        for module, mode in modes:
            module.training = mode
        if average:
            average.exchange()

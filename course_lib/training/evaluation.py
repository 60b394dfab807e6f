"""Evaluation mode as a context manager."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from course_lib.training.optim import WeightEMA
from course_lib.utils.random_states import random_states, set_random_states


@contextmanager
def evaluating(model: nn.Module, average: WeightEMA | None = None) -> Iterator[nn.Module]:
    """Evaluation mode within the `with` block; with an `average` of the weights, the model has those there.

    Afterwards, even after an error or an interrupt, each module has its former mode again, the model its own
    weights, and PyTorch's random generators have their former states.
    """
    modes = [(module, module.training) for module in model.modules()]
    device = next((weight.device for weight in model.parameters()), torch.device("cpu"))
    states = random_states(device)
    if average:
        average.exchange()
    try:
        yield model.eval()
    finally:
        set_random_states(states, device)
        for module, mode in modes:
            module.training = mode
        if average:
            average.exchange()

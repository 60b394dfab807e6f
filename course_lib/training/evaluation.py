"""Evaluation mode as a context manager."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[nn.Module]:
    """Evaluation mode within the `with` block.

    Afterwards, even after an error or an interrupt, each module has its former mode again, and PyTorch's
    random generators have their former states.
    """
    modes = [(module, module.training) for module in model.modules()]
    weight = next(model.parameters(), None)
    devices = [weight.device] if weight is not None and weight.is_cuda else []
    with torch.random.fork_rng(devices):
        try:
            yield model.eval()
        finally:
            for module, mode in modes:
                module.training = mode

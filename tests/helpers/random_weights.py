"""Random weights for comparisons: no bias stays 0 and no gain 1, so a comparison that forgets one fails."""

from typing import TypeVar

import torch
from torch import nn

Module = TypeVar("Module", bound=nn.Module)


def randomized(model: Module, device: str = "cpu", scale: float = 0.2, seed: int | None = None) -> Module:
    """The model in evaluation mode, with noise added to every weight.

    scale: standard deviation of the noise. seed: of the noise; by default, that of the generator as it is.
    """
    if seed is not None:
        torch.manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p += scale * torch.randn_like(p)
    return model.to(device).eval()

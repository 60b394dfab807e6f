"""LoRA: train a low-rank update of a frozen linear layer, and merge it into the weights."""

import copy
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.linear import Linear


class LoRALinear(nn.Module):
    """Low-rank adaptation (LoRA) of a linear layer: x Wᵀ + b + (α / r) · (x Aᵀ) Bᵀ, with W and b frozen.

    B starts at zero, so that the layer starts out unchanged. linear: the layer to adapt; it is frozen.
    rank: r, the number of rows of A. alpha: α; None for the rank, which makes the factor 1.
    Raises ValueError for a rank below 1.
    Source: Hu et al. 2022, section 4.1.
    """

    def __init__(self, linear: nn.Linear, rank: int, alpha: float | int | None = None):
        super().__init__()
        if rank < 1:
            raise ValueError(f"rank={rank} must be at least 1")
        self.linear = linear.requires_grad_(False)
        self.scale = (rank if alpha is None else alpha) / rank
        self.a = nn.Parameter(linear.weight.new_empty(rank, linear.in_features))
        self.b = nn.Parameter(linear.weight.new_zeros(linear.out_features, rank))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))  # as nn.Linear does

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        return self.linear(x) + self.scale * (x @ self.a.T) @ self.b.T


def add_lora(
    model: nn.Module, rank: int, alpha: float | int | None = None, names: tuple[str, ...] = ("w_q", "w_kv")
) -> nn.Module:
    """Freeze a model, and give its linear layers with these names a LoRA update; returns the model.

    By default, the projections to queries, keys and values. Raises ValueError if no layer has such a name.
    """
    model.requires_grad_(False)
    found = [
        (parent, name)
        for parent in list(model.modules())
        for name, child in parent.named_children()
        if name in names and isinstance(child, nn.Linear)
    ]
    if not found:
        raise ValueError(f"the model has no linear layer named {' or '.join(names)}")
    for parent, name in found:
        setattr(parent, name, LoRALinear(getattr(parent, name), rank, alpha))
    return model


@torch.no_grad()
def merge_lora(module: nn.Module) -> nn.Module:
    """Add each update to its weights, W + (α / r) · B A, in a copy without a LoRA layer.

    module: a `LoRALinear`, which becomes a plain linear layer, or a model with such layers.
    """
    if isinstance(module, LoRALinear):
        linear = module.linear
        bias = linear.bias is not None
        merged = nn.utils.skip_init(Linear, linear.in_features, linear.out_features, bias=bias)
        merged.load_state_dict(linear.state_dict())
        merged.weight += module.scale * module.b @ module.a
        return merged
    model = copy.deepcopy(module)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, LoRALinear):
                setattr(parent, name, merge_lora(child))
    return model

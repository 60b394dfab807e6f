"""LoRA: low-rank updates of frozen linear layers, and merging them into the weights."""

import copy
import math
from collections.abc import Callable, Collection
from typing import TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

Module = TypeVar("Module", bound=nn.Module)
LINEARS = ("w_q", "w_kv", "w_o", "w_in", "w_out")  # of the course's attention and feed-forward layers


class LoRALinear(nn.Module):
    """Frozen linear layer plus a trainable low-rank update: y = W x + bias + (alpha / rank) · B A x.

    A starts with random numbers and B with zeros, so at first the layer computes what `linear` does.
    Raises ValueError for a rank below 1.
    Source: Hu et al. 2022, section 4.1; A is initialized as in their code and in peft.
    """

    def __init__(self, linear: nn.Linear, rank: int, alpha: float):
        super().__init__()
        if rank < 1:
            raise ValueError(f"rank={rank} must be at least 1")
        self.base, self.scale = linear.requires_grad_(False), alpha / rank
        self.lora_A = nn.Parameter(linear.weight.new_empty(rank, linear.in_features))
        self.lora_B = nn.Parameter(linear.weight.new_zeros(linear.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch outputs"]:
        return self.base(x) + self.scale * F.linear(F.linear(x, self.lora_A), self.lora_B)

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """A plain linear layer with the weights W + (alpha / rank) · B A."""
        linear = copy.deepcopy(self.base)
        linear.weight += self.scale * self.lora_B @ self.lora_A
        return linear


def add_lora(model: Module, rank: int, alpha: float, names: Collection[str] = LINEARS) -> Module:
    """A copy of the model in which only LoRA matrices can be trained; `model` keeps its own weights.

    names: of the linear layers that get an update, such as "w_q". Everything else is frozen.
    Raises ValueError if the model has no such layer.
    """
    adapted = copy.deepcopy(model).requires_grad_(False)
    found = replace(adapted, nn.Linear, lambda layer: LoRALinear(layer, rank, alpha), names)
    if not found:
        raise ValueError(f"the model has no linear layer named {' or '.join(names)}")
    return adapted


def merge_lora(model: Module) -> Module:
    """A copy of the model with each LoRA update added to its weights: no LoRA layer is left."""
    merged = copy.deepcopy(model)
    replace(merged, LoRALinear, lambda layer: layer.merged())
    return merged


def replace(
    model: nn.Module, kind: type, new: Callable[..., nn.Module], names: Collection[str] | None = None
) -> int:
    """Replace the layers of this kind, in place; returns their number. names: of the layers; None for all."""
    places = [(parent, name) for parent in model.modules() for name, _ in parent.named_children()]
    chosen = [(p, n) for p, n in places if isinstance(getattr(p, n), kind) and (names is None or n in names)]
    for parent, name in chosen:
        setattr(parent, name, new(getattr(parent, name)))
    return len(chosen)

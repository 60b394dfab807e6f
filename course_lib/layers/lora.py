"""LoRA: train a low-rank update of a frozen linear layer, and merge it into the weights."""

import copy
import math
from types import SimpleNamespace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.utils.ranges import check_numbers, check_whole_numbers


class LoRALinear(nn.Module):
    """Low-rank adaptation (LoRA) of a linear layer: x Wᵀ + b + (α / r) · (x Aᵀ) Bᵀ, with W and b frozen.

    B starts at zero, so that the layer starts out unchanged. linear: the layer to adapt; it is frozen.
    rank: r, the number of rows of A. alpha: α, above 0; None for the rank, which makes the factor 1.
    Raises ValueError for a rank below 1, for another alpha, and for a layer that is not linear or has weights
    of integers (int8).
    Source: Hu et al. 2022, section 4.1.

    >>> from torch import nn
    >>> layer = LoRALinear(nn.Linear(8, 8), rank=2)
    >>> [name for name, p in layer.named_parameters() if p.requires_grad]
    ['a', 'b']
    """

    def __init__(self, linear: nn.Linear, rank: int, alpha: float | int | None = None):
        super().__init__()
        check_whole_numbers(SimpleNamespace(rank=rank), 1, "rank")
        check_numbers(SimpleNamespace(alpha=1 if alpha is None else alpha), "(0, inf)", "alpha")
        self.linear = adaptable(linear).requires_grad_(False)
        self.scale = (rank if alpha is None else alpha) / rank
        self.a = nn.Parameter(linear.weight.new_empty(rank, linear.in_features))
        self.b = nn.Parameter(linear.weight.new_zeros(linear.out_features, rank))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))  # as nn.Linear does

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        return self.linear(x) + self.scale * (x @ self.a.T) @ self.b.T


def adaptable(layer: nn.Module) -> nn.Linear:
    """The layer itself. Raises ValueError unless it is linear and has floating-point weights."""
    if isinstance(layer, nn.Linear) and layer.weight.is_floating_point():
        return layer
    again = "it has an update already: merge it first, or name other layers"
    hint = again if isinstance(layer, LoRALinear) else "LoRA comes before quantization"
    raise ValueError(f"{type(layer).__name__} is not a linear layer with floating-point weights: {hint}")


def add_lora(
    model: nn.Module, rank: int, alpha: float | int | None = None, names: tuple[str, ...] = ("w_q", "w_kv")
) -> nn.Module:
    """Freeze a model, and give its linear layers with these names a LoRA update; returns the model.

    By default, the projections to queries, keys and values. Updates by an earlier call, for other names, stay
    as they are: they are not frozen.
    Raises ValueError if no layer has such a name, or if one has an update already or is not a linear layer.

    >>> from course_lib.layers import MultiHeadAttention
    >>> mha = add_lora(MultiHeadAttention(d_model=8, heads=2), rank=1)
    >>> sum(p.numel() for p in mha.parameters() if p.requires_grad), sum(p.numel() for p in mha.parameters())
    (40, 328)
    """
    found = [
        (parent, name, adaptable(child))
        for parent in list(model.modules())
        for name, child in parent.named_children()
        if name in names
    ]
    if not found:
        raise ValueError(f"the model has no linear layer named {' or '.join(names)}")
    flags = {p: p.requires_grad for m in model.modules() if isinstance(m, LoRALinear) for p in (m.a, m.b)}
    updates = {child: LoRALinear(child, rank, alpha) for _, _, child in found}  # a shared layer stays shared
    for p in model.parameters():
        p.requires_grad_(flags.get(p, False))
    for parent, name, child in found:
        setattr(parent, name, updates[child])
    return model


@torch.no_grad()
def merge_lora(module: nn.Module) -> nn.Module:
    """Add each update to its weights, W + (α / r) · B A, in a copy without a LoRA layer.

    module: a `LoRALinear`, which becomes the linear layer that it adapts, or a model with such layers. The
    layers keep their dtype, device and `requires_grad`; the sum is computed in fp32 or better.
    Raises ValueError if merged weights are not finite, or if the layer has been quantized since.

    >>> from torch import nn
    >>> merge_lora(LoRALinear(nn.Linear(8, 4), rank=2))
    Linear(in_features=8, out_features=4, bias=True)
    """
    if isinstance(module, LoRALinear):
        if not isinstance(module.linear, nn.Linear):
            raise ValueError(f"a {type(module.linear).__name__} cannot be merged: merge before quantization")
        merged = copy.deepcopy(module.linear)
        wide = torch.promote_types(merged.weight.dtype, torch.float32)
        a, b, weight = (p.to(wide) for p in (module.a, module.b, merged.weight))
        merged.weight.copy_(weight + module.scale * b @ a)
        if not merged.weight.is_meta and not merged.weight.isfinite().all():
            raise ValueError(f"merged weights of {module.linear} are not finite: has the training diverged?")
        return merged
    model = copy.deepcopy(module)
    layers: dict[nn.Module, nn.Module] = {}  # a shared layer stays shared
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, LoRALinear):
                layers[child] = layers.get(child) or merge_lora(child)
                setattr(parent, name, layers[child])
    return model

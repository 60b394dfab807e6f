"""Int8 weights: every number of a matrix in one byte, with one scale per row."""

import copy
from typing import TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int8
from torch import Tensor, nn

Module = TypeVar("Module", bound=nn.Module)


def quantize_rows(
    weight: Float[Tensor, "rows columns"], bits: int = 8
) -> tuple[Int8[Tensor, "rows columns"], Float[Tensor, "rows 1"]]:
    """Absmax quantization: integers, and one scale per row with which weight ≈ integers · scale.

    The largest number of each row becomes ±(2^(bits−1) − 1), so no weight is off by more than scale / 2.
    bits: 2 to 8; the integers take one byte in any case. A row of zeros gets the scale 1.
    Raises ValueError for other bits.
    Source: Dettmers et al. 2022, section 2.
    """
    if not 2 <= bits <= 8:
        raise ValueError(f"bits={bits} is outside 2 to 8")
    largest = weight.abs().amax(dim=1, keepdim=True)
    scale = torch.where(largest > 0, largest / (2 ** (bits - 1) - 1), torch.ones_like(largest))
    return (weight / scale).round().to(torch.int8), scale


class Int8Linear(nn.Module):
    """Linear layer with int8 weights, for inference: y = x (integers · scale)ᵀ + bias.

    It multiplies in the type of x, so it saves memory, not arithmetic. bits: as in `quantize_rows`.
    """

    integers: Tensor
    scale: Tensor

    def __init__(self, linear: nn.Linear, bits: int = 8) -> None:
        super().__init__()
        integers, scale = quantize_rows(linear.weight.detach(), bits)
        self.register_buffer("integers", integers)
        self.register_buffer("scale", scale)
        self.bias = linear.bias

    def forward(self, x: Float[Tensor, "*batch columns"]) -> Float[Tensor, "*batch rows"]:
        """Scale the outputs rather than the weights: there are fewer of them."""
        y = F.linear(x, self.integers.to(x.dtype)) * self.scale.squeeze(1)
        return y if self.bias is None else y + self.bias


def quantize_linears(model: Module, bits: int = 8) -> Module:
    """A copy of the model whose linear layers have int8 weights; embeddings and norms stay as they are."""
    model = copy.deepcopy(model)
    parents = [(parent, name) for parent in model.modules() for name, _ in parent.named_children()]
    for parent, name in parents:
        if isinstance(layer := getattr(parent, name), nn.Linear):
            setattr(parent, name, Int8Linear(layer, bits))
    return model

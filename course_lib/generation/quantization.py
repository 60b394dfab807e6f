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
    bits: 2 to 8; the integers take one byte in any case. A row of zeros gets the scale 1. Scales are in
    fp32 or better, even of weights in half precision.
    Raises ValueError for other bits, and for weights that are not finite.
    Source: Dettmers et al. 2022, section 2.

    >>> integers, scale = quantize_rows(torch.tensor([[254.0, -20.0], [0.0, 127.0]]))
    >>> integers.tolist(), scale.tolist()
    ([[127, -10], [0, 127]], [[2.0], [1.0]])
    """
    if not isinstance(bits, int) or isinstance(bits, bool) or not 2 <= bits <= 8:
        raise ValueError(f"bits={bits} is not a whole number from 2 to 8")
    if not weight.isfinite().all():
        raise ValueError(
            f"{int((~weight.isfinite()).sum())} weights are not finite, and int8 has no such value"
        )
    weight, most = weight.to(torch.promote_types(weight.dtype, torch.float32)), 2 ** (bits - 1) - 1
    largest = weight.abs().amax(dim=1, keepdim=True)
    scale = (largest / most).clamp(min=torch.finfo(weight.dtype).tiny)  # a smaller number is not precise
    scale = torch.where(largest > 0, scale, torch.ones_like(largest))
    return (weight / scale).round().clamp(-most, most).to(torch.int8), scale


class Int8Linear(nn.Module):
    """Linear layer with int8 weights, for inference: y = x (integers · scale)ᵀ + bias.

    It multiplies in the type of x, so it saves memory, not arithmetic. bits: as in `quantize_rows`.

    >>> from torch import nn
    >>> Int8Linear(nn.Linear(8, 4)).integers.dtype
    torch.int8
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
        if x.dtype == torch.float16:  # its largest number is too small for sums of products with integers
            return F.linear(x, (self.integers * self.scale).to(x.dtype), self.bias)
        y = (F.linear(x, self.integers.to(x.dtype)) * self.scale.squeeze(1)).to(x.dtype)
        return y if self.bias is None else y + self.bias


def quantize_linears(model: Module, bits: int = 8) -> Module:
    """A copy of the model whose linear layers have int8 weights; embeddings and norms stay as they are.

    >>> from torch import nn
    >>> quantize_linears(nn.Sequential(nn.Linear(8, 4), nn.ReLU()))
    Sequential(
      (0): Int8Linear()
      (1): ReLU()
    )
    """
    model = copy.deepcopy(model)
    if isinstance(model, nn.Linear):
        return Int8Linear(model, bits)  # type: ignore[return-value]
    parents = [(parent, name) for parent in model.modules() for name, _ in parent.named_children()]
    for parent, name in parents:
        if isinstance(layer := getattr(parent, name), nn.Linear):
            setattr(parent, name, Int8Linear(layer, bits))
    return model

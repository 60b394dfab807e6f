"""Linear layers, with the faster of PyTorch's two libraries for matrix products on a CPU."""

from functools import cache
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.utils.flop_counter import register_flop_formula

from course_lib.utils import machine

LARGE = 2**21  # multiplications of a matrix product for which oneDNN saves more time than the call takes


class Linear(nn.Linear):
    """`nn.Linear`, computed by `linear`."""

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        return linear(x, self.weight, self.bias)


def linear(
    x: Float[Tensor, "*batch d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch d_out"]:
    """`F.linear`, x Wᵀ + b; in fp32 on some CPUs twice as fast, and equal up to rounding."""
    if x.device.type == weight.device.type == "cpu" and faster_with_onednn(x, weight):
        return OneDNNLinear.apply(x.reshape(-1, x.shape[-1]), weight, bias).view(*x.shape[:-1], len(weight))
    return F.linear(x, weight, bias)


def faster_with_onednn(x: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN multiplies these faster than `F.linear` does, on a CPU."""
    return (
        x.dtype == weight.dtype == torch.float32
        and x.numel() * len(weight) >= LARGE
        and x.shape[-1] == weight.shape[1]  # otherwise `F.linear` says what is wrong
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()  # the compiler chooses by itself
        and mkl_is_slow()
    )


@cache
def mkl_is_slow() -> bool:
    """Whether `F.linear` multiplies with MKL, and MKL uses only half of the processor.

    On AMD's processors, MKL (2024) does not use the vector instructions of 512 bits; oneDNN does.
    """
    return (
        "AVX512" in torch.backends.cpu.get_cpu_capability()
        and "AMD" in machine.processor()
        and torch.backends.mkl.is_available()
        and onednn_is_there()
    )


def onednn_is_there() -> bool:
    """Whether PyTorch has oneDNN, and the operator through which its own compiler calls it."""
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def product(
    a: Float[Tensor, "rows inner"],
    b: Float[Tensor, "columns inner"],
    bias: Float[Tensor, " columns"] | None = None,
) -> Float[Tensor, "rows columns"]:
    """a bᵀ + bias, by oneDNN, without gradients."""
    return torch.ops.mkldnn._linear_pointwise(a, b, bias, "none", [], "")


class OneDNNLinear(torch.autograd.Function):
    """x Wᵀ + b by oneDNN. From a gradient g, x gets g W, W gets gᵀ x, and b the sum of the rows of g."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return product(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        for_x, for_weight, for_bias = ctx.needs_input_grad
        return (
            product(g, weight.t()) if for_x else None,
            product(x.t(), g.t()).t() if for_weight else None,
            g.sum(dim=0) if for_bias else None,
        )


if onednn_is_there():  # so that `FlopCounterMode` counts these products like any others

    @register_flop_formula(torch.ops.mkldnn._linear_pointwise)
    def flops(a: torch.Size, b: torch.Size, *rest: Any, **more: Any) -> int:
        """Floating-point operations of `product`: multiplications and additions."""
        return 2 * prod(a) * b[0]

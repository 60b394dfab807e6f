"""Which floating-point format a device computes fastest in."""

import copy
import time
from contextlib import AbstractContextManager
from functools import cache

import torch
from torch import nn

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def autocast(device: torch.device, precision: str) -> AbstractContextManager:
    """Matrix products in this format within the block; weights stay in float32."""
    dtype = DTYPES.get(precision, torch.bfloat16)
    return torch.autocast(device.type, dtype, enabled=precision in DTYPES)


def for_inference(model: nn.Module, precision: str) -> nn.Module:
    """The model itself, or for "bf16" and "fp16" a copy whose weights have that format.

    Under `autocast` every step would read the weights in float32 and convert them again.
    """
    return copy.deepcopy(model).to(DTYPES[precision]) if precision in DTYPES else model


def choose_precision(precision: str, device: torch.device) -> str:
    """`precision` itself, or for "auto" the best one that the device supports without emulation.

    CUDA: bf16, on older GPUs fp16. CPU: bf16 where a matrix product in it is measurably faster. Others: fp32.
    Raises ValueError for an unknown name, and for fp16 on a CPU, where it is slower than fp32.
    """
    if precision not in ("auto", "fp32", *DTYPES):
        raise ValueError(f"precision={precision!r} is none of auto, fp32, bf16, fp16")
    if precision == "fp16" and device.type == "cpu":
        raise ValueError("precision='fp16' is for GPUs, but the device is a cpu: take auto, bf16 or fp32")
    if precision != "auto":
        return precision
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"
    return "bf16" if device.type == "cpu" and bf16_gain() > 1.5 else "fp32"


@cache
def bf16_gain(size: int = 512, repeats: int = 7) -> float:
    """How many times faster this CPU multiplies matrices in bf16 than in fp32 (best of some tries)."""

    def seconds(x: torch.Tensor) -> float:
        begin = time.perf_counter()
        x @ x
        return time.perf_counter() - begin

    wide = torch.randn(size, size, generator=torch.Generator())  # of its own: nothing else may depend on it
    narrow = wide.bfloat16()
    times = [(seconds(wide), seconds(narrow)) for _ in range(repeats)]
    return min(w for w, _ in times) / min(n for _, n in times)

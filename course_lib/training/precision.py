"""Mixed precision: autocast, half-precision inference, and the choice of the format."""

import copy
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar

import torch
from torch import nn

from course_lib.layers.attention import cpu_bf16_attention

Model = TypeVar("Model", bound=nn.Module)

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def autocast(device: torch.device, precision: str) -> AbstractContextManager:
    """Mixed precision within the `with` block: matrix products in this format, weights in fp32."""
    dtype = DTYPES.get(precision, torch.bfloat16)
    return torch.autocast(device.type, dtype, enabled=precision in DTYPES)


def for_inference(model: Model, precision: str) -> Model:
    """The model itself for "fp32"; for "bf16" and "fp16", a copy with weights in that format.

    `autocast` would convert the weights again in every step.
    """
    if precision not in DTYPES:
        return model
    return with_cpu_bf16_attention(copy.deepcopy(model).to(DTYPES[precision]))


def with_cpu_bf16_attention(model: Model) -> Model:
    """Make the model's attention layers use `cpu_bf16_attention`; return the model."""
    modules: Iterator[Any] = model.modules()
    for module in modules:
        if hasattr(module, "attend"):
            module.attend = cpu_bf16_attention
    return model


def choose_precision(precision: str, device: torch.device) -> str:
    """Resolve "auto" to the fastest format that the device supports without emulation.

    CUDA: bf16, or fp16 on older GPUs. CPU: bf16 if a matrix product in it is measurably faster. Others: fp32.
    Raises ValueError for an unknown name, and for fp16 on a CPU, where it is slower than fp32.
    """
    if precision not in ("auto", "fp32", *DTYPES):
        raise ValueError(f"precision={precision!r} is none of auto, fp32, bf16, fp16")
    if precision == "fp16" and device.type == "cpu":
        raise ValueError("precision='fp16' is for GPUs, but the device is a cpu: use auto, bf16 or fp32")
    if precision != "auto":
        return precision
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"
    return "bf16" if device.type == "cpu" and bf16_gain() > 1.5 else "fp32"


@cache
def bf16_gain(size: int = 512, repeats: int = 7) -> float:
    """Speedup of matrix products in bf16 over fp32 on this CPU (best of `repeats` tries)."""

    def seconds(x: torch.Tensor) -> float:
        begin = time.perf_counter()
        x @ x
        return time.perf_counter() - begin

    wide = torch.randn(size, size, generator=torch.Generator())  # not the global one
    narrow = wide.bfloat16()
    times = [(seconds(wide), seconds(narrow)) for _ in range(repeats)]
    return min(w for w, _ in times) / min(n for _, n in times)

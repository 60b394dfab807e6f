"""Mixed precision: autocast, half-precision inference, and the choice of the format."""

import copy
from contextlib import AbstractContextManager
from typing import TypeVar

import torch
from torch import nn

from course_lib.utils.device import multiplies_bf16

Model = TypeVar("Model", bound=nn.Module)

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def autocast(device: torch.device, precision: str) -> AbstractContextManager:
    """Mixed precision within the `with` block: matrix products in this format, weights in fp32.

    Raises ValueError for an unknown name; "auto" is resolved by `choose_precision`.

    >>> with autocast(torch.device("cpu"), "bf16"):
    ...     (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
    torch.bfloat16
    """
    return torch.autocast(device.type, dtype_of(precision), enabled=precision != "fp32")


def for_inference(model: Model, precision: str) -> Model:
    """The model itself for "fp32"; for "bf16" and "fp16", a copy with weights in that format.

    `autocast` would convert the weights again in every step. Raises ValueError as `autocast` does.
    """
    dtype = dtype_of(precision)
    return model if precision == "fp32" else copy.deepcopy(model).to(dtype)


def dtype_of(precision: str) -> torch.dtype:
    """The format of this name. Raises ValueError if there is none."""
    if precision not in DTYPES:
        raise ValueError(f"precision={precision!r} is none of {', '.join(DTYPES)}")
    return DTYPES[precision]


def choose_precision(precision: str, device: torch.device) -> str:
    """Resolve "auto": the format depends on the device alone, so that a seed always gives the same losses.

    CUDA: bf16, or fp16 on older GPUs, which only emulate bf16; both also need less memory than fp32. A CPU
    and other devices: fp32, the most exact one.
    Raises ValueError for an unknown name, and for fp16 on a CPU, where it is slower than fp32.

    >>> choose_precision("auto", torch.device("cpu"))
    'fp32'
    """
    if precision == "auto":
        if device.type != "cuda":
            return "fp32"
        return "bf16" if multiplies_bf16(device) else "fp16"
    dtype_of(precision)
    if precision == "fp16" and device.type == "cpu":
        raise ValueError("precision='fp16' is for GPUs, but the device is a cpu: use auto, bf16 or fp32")
    return precision

"""Devices: what PyTorch computes on. The only module that calls `torch.cuda` and its relatives."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from course_lib.utils.missing_names import advise_on_missing_names

if TYPE_CHECKING:
    import torch
    from torch import Tensor

KINDS = ("cuda", "mps", "xpu")  # of devices, in addition to the CPU
LOWER = "lower the batch size (accumulate=2 keeps its effect), d_model, or the number of tokens"
NAME = re.compile(rf"cpu|({'|'.join(KINDS)})(:\d{{1,2}})?", re.ASCII)


def best_device() -> torch.device:
    """The device to train on: a GPU (CUDA, Apple's MPS, Intel's XPU) if PyTorch finds one, otherwise the CPU.

    The environment variable COURSE_DEVICE overrides the choice: "cpu", "cuda", "cuda:1", "mps" or "xpu".
    Raises ValueError if it names no device, or one that this machine does not have.

    >>> import os
    >>> os.environ["COURSE_DEVICE"] = "cpu"
    >>> best_device()
    device(type='cpu')
    >>> del os.environ["COURSE_DEVICE"]
    """
    import torch

    if chosen := os.environ.get("COURSE_DEVICE"):
        require_device(chosen, "COURSE_DEVICE")
        return torch.device(chosen)
    return torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")


def require_device(name: str | None, field: str) -> None:
    """Raise ValueError if `name` names no device, or one that this machine lacks; None: the default."""
    if name in (None, "cpu"):
        return
    kind, _, index = name.partition(":")
    if not NAME.fullmatch(name) or f"{kind}:{int(index or 0)}" not in devices_here():
        raise ValueError(f"{field}={name[:40]!r}: this machine has {', '.join(devices_here())}")


def devices_here() -> list[str]:
    """The devices of this machine: "cpu", then "cuda:0", …"""
    import torch

    counts = {kind: getattr(torch, kind).device_count() for kind in KINDS}
    return ["cpu", *(f"{kind}:{number}" for kind in KINDS for number in range(counts[kind]))]


def device_name(device: torch.device | str) -> str:
    """The name of a GPU, such as "Tesla T4"; its kind where PyTorch knows none, as for Apple's ("mps")."""
    import torch

    kind = str(device).partition(":")[0]
    name = getattr(getattr(torch, kind, None), "get_device_name", None)
    return name(device) if name else kind


def memory(device: torch.device | str) -> str:
    """How much memory a CUDA device has; "" for others."""
    import torch

    cuda = str(device).startswith("cuda")
    return f"{torch.cuda.get_device_properties(device).total_memory / 2**30:.0f} GiB" if cuda else ""


def multiplies_bf16(device: torch.device | str) -> bool:
    """Whether products in bf16 are fast: NVIDIA's GPUs before Ampere only emulate them, slower than fp32."""
    import torch

    return not str(device).startswith("cuda") or torch.cuda.is_bf16_supported(including_emulation=False)


def wait_for(device: torch.device | str) -> None:
    """Wait until a GPU has done its work; a clock read earlier says only how fast the work was launched."""
    import torch

    if not str(device).startswith("cpu"):
        torch.accelerator.synchronize(device)


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on the device. The host does not wait for the copy, nor for what the device computes.

    CUDA needs pinned memory for that: from any other, it copies only once its queue is empty.
    """
    pinned = device.type == "cuda" and tensor.device.type == "cpu"
    return (tensor.pin_memory() if pinned else tensor).to(device, non_blocking=True)


def lacks_memory(problem: BaseException) -> bool:
    """Whether a device is out of memory; on CPUs PyTorch raises a plain RuntimeError."""
    pytorch = isinstance(problem, RuntimeError) and re.search("out of memory|allocate memory", str(problem))
    return isinstance(problem, MemoryError) or bool(pytorch)


def what_to_lower(problem: BaseException) -> str:
    """One line about a lack of memory: how much was needed, and what to lower."""
    said = str(problem).partition("\n")[0]
    return said if LOWER in said else f"not enough memory: {LOWER} ({'. '.join(said.split('. ')[:2])})"


@contextmanager
def memory_errors() -> Iterator[None]:
    """Within the block, or the function, that this is put around, a lack of memory says what to lower."""
    try:
        yield
    except (RuntimeError, MemoryError) as problem:
        if not lacks_memory(problem):
            raise
        import torch

        raise torch.OutOfMemoryError(what_to_lower(problem)) from problem


def on_colab() -> bool:
    """Whether this machine is a Colab runtime."""
    return any(name.startswith("COLAB_") for name in os.environ)


def device_summary() -> str:
    """One line for the top of a notebook: the best device, and on Colab how to get a GPU.

    From then on, a cell that lacks a name says which cells to run first.
    """
    advise_on_missing_names()
    if (device := best_device()).type != "cpu":
        return f"≈ device: {device_name(device)} (GPU)"
    hint = "; for a GPU: Runtime → Change runtime type" if on_colab() else ""
    return f"≈ device: CPU, {os.cpu_count()} cores{hint}"


def suggest_gpu(device: torch.device, *, here: str, gpu: str) -> None:
    """Before a training cell on Colab's CPU: say which runtime to choose.

    Elsewhere, it prints nothing.
    here, gpu: about how long the cell takes on two slow cores, and on a T4 with what it trains there.

    >>> import torch
    >>> suggest_gpu(torch.device("cpu"), here="20 s", gpu="10 s")  # this is not Colab
    """
    if on_colab() and device.type == "cpu":
        print(
            f"≈ about {here} on this CPU. With a GPU, this cell trains more, in about {gpu} (an estimate): "
            "Runtime → Change runtime type → T4 GPU"
        )


@cache
def busy_note() -> str:
    """What to say where other processes keep more than half of the cores busy; "" otherwise.

    It is measured once, for half a second in which this process does nothing.
    """
    import psutil

    cores = os.cpu_count() or 1
    busy = cores * psutil.cpu_percent(0.5) / 100
    return f"other processes keep {busy:.1f} of {cores} cores busy" if busy > cores / 2 else ""

"""Devices: what PyTorch computes on. The only module that asks which of them this machine has."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

KINDS = ("cuda", "mps", "xpu")  # of devices, in addition to the CPU
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
    import torch

    counts = {kind: getattr(torch, kind).device_count() for kind in KINDS}
    kind, _, index = name.partition(":")
    if not NAME.fullmatch(name) or int(index or 0) >= counts[kind]:
        there = ["cpu", *(f"{kind}:{i}" for kind in KINDS for i in range(counts[kind]))]
        raise ValueError(f"{field}={name[:40]!r}: this machine has {', '.join(there)}")


def on_colab() -> bool:
    """Whether this machine is a Colab runtime."""
    return any(name.startswith("COLAB_") for name in os.environ)


def device_summary() -> str:
    """One line for the top of a notebook: the device, and on Colab how to get a GPU."""
    import torch

    if torch.cuda.is_available():
        return f"≈ device: {torch.cuda.get_device_name()} (GPU)"
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

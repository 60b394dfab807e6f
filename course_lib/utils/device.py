"""Devices: what PyTorch computes on."""

import os
from functools import cache


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


@cache
def busy_note() -> str:
    """What to say where other processes keep more than half of the cores busy; "" otherwise.

    It is measured once, for half a second in which this process does nothing.
    """
    import psutil

    cores = os.cpu_count() or 1
    busy = cores * psutil.cpu_percent(0.5) / 100
    return f"other processes keep {busy:.1f} of {cores} cores busy" if busy > cores / 2 else ""

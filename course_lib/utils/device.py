"""Devices: what PyTorch computes on."""

import os


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

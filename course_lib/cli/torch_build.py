"""Which build of PyTorch to install: on Linux without an NVIDIA GPU, the CPU build if available.

Standard library only. On Linux, PyPI carries PyTorch built for CUDA: several GB that a machine without a GPU
cannot use. PyTorch's own index has a CPU build (https://pytorch.org/get-started/locally). We ask pip
itself what it finds, so the user's pip settings, proxies and mirrors apply.
"""

import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib.cli import pip

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
CPU_GB, CUDA_GB = 3, 8  # the environment (measured: 1.9 and 5.6) and the wheels it comes from
CPU_WHEELS_GB, CUDA_WHEELS_GB = 0.2, 2.4
SECONDS = 60  # how long an index may take to answer


@dataclass(frozen=True)
class Build:
    """A build of PyTorch: its name, pip's options that select it, and the GB of disk an environment takes."""

    name: str
    gb: int
    options: tuple[str, ...] = ()

    @property
    def wheels_gb(self) -> float:
        """GB to download for PyTorch and what it requires."""
        return CPU_WHEELS_GB if self.gb == CPU_GB else CUDA_WHEELS_GB


def choose(python: Path, requirement: str) -> Build:
    """The build of `requirement`, such as "torch==2.13.0", that fits this machine. `python` runs pip.

    Prints one line if the CPU build would fit but is not available.
    """
    if sys.platform != "linux":
        return Build("from PyPI", CPU_GB)
    if has_nvidia_gpu():
        return Build("with CUDA", CUDA_GB)
    for options in ((), ("--extra-index-url", CPU_INDEX)):
        if is_offered(python, requirement, options):
            return Build("CPU build", CPU_GB, options)
    print(f"  {CPU_INDEX} offers no CPU build here: installing the larger CUDA build", flush=True)
    return Build("with CUDA", CUDA_GB)


def mac() -> str | None:
    """The kind of Mac that PyTorch has no build for: "Intel", or "Rosetta" for a Python that imitates one."""
    if sys.platform != "darwin" or platform.machine() != "x86_64":
        return None
    return "Rosetta" if "ARM64" in platform.version() else "Intel"  # the kernel's own name does not imitate


def has_nvidia_gpu() -> bool:
    """Whether this machine has an NVIDIA GPU with a working driver."""
    if any(Path("/dev").glob("nvidia[0-9]*")):
        return True
    command = shutil.which("nvidia-smi")
    if not command:
        return False
    try:
        listed = subprocess.run([command, "-L"], capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return listed.returncode == 0 and "GPU" in listed.stdout


def is_offered(python: Path, requirement: str, options: Sequence[str] = ()) -> bool:
    """Whether pip, with these options, finds a wheel of the CPU build ("2.13.0+cpu") for this Python."""
    name, _, version = requirement.partition("==")
    found = pip.versions(python, name, options, SECONDS)
    return f"{version}+cpu" in found

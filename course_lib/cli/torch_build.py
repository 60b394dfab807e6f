"""Which build of PyTorch to install: on Linux without an NVIDIA GPU, the CPU build if available.

Standard library only. On Linux, PyPI carries PyTorch built for CUDA: several GB that a machine without a GPU
cannot use. PyTorch's own index has a CPU build (https://pytorch.org/get-started/locally). We ask pip
itself what it finds, so the user's pip settings, proxies and mirrors apply.
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from course_lib.cli import pip

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
SECONDS = 60  # how long an index may take to answer


class Build(NamedTuple):
    """A build of PyTorch: its name, the GB that an environment and its download take, and pip's options."""

    name: str
    gb: int  # on the disk, with the wheels; measured without them: 1.9 for the CPU, 5.6 for CUDA
    wheels_gb: float
    options: tuple[str, ...] = ()


CPU, CUDA = Build("CPU build", 3, 0.2), Build("with CUDA", 8, 2.4)


def choose(python: Path, requirement: str) -> Build:
    """The build of `requirement`, such as "torch==2.13.0", that fits this machine. `python` runs pip."""
    if sys.platform != "linux":
        return CPU._replace(name="from PyPI")
    if has_nvidia_gpu():
        return CUDA
    for options in ((), ("--extra-index-url", CPU_INDEX)):
        if is_offered(python, requirement, options):
            return CPU._replace(options=options)
    print(f"  {CPU_INDEX} offers no CPU build here: installing the larger CUDA build", flush=True)
    return CUDA


def has_nvidia_gpu() -> bool:
    """Whether this machine has an NVIDIA GPU with a working driver."""
    if any(Path("/dev").glob("nvidia[0-9]*")):
        return True
    if not (command := shutil.which("nvidia-smi")):
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

"""Facts about the machine, to store with a measurement."""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import torch

from course_lib.utils.device import device_name


def describe(device: str) -> dict[str, str | int]:
    """Processor, cores, threads, versions, and the GPU if it is the device."""
    facts: dict[str, str | int] = {
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    if torch.device(device).type != "cpu":
        name = device_name(device)  # Apple's GPUs have the name of their processor
        facts |= {
            "gpu": f"{processor()} mps" if name == "mps" else name,
            "cuda": torch.version.cuda or "none",
        }
    return facts


def processor() -> str:
    """The name of the processor."""
    if sys.platform == "linux":
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        found = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", text, re.MULTILINE)
        return found[1].strip() if found else platform.machine()
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stdout.strip() or platform.machine()
    return platform.processor() or platform.machine()


def file_name(facts: dict[str, str | int]) -> str:
    """A file name for this kind of machine, such as amd-epyc-2-cores.json or nvidia-h200.json."""
    name = facts.get("gpu") or f"{facts['processor']} {facts['cores']} cores"
    return re.sub(r"[^a-z0-9]+", "-", str(name).lower()).strip("-") + ".json"

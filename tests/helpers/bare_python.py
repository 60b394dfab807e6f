"""This Python without site-packages, and outside any environment: what a newcomer's Python has."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def bare(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
    """What it prints and returns in the repository, for these arguments and environment variables."""
    kept = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH")}
    command, env = [sys.executable, "-S", *arguments], kept | {"PYTHONUTF8": "1"} | variables
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, encoding="utf-8")

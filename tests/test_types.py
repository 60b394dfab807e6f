"""The annotations of the packages that pyproject.toml names are right, as far as mypy can tell."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def mypy(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess:
    """The cache is `.mypy_cache` in the folder: only what has changed is checked again."""
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--no-pretty", *arguments], cwd=folder, capture_output=True, text=True
    )


def test_mypy_finds_no_error():
    done = mypy()
    if done.returncode:
        pytest.fail(f"{done.stdout[-3000:]}{done.stderr[-1000:]}\npython -m mypy", pytrace=False)


def test_mypy_would_find_one(tmp_path):
    """With the settings of pyproject.toml, in a function without annotations, too."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "wrong.py").write_text("def f():\n    return 1 + 'a'\n")
    done = mypy("wrong.py", folder=tmp_path)
    assert done.returncode == 1 and "wrong.py:2: error: Unsupported operand types" in done.stdout

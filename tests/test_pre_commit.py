"""The hooks of .pre-commit-config.yaml are valid, and each command does what it is there for."""

import subprocess
import sys
from pathlib import Path

import nbformat
import yaml

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / ".pre-commit-config.yaml"
HOOKS = {
    hook["id"]: hook for repo in yaml.safe_load(CONFIG.read_text("utf-8"))["repos"] for hook in repo["hooks"]
}


def run(hook: str, *files: Path) -> subprocess.CompletedProcess:
    program, *arguments = HOOKS[hook]["entry"].split()
    assert program == "python"
    command = [sys.executable, *arguments, *map(str, files)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_pre_commit_accepts_the_configuration():
    command = [sys.executable, "-m", "pre_commit", "validate-config", str(CONFIG)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_hook_runs_in_the_environment_of_the_course():
    assert {hook["language"] for hook in HOOKS.values()} == {"system"}


def test_ruff_complains(tmp_path):
    (tmp_path / "one.py").write_text("import os\n")
    done = run("ruff", tmp_path / "one.py")
    assert done.returncode == 1 and "F401" in done.stdout


def test_ruff_formats(tmp_path):
    (tmp_path / "one.py").write_text("x=1\n")
    assert run("ruff-format", tmp_path / "one.py").returncode == 0
    assert (tmp_path / "one.py").read_text() == "x = 1\n"


def test_notebooks_are_cleaned_without_running(tmp_path):
    stored = ROOT / "notebooks" / "instructor.ipynb"
    nb = nbformat.read(stored, as_version=4)
    nb.metadata.language_info.version = "3.11.7"
    nb.cells[0].metadata.execution = {"shell.execute_reply": "2026-01-01T00:00:00Z"}
    nbformat.write(nb, tmp_path / stored.name)
    done = run("notebooks", tmp_path / stored.name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / stored.name).read_bytes() == stored.read_bytes()


def test_mypy_is_the_whole_check_of_the_tests():
    assert HOOKS["mypy"]["entry"] == "python -m mypy" and not HOOKS["mypy"]["pass_filenames"]

"""What the setup cell says in a kernel that cannot run the course."""

import sys

import matplotlib
import pytest

from course_lib.cli import first_cell, requirements
from course_lib.utils import device


def fails_with(problem: BaseException, monkeypatch) -> str:
    """What `start` raises where loading PyTorch raises `problem`."""

    def broken():
        raise problem

    monkeypatch.setattr(device, "device_summary", broken)
    with matplotlib.rc_context(), pytest.raises(Exception) as caught:
        first_cell.start()
    return str(caught.value)


def test_a_python_that_is_too_old_is_named(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    with pytest.raises(RuntimeError, match="3.11 or newer.*python -m course_lib lab") as caught:
        first_cell.start()
    assert sys.executable in str(caught.value) and ".venv" in str(caught.value)


def test_what_a_kernel_lacks_is_named_with_the_kernel_to_choose(monkeypatch):
    monkeypatch.setattr(requirements, "missing", lambda extras=(): ["torch>=2.11 (not installed)"])
    said = fails_with(ModuleNotFoundError("No module named 'torch'"), monkeypatch)
    assert "lacks torch>=2.11 (not installed)" in said and sys.executable in said and ".venv" in said


def test_windows_without_the_runtime_of_c_plus_plus(monkeypatch):
    text = '[WinError 126] The specified module could not be found. Error loading "C:\\\\torch\\\\c10.dll"'
    said = fails_with(OSError(text), monkeypatch)
    assert first_cell.RUNTIME in said and "WinError 126" in said


def test_a_file_that_takes_the_place_of_torch_is_named(monkeypatch, tmp_path):
    """A student's own torch.py beside the notebook."""
    (tmp_path / "torch.py").write_text("x = 1", encoding="utf-8")
    (tmp_path / "random.py").write_text("x = 1", encoding="utf-8")  # harmless: nothing has loaded it
    monkeypatch.chdir(tmp_path)
    problem = AttributeError("module 'torch' has no attribute 'cuda'")
    assert first_cell.explanation(problem) is None
    monkeypatch.setitem(sys.modules, "torch", type("Module", (), {"__file__": str(tmp_path / "torch.py")}))
    assert f"{tmp_path / 'torch.py'} takes the place" in fails_with(problem, monkeypatch)


def test_other_errors_are_left_alone(monkeypatch):
    said = "COURSE_DEVICE='x': this machine has cpu"
    assert fails_with(ValueError(said), monkeypatch) == said

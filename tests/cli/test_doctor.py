"""`doctor` and `data`: what they say, above all where something is missing."""

import os
import sys
import types
from argparse import Namespace

import pytest
from helpers.bare_python import bare

from course_lib import datasets
from course_lib.cli import data, doctor, environment, requirements, runs, venv
from course_lib.utils.device import busy_note


def said(look) -> str:
    return "\n".join(str(finding) for finding in look())


@pytest.fixture
def here(monkeypatch):
    """Take this Python for an activated environment, so that doctor looks at it."""
    monkeypatch.setattr(environment, "activated", lambda: True)
    monkeypatch.setattr(venv, "is_ready", lambda: False)


def test_a_bare_python_is_told_the_one_command(tmp_path):
    """A Python without packages, before there is a `.venv`."""
    code = (
        "from pathlib import Path; from course_lib.cli import venv, doctor\n"
        f"venv.VENV = Path({str(tmp_path / '.venv')!r}); raise SystemExit(doctor.run(None))"
    )
    result = bare("-c", code)
    assert result.returncode == 1, result.stderr
    assert "MISSING  packages: torch>=2.11" in result.stdout
    assert "→ python -m course_lib lab" in result.stdout


def test_all_is_well_here(here, capsys):
    assert doctor.run(Namespace()) == 0
    report = capsys.readouterr().out
    for name in ("Python 3.", "torch ", "ipywidgets ", "ipython ", "data set grammar"):
        assert f"ok       {name}" in report, name


def test_a_package_too_old_is_named_with_its_fix(here, monkeypatch, capsys):
    monkeypatch.setattr(requirements, "missing", lambda extras=(): ["numpy>=2.0 (here 1.26.4)"])
    monkeypatch.setattr(venv, "is_current", lambda: True)
    assert doctor.run(Namespace()) == 1
    report = capsys.readouterr().out
    assert "MISSING  numpy>=2.0 (here 1.26.4)" in report and '-m pip install "numpy>=2.0"' in report


def test_idle_threads_of_kernels_sleep_unless_the_user_says_otherwise(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert environment.child_environment()["OMP_WAIT_POLICY"] == "PASSIVE"
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    assert environment.child_environment()["OMP_WAIT_POLICY"] == "ACTIVE"


@pytest.mark.parametrize(("percent", "busy"), [(90, True), (51, True), (49, False)])
def test_busy_cores_are_a_note(monkeypatch, percent, busy):
    busy_note.cache_clear()
    monkeypatch.setattr("psutil.cpu_percent", lambda seconds: percent)
    monkeypatch.setattr(os, "cpu_count", lambda: 10)
    (finding,) = doctor.company()
    busy_note.cache_clear()
    assert bool(finding.fix) == busy and (f"{percent / 10} of 10 cores busy" in finding.text) == busy


def test_on_colab_the_fix_is_for_a_cell(monkeypatch):
    monkeypatch.setenv("COLAB_RELEASE_TAG", "release")
    assert doctor.kind() == "Google Colab" and doctor.install() == "%pip install"


def fake_torch(available: bool, native_bf16: bool = True) -> types.ModuleType:
    cuda = Namespace(
        device_count=lambda: int(available),
        get_device_name=lambda number: "Tesla T4",
        get_device_properties=lambda number: Namespace(total_memory=15 * 2**30),
        is_bf16_supported=lambda including_emulation: native_bf16 or including_emulation,
    )
    torch = types.ModuleType("torch")
    torch.mps = torch.xpu = Namespace(device_count=lambda: 0)
    torch.cuda, torch.__version__ = cuda, "2.13.0+cpu"
    return torch


def test_a_device_is_shown_with_its_memory_and_true_bf16(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", fake_torch(True, native_bf16=False))
    report = said(doctor.graphics)
    assert "cuda:0: Tesla T4, 15 GiB" in report and "bf16 is only emulated" in report


def test_a_device_that_torch_does_not_reach_is_a_problem(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", fake_torch(False))
    monkeypatch.setattr(doctor.shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    monkeypatch.setattr(doctor.venv, "is_current", lambda: False)
    assert "pytorch.org/get-started" in said(doctor.graphics)
    monkeypatch.setattr(doctor.venv, "is_current", lambda: True)
    assert "delete .venv and run" in said(doctor.graphics)


def test_a_broken_torch_is_a_finding(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    (finding,) = doctor.graphics()
    assert finding.required and "does not load" in finding.text


def test_a_set_that_is_not_here_is_not_fetched(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
    monkeypatch.delenv("COURSE_DATA", raising=False)
    assert "python -m course_lib data spa-eng" in said(doctor.data)
    assert not list(tmp_path.iterdir())


def test_data_lists_every_set(capsys):
    assert data.run(Namespace(names=[])) == 0
    report = capsys.readouterr().out
    for name, entry in datasets.list_datasets().items():
        assert f"{name}\n  what     {entry.about}" in report and entry.license in report


def test_data_refuses_a_damaged_file_and_an_unknown_name(monkeypatch, tmp_path, capsys):
    (tmp_path / "d2l").mkdir()
    (tmp_path / "d2l" / "fra-eng.zip").write_bytes(b"not a zip")
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    assert data.run(Namespace(names=["fra-eng", "grammar", "no-such-set"])) == 1
    out, err = capsys.readouterr()
    assert "fra-eng.zip" in err and "'no-such-set'" in err and "grammar: part of the course" in out


@pytest.mark.real_data
def test_data_verifies_the_real_sets(capsys):
    assert data.run(Namespace(names=["spa-eng", "fra-eng"])) == 0
    assert capsys.readouterr().out.count("verified by SHA-256") == 2


def test_a_file_in_place_of_pythons_own_module_is_named(monkeypatch, tmp_path):
    (tmp_path / "tempfile.py").touch()
    (tmp_path / "mine.py").touch()
    monkeypatch.chdir(tmp_path)
    assert f"note     {tmp_path / 'tempfile.py'} takes the place" in said(doctor.place)
    assert "mine.py" not in said(doctor.place)


def test_a_folder_of_runs_that_cannot_be_read_is_not_called_empty(monkeypatch, tmp_path, capsys):
    def walk(folder, onerror):
        onerror(PermissionError(13, "Permission denied", str(folder)))
        return iter(())

    monkeypatch.setattr("os.walk", walk)
    runs.run(Namespace(folder=tmp_path))
    assert capsys.readouterr().out == f"{tmp_path}: cannot be read: Permission denied\n"

"""`twin`: what it runs, and how its environment is made, repaired and left alone."""

import subprocess
from argparse import Namespace
from pathlib import Path

import pytest

from course_lib.commands import doctor, environment, pip, twin, venv
from course_lib.commands.requirements import pinned

ROOT = Path(__file__).resolve().parents[1]


def test_it_runs_widgets_the_set_up_cell_and_the_first_notebooks():
    files = [one for one in twin.arguments([]) if one.endswith((".py", ".ipynb"))]
    assert all((ROOT / name).is_file() for name in files)
    assert {"tests/test_widgets.py", "tests/colab/check_set_up_cell.py"} <= set(files)
    assert "tests/browser/check_old_widgets.py" in files
    notebooks = [name for name in files if name.endswith(".ipynb")]
    assert [name[len("notebooks/") :][:3] for name in notebooks] == ["00_", "01_", "02_", "03_", "04_", "05_"]


def test_files_take_the_place_of_everything():
    assert [one for one in twin.arguments(["-x", "tests/test_show.py"]) if one.endswith(".py")] == [
        "tests/test_show.py"
    ]


@pytest.fixture
def made(monkeypatch, tmp_path) -> list[list[str]]:
    """Takes an empty folder for `.venv-colab`, and collects what would be installed there."""
    installed: list[list[str]] = []
    monkeypatch.setattr(twin, "FOLDER", tmp_path / ".venv-colab")

    def make(command, check):
        twin.python().parent.mkdir(parents=True)
        twin.python().touch()

    monkeypatch.setattr(twin.pip, "works", lambda python: python.exists())
    monkeypatch.setattr(twin.subprocess, "run", make)
    monkeypatch.setattr(twin.pip, "install", lambda python, wanted, what, log: installed.append(wanted))
    return installed


def test_pytorch_comes_first_and_everything_within_the_pins(made):
    twin.set_up()
    assert all(wanted[:2] == ["-c", str(twin.PINS)] for wanted in made)
    assert made[0][2:] == [pinned("torch")] and "ipywidgets>=7.7.1" in made[1]
    assert not [one for wanted in made for one in wanted if "course" in Path(one).name]
    assert twin.stands()


def test_one_that_stands_is_left_alone(made):
    twin.set_up()
    twin.set_up()
    assert len(made) == 2


def test_other_pins_bring_it_up_to_date(made, monkeypatch, tmp_path):
    twin.set_up()
    (tmp_path / "pins.txt").write_text("numpy==2.1.4\n")
    monkeypatch.setattr(twin, "PINS", tmp_path / "pins.txt")
    assert not twin.stands()
    twin.set_up()
    assert len(made) == 4 and twin.stands()


def test_a_failure_says_what_to_do_and_leaves_no_stamp(made, monkeypatch):
    def fail(*arguments):
        raise pip.PipError("The disk is full. Make room, then repeat the command.")

    monkeypatch.setattr(twin.pip, "install", fail)
    with pytest.raises(venv.SetUpError, match="Make room"):
        twin.set_up()
    assert not twin.stands()


def test_it_needs_the_repository(monkeypatch):
    monkeypatch.setattr(environment, "is_repository", lambda: False)
    with pytest.raises(environment.SetUpError, match="repository"):
        twin.run(Namespace(only_make=True, rest=[]))


def test_it_is_no_file_of_the_repository():
    done = subprocess.run(["git", "check-ignore", "-q", ".venv-colab/"], cwd=ROOT)
    assert done.returncode == 0


def test_the_device_is_named_on_a_line_of_the_machine(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Tesla T4")
    assert doctor.device() == "≈ device: Tesla T4 (GPU)"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(doctor, "on_colab", lambda: True)
    assert doctor.device().startswith("≈ device: CPU") and "Change runtime type" in doctor.device()

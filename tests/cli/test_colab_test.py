"""`colab-test`: what it runs, and how its environment is made, repaired and left alone."""

import subprocess
from argparse import Namespace
from pathlib import Path

import pytest
from helpers.fake_pip import INDEX, fake_pip

from course_lib.cli import colab_test, pip, requirements, venv
from course_lib.cli.requirements import pinned
from course_lib.utils.device import device_summary

ROOT = Path(__file__).resolve().parents[2]
TORCH = ("torch", "torchvision")
COLAB = colab_test.versions()


def test_it_runs_widgets_the_set_up_cell_and_all_notebooks_unless_files_are_named():
    files = [one for one in colab_test.arguments([]) if one.endswith((".py", ".ipynb"))]
    assert all((ROOT / name).is_file() for name in files)
    assert {"tests/widgets/test_widgets.py", "tests/colab/check_set_up_cell.py"} <= set(files)
    assert "tests/browser/check_old_widgets.py" in files
    notebooks = {name for name in files if name.endswith(".ipynb")}
    assert notebooks == {f"notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*_*.ipynb")}
    some = colab_test.arguments(["-x", "tests/viz/test_figures.py"])
    assert [one for one in some if one.endswith((".py", ".ipynb"))] == ["tests/viz/test_figures.py"]


@pytest.fixture
def made(monkeypatch, tmp_path) -> list[list[str]]:
    """Takes an empty folder for `.venv-colab`, and collects what would be installed there."""
    monkeypatch.setattr(colab_test, "FOLDER", tmp_path / ".venv-colab")

    def make(command, **more):
        python = venv.python(colab_test.FOLDER)
        python.parent.mkdir(parents=True)
        python.touch()
        return Namespace(returncode=0)

    monkeypatch.setattr(venv.subprocess, "run", make)
    return fake_pip(monkeypatch)


@pytest.mark.parametrize("own_torch", [False, True])
def test_pytorch_comes_first_and_everything_within_the_pins(made, own_torch):
    text = colab_test.versions(own_torch)
    colab_test.set_up(text)
    exact = colab_test.FOLDER / "constraints.txt"
    assert all(wanted[:2] == ["-c", str(exact)] for wanted in made) and exact.read_text() == text
    pytorch = map(pinned, TORCH) if own_torch else ("torch==2.11.0", "torchvision==0.26.0")
    assert made[0][2:] == [*INDEX, *pytorch]
    assert "ipywidgets>=7.7.1" in made[1]
    assert not [one for wanted in made for one in wanted if "course" in Path(one).name]
    assert colab_test.is_ready(text) and not colab_test.is_ready(colab_test.versions(not own_torch))


def test_only_pytorch_may_be_another_than_colabs():
    pairs = zip(COLAB.splitlines(), colab_test.versions(own_torch=True).splitlines(), strict=True)
    assert {line.partition("==")[0] for line, other in pairs if line != other} == set(TORCH)


@pytest.mark.parametrize(
    "python, own_torch, said",
    [
        ((3, 13, 5), False, "Colab's versions throughout."),
        ((3, 11, 7), False, "Colab's versions, except python 3.11 (Colab: 3.13)."),
        ((3, 13, 5), True, f"Colab's versions, except torch {pinned('torch')[7:]} (Colab: 2.11.0)."),
    ],
)
def test_the_first_line_says_what_differs_from_colab(monkeypatch, python, own_torch, said):
    monkeypatch.setattr(colab_test, "sys", Namespace(version_info=python))
    assert colab_test.differences(colab_test.versions(own_torch)) == said


def test_one_that_stands_is_left_alone_until_the_pins_change(made):
    colab_test.set_up(COLAB)
    colab_test.set_up(COLAB)
    assert len(made) == 2
    newer = COLAB.replace("numpy==2.1.3", "numpy==2.1.4")
    assert not colab_test.is_ready(newer)
    colab_test.set_up(newer)
    assert len(made) == 4 and colab_test.is_ready(newer)


def test_a_failure_says_what_to_do_and_leaves_no_stamp(made, monkeypatch):
    def fail(*arguments):
        raise pip.PipError("The disk is full. Free some space, then run the command again.")

    monkeypatch.setattr(pip, "install", fail)
    with pytest.raises(venv.SetUpError, match="Free some space"):
        colab_test.set_up(COLAB)
    assert not colab_test.is_ready(COLAB)


def test_it_needs_the_repository(monkeypatch):
    monkeypatch.setattr(requirements, "is_repository", lambda: False)
    with pytest.raises(venv.SetUpError, match="repository"):
        colab_test.run(Namespace(only_make=True, own_torch=False, plain=False, rest=[]))


def test_it_is_no_file_of_the_repository():
    done = subprocess.run(["git", "check-ignore", "-q", ".venv-colab/"], cwd=ROOT)
    assert done.returncode == 0


def test_the_device_is_named_on_a_line_of_the_machine(monkeypatch):
    import torch

    monkeypatch.delenv("COURSE_DEVICE", raising=False)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Tesla T4")
    assert device_summary() == "≈ device: Tesla T4 (GPU)"
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: None)
    monkeypatch.setenv("COLAB_GPU", "1")
    assert device_summary().startswith("≈ device: CPU") and "Change runtime type" in device_summary()


def test_a_plain_run_gives_the_network_to_the_unit_tests_alone(monkeypatch):
    """The setup cell installs packages; the notebooks meet plain kernels, no data and no network."""
    calls = []
    codes = iter((1, 0, 0))

    def call(command, env, cwd):
        calls.append((command, env))
        return next(codes)

    monkeypatch.setattr(colab_test.subprocess, "call", call)
    before = {"COURSE_DATA": "/real", "COURSE_BROWSER": "1"}
    assert colab_test.run_plain(["-ra"], before) == 1, "the failure of the first run is forgotten"
    (units, usual), (books, other) = calls
    assert set(colab_test.UNIT_TESTS) <= set(units) and not set(colab_test.notebooks()) & set(units)
    assert set(colab_test.notebooks()) <= set(books) and not set(colab_test.UNIT_TESTS) & set(books)
    assert "-ra" in units and "-ra" in books
    assert usual["COURSE_DATA"] == "/real" and "HTTPS_PROXY" not in usual
    assert (
        "COURSE_DATA" not in other and "ATEN_CPU_CAPABILITY" in other and "ATEN_CPU_CAPABILITY" not in usual
    )
    assert colab_test.run_plain([colab_test.notebooks()[0]], before) == 0
    assert len(calls) == 3 and "ATEN_CPU_CAPABILITY" in calls[2][1]


@pytest.mark.parametrize("absent", colab_test.PLUGINS)
def test_an_option_is_checked_only_where_pytest_has_its_plugins(absent, monkeypatch):
    """A Python with pytest alone refuses the options of pyproject.toml, whatever the user typed."""
    monkeypatch.setattr(colab_test.importlib.util, "find_spec", lambda name: None if name == absent else name)
    monkeypatch.setattr(colab_test.subprocess, "run", lambda *_, **__: pytest.fail("pytest was asked"))
    colab_test.refuse_unknown(["--nope"])

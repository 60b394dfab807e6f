"""`python -m course_lib` before and while the environment is made; nothing here needs a network."""

import ast
import os
import platform
import subprocess
import sys
import tomllib
from argparse import Namespace
from pathlib import Path

import pytest
from helpers.bare_python import bare
from helpers.fake_pip import INDEX, fake_pip

from course_lib import __main__ as command_line
from course_lib.cli import browser, doctor, environment, lab, pip, requirements, test, venv

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def course(tmp_path, monkeypatch) -> Path:
    """Its own place for `.venv`, and a pip that only notes what it is asked to install."""
    monkeypatch.setattr(venv, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(pip, "asked", fake_pip(monkeypatch), raising=False)
    return tmp_path


def half_made(folder: Path) -> None:
    """What `python -m venv` leaves, but empty: enough for everything except starting it."""
    python = venv.python()
    python.parent.mkdir(parents=True)
    python.touch()
    (folder / ".venv" / "pyvenv.cfg").write_text("version = 3.11.7\n")


def test_the_commands_explain_themselves_without_packages():
    overview, of_test = (bare("-m", "course_lib", *words) for words in (["--help"], ["test", "--help"]))
    assert overview.returncode == of_test.returncode == 0 and "--fast" in of_test.stdout
    for verb in command_line.NEEDS:
        assert f"\n  {verb} " in overview.stdout


@pytest.mark.parametrize("file", ["__init__.py", "__main__.py", "utils/__init__.py", "utils/lazy.py"])
def test_an_old_python_can_import_the_first_files(file):
    text = (ROOT / "course_lib" / file).read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(text, feature_version=(3, 6))))
    # list[str] in an annotation is an error before Python 3.9, Callable[[str], int] too
    assert not [node for node in nodes if getattr(node, "annotation", None) or getattr(node, "returns", None)]


def test_an_old_python_is_told_what_to_do(monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 10, 13))
    monkeypatch.setattr("shutil.which", lambda name: name == "python3.12")
    assert command_line.main(["lab"]) == 1
    said = capsys.readouterr().err
    assert "3.11 or newer; this is 3.10.13" in said and "python3.12 -m course_lib lab" in said


def test_a_complete_environment_is_used_as_it_is(course, monkeypatch):
    monkeypatch.setattr(environment, "missing", lambda extras: [])
    monkeypatch.setattr(environment, "activated", lambda: True)
    monkeypatch.setattr(venv, "add_d2l", lambda python, prefix: pip.asked.append([venv.D2L]))
    environment.ensure(("dev",))
    assert pip.asked == [[venv.D2L]] and not (course / ".venv").exists()


def test_an_incomplete_environment_gives_way_to_venv(course, monkeypatch, capsys):
    started = []
    monkeypatch.setattr(environment, "missing", lambda extras: ["torch>=2.11 (here 2.4.1)"])
    monkeypatch.setattr(environment, "activated", lambda: True)
    monkeypatch.setattr(environment, "start_again", lambda: started.append(True))
    half_made(course)
    environment.ensure(("dev",))
    assert started and venv.is_ready()
    assert "torch>=2.11 (here 2.4.1)" in capsys.readouterr().out


def test_the_steps_of_the_set_up(course, capsys):
    half_made(course)
    venv.set_up()
    exact = ["-c", str(ROOT / "constraints.txt")]
    assert pip.asked == [
        [*exact, *INDEX, *map(requirements.pinned, ("torch", "torchvision"))],
        [*exact, "-e", f"{ROOT}[dev]"],
        ["--no-deps", venv.D2L],
    ]
    venv.set_up()
    assert len(pip.asked) == 3, "a second call installs nothing"


@pytest.mark.parametrize("file", ["pyproject.toml", "constraints.txt"])
def test_changed_requirements_are_installed(course, file, monkeypatch):
    half_made(course)
    venv.set_up()
    copy = course / "copy"
    copy.mkdir()
    for name in ("pyproject.toml", "constraints.txt"):
        (copy / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setattr(requirements, "ROOT", copy)
    monkeypatch.setattr(venv, "ROOT", copy)
    venv.set_up()
    assert venv.is_ready()
    text = (copy / file).read_text(encoding="utf-8")
    (copy / file).write_text(text.replace("2.11", "2.12").replace("torch==", "torch==1"), encoding="utf-8")
    assert not venv.is_ready()


def test_an_interrupted_installation_is_repeated(course, capsys):
    half_made(course)
    site = course / ".venv" / "lib" / "python3.11" / "site-packages"
    for name in ("whole-1.0", "broken-2.0"):
        (site / f"{name}.dist-info").mkdir(parents=True)
        (site / f"{name}.dist-info" / "METADATA").touch()
    (site / "whole-1.0.dist-info" / "RECORD").touch()
    venv.set_up()
    assert [path.name for path in site.iterdir()] == ["whole-1.0.dist-info"]
    assert "broken-2.0" in capsys.readouterr().out


def test_a_failed_step_leaves_no_stamp(course, monkeypatch):
    def fail(python, arguments, *rest):
        raise pip.PipError("no network")

    half_made(course)
    monkeypatch.setattr(pip, "install", fail)
    with pytest.raises(venv.SetUpError, match="no network"):
        venv.set_up()
    assert not venv.is_ready()


def test_a_failed_d2l_is_said_and_stops_nothing(course, monkeypatch, capsys):
    def fail_d2l(python, arguments, *rest):
        pip.asked.append(arguments)
        if venv.D2L in arguments:
            raise pip.PipError("d2l is not to be had")

    half_made(course)
    monkeypatch.setattr(pip, "install", fail_d2l)
    venv.set_up()
    assert venv.is_ready()
    assert "d2l is not to be had" in capsys.readouterr().out
    venv.add_d2l(venv.python(), venv.VENV)
    assert len(pip.asked) == 3, "it is not tried again at each call"


def test_a_folder_that_is_no_environment_is_left_alone(course):
    (course / ".venv").mkdir()
    (course / ".venv" / "thesis.txt").write_text("mine")
    with pytest.raises(venv.SetUpError, match="not a Python environment"):
        venv.set_up()
    assert (course / ".venv" / "thesis.txt").read_text() == "mine"


def test_a_full_disk_is_noticed_first(course, monkeypatch):
    monkeypatch.setattr(venv.shutil, "disk_usage", lambda path: Namespace(free=1_000_000_000))
    with pytest.raises(venv.SetUpError, match="needs about 3 GB. 1.0 GB are free"):
        venv.set_up()


def test_a_python_without_venv_says_how_to_get_it(course, monkeypatch):
    monkeypatch.setattr(venv.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(venv.SetUpError, match="apt install python3.*-venv"):
        venv.set_up()


def test_a_venv_is_really_made(course, monkeypatch):
    monkeypatch.setattr(pip, "works", lambda python: False)
    real = subprocess.run
    monkeypatch.setattr(venv.subprocess, "run", lambda args, **kw: real([*args, "--without-pip"], **kw))
    venv.set_up()
    version = [venv.python(), "-c", "import sys; print(sys.version_info[:2])"]
    assert real(version, capture_output=True, text=True).stdout.strip() == str(tuple(sys.version_info[:2]))


def test_two_set_ups_do_not_meet(course):
    script = (
        "import sys; from pathlib import Path; from course_lib.cli import venv\n"
        "with venv._alone(): print('in', flush=True); sys.stdin.read(1); print('out', flush=True)"
    )
    command = [sys.executable, "-c", script]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    with subprocess.Popen(command, **pipes) as first, subprocess.Popen(command, **pipes) as second:
        lines = [first.stdout.readline(), second.stdout.readline()]
        one, other = (first, second) if lines[0] == "in\n" else (second, first)
        one.communicate("x")
        assert sorted(lines)[0].startswith("Another setup is running")
        assert other.communicate("x")[0] == "in\nout\n"


def test_windows_waits_for_another_set_up_as_long_as_it_takes(monkeypatch):
    """Its lock gives up after ten seconds."""
    answers = iter([False, False, False, True])
    monkeypatch.setattr(venv, "WINDOWS", True)
    monkeypatch.setattr(venv, "_locked", lambda file, wait: next(answers))
    with venv._alone():
        assert not list(answers)


def test_a_real_pip_says_what_it_lacks(monkeypatch):
    monkeypatch.setenv("PIP_USER", "1")  # as from a pip.conf: an environment would refuse that
    arguments = ["--no-index", "no-such-package"]
    with pytest.raises(pip.PipError, match="no-such-package[\\s\\S]*cannot be reached"):
        pip.install(Path(sys.executable), arguments, "a package")


with Path(__file__).with_name("pip_failures.toml").open("rb") as file:
    FAILURES = tomllib.load(file)


@pytest.mark.parametrize("case", FAILURES)
def test_advice_fits_the_failure(case):
    telling, others, advice = map(FAILURES[case].get, ("telling", "others", "advice"))
    telling = telling.replace("…", "x" * 400)
    said = pip.diagnosis(["Collecting torch", telling, *others, ""])
    assert advice in said.splitlines()[-1] + said.splitlines()[-2] and "x" * 301 not in said
    assert "CERTIFICATE_VERIFY_FAILED" in said if case == "certificate" else telling in said


@pytest.mark.parametrize(
    ("system", "machine", "version", "refusal"),
    [
        ("darwin", "x86_64", "Darwin Kernel Version 23.6.0: root:xnu/RELEASE_X86_64", "Intel chip"),
        ("darwin", "x86_64", "Darwin Kernel Version 23.6.0: root:xnu/RELEASE_ARM64_T6000", "python.org"),
        ("darwin", "arm64", "Darwin Kernel Version 23.6.0: root:xnu/RELEASE_ARM64_T6000", None),
        ("linux", "x86_64", "#1 SMP", None),
    ],
)
def test_a_mac_that_pytorch_no_longer_supports_is_told_before_anything_is_installed(
    system, machine, version, refusal, monkeypatch, tmp_path
):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "version", lambda: version)
    said = venv._refusal(tmp_path / ".venv")
    assert refusal in said if refusal else said is None


@pytest.mark.parametrize("complete", [True, False])
def test_without_a_network_an_environment_that_lacks_nothing_is_used(complete, monkeypatch, capsys):
    """As after an update that changes a pinned version, or in a folder that was renamed."""

    def fail():
        raise pip.PipError("Installing the course failed.")

    monkeypatch.setattr(venv, "is_ready", lambda: False)
    monkeypatch.setattr(venv, "_install", fail)
    monkeypatch.setattr(venv, "python", lambda: Path(sys.executable))
    if complete:
        venv.set_up()
        assert "Nothing that the course needs is missing" in capsys.readouterr().out
    else:
        monkeypatch.setattr(venv, "python", lambda: Path("/nowhere/python"))
        with pytest.raises(venv.SetUpError, match="Installing the course failed"):
            venv.set_up()


def test_pip_works_here_and_not_in_an_empty_folder(tmp_path):
    assert pip.works(Path(sys.executable))
    assert not pip.works(tmp_path / "bin" / "python")


@pytest.fixture
def called(monkeypatch) -> list:
    """What a command would start, instead of starting it; as on Windows, where it returns afterwards."""
    calls = []
    monkeypatch.setattr(environment, "WINDOWS", True)
    monkeypatch.setattr(subprocess, "call", lambda command, **more: calls.append((command, more)) or 7)
    return calls


def run_tests(*rest: str, **options) -> int:
    usual = {"fast": False, "browser": False, "plain": False, "device": None, "rest": list(rest)}
    return test.run(Namespace(**usual | options))


def test_lab_names_a_notebook_with_conflict_marks(called, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "01_a.ipynb").write_text('{"cells": []}', encoding="utf-8")
    (tmp_path / "notebooks" / "02_b.ipynb").write_text('{"cells": [\n<<<<<<< HEAD\n', encoding="utf-8")
    lab.run(Namespace(no_browser=True, port=9001, rest=[]))
    said = capsys.readouterr().out
    assert "02_b.ipynb is not a notebook" in said and "updating.md" in said and "01_a" not in said


def test_where_home_cannot_be_written_jupyter_gets_other_folders(called, monkeypatch, capsys):
    monkeypatch.setattr(environment, "spare_home", lambda: "/home/x cannot be written: …")
    environment.child_environment()
    assert "cannot be written" in capsys.readouterr().out
    monkeypatch.setattr(doctor, "locked_home", lambda: Path("/home/x"))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    folder, finding = doctor.home()
    assert str(ROOT) in folder.text and "copy the course" in folder.fix
    assert "/home/x" in finding.text and "HOME=" in finding.fix and not finding.required


def test_lab_serves_the_notebooks_on_localhost_only(called):
    assert lab.run(Namespace(no_browser=True, port=9001, rest=["--debug"])) == 7
    command, more = called[0]
    assert command[3:5] == ["-m", "jupyterlab"] and "--no-browser" in command and command[-1] == "--debug"
    assert "--ServerApp.ip=localhost" in command and "--ServerApp.port=9001" in command
    assert f"--ServerApp.root_dir={ROOT / 'notebooks'}" in command
    assert not [one for one in command if "token" in one.lower() or "password" in one.lower()]
    assert more["env"]["PYTHONPATH"].split(os.pathsep)[0] == str(ROOT)


def test_test_runs_everything_in_one_pytest(called):
    assert run_tests("-x") == 7
    (command, more), = called  # fmt: skip
    assert more["env"]["COURSE_PROGRESS"] == "" and more["env"]["MATPLOTLIBRC"] == os.devnull  # a new user's
    assert command[1:5] == ["-m", "pytest", "tests", "notebooks"]
    assert "--nbval" in command and "--nbval-sanitize-with=tests/nbval_sanitize.cfg" in command
    assert command[-1] == "-x"


@pytest.mark.parametrize(("rest", "least"), [("-ra", test.LEAST), ("tests/layers/test_masks.py", 0)])
def test_on_a_device_its_tests_run_and_a_whole_run_needs_many(called, rest, least):
    run_tests(rest, device="second:0")
    (command, more), = called  # fmt: skip
    assert "notebooks" not in command and command[-1] == rest
    assert more["env"]["COURSE_TEST_DEVICE"] == "second:0" and more["env"]["COURSE_LEAST_TESTS"] == str(least)
    with pytest.raises(ValueError, match="--device='cuda:9': this machine has cpu"):
        run_tests(device="cuda:9")


def test_processes_share_the_files_and_the_threads_of_the_cores(called, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(test, "cores", lambda: 1)
    assert test.arguments(True, ["-q"]) == ["tests", "-m", "not slow", "-q"]
    monkeypatch.setattr(test, "cores", lambda: 5)
    shared = ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
    # what follows wins, such as -n 0
    assert test.arguments(True, ["-q"]) == ["tests", *test.QUICK, *shared, "-q"]
    run_tests(fast=True)
    run_tests("tests/layers/test_masks.py", fast=True)
    assert [more["env"].get("OMP_NUM_THREADS") for _, more in called] == ["2", None]


@pytest.mark.parametrize(
    "name",
    ["tests/layers/test_masks.py::test_causal", "notebooks/01_softmax_and_scaling.ipynb", "tests/no_such.py"],
)
def test_named_files_are_run_instead_of_all(name):
    """Pytest gets the missing one, too, and says so."""
    assert test.arguments(False, [name]) == [*test.NBVAL, name]


def test_windows_waits_for_the_other_python(called, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["course_lib", "lab", "--port", "1"])
    with pytest.raises(SystemExit, match="7"):
        environment.start_again()
    assert called[0][0] == [str(venv.python()), "-m", "course_lib", "lab", "--port", "1"]


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot replace a process")
def test_elsewhere_the_other_program_takes_the_place_of_this_one(tmp_path):
    code = (
        "import os, sys; from course_lib.cli import environment; print(os.getpid())\n"
        "look = 'import os; print(os.getpid(), os.getcwd(), os.environ[\"A\"]); raise SystemExit(5)'\n"
        f"environment.become([sys.executable, '-c', look], cwd={str(tmp_path)!r}, env={{'A': 'b'}})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    before, after, folder, variable = done.stdout.split()
    assert (before, folder, variable, done.returncode) == (after, str(tmp_path.resolve()), "b", 5)


def test_the_installed_package_knows_its_requirements(monkeypatch):
    lines = ["numpy>=2.0", "no-such-package>=1.0", "jupyterlab>=4.3; extra == 'dev'"]
    monkeypatch.setattr(requirements, "is_repository", lambda: False)
    monkeypatch.setattr(requirements.importlib.metadata, "requires", lambda name: lines)
    assert requirements.requirements() == lines[:2]
    assert requirements.requirements(("dev",)) == [*lines[:2], "jupyterlab>=4.3"]
    assert requirements.missing() == ["no-such-package>=1.0 (not installed)"]


def test_what_is_done_in_a_browser_is_a_run_of_its_own(called, monkeypatch):
    monkeypatch.setattr(browser, "provide", lambda: None)
    run_tests("-x", browser=True)
    [(command, more)] = called
    assert command[3:] == ["tests/browser", "-s", "-x"] and more["env"]["COURSE_BROWSER"] == "1"


def test_chromium_is_installed_by_root_alone(monkeypatch):
    ran = []
    monkeypatch.setattr(subprocess, "run", lambda command, **more: ran.append(command[:2]))
    monkeypatch.setattr(environment, "missing", lambda extras: [])
    monkeypatch.setattr("shutil.which", lambda name: name if name == "apt-get" else None)
    for user in (1000, 0):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user, raising=False)
        with pytest.raises(environment.SetUpError, match="apt install chromium"):
            browser.provide()
    assert list(map(list, ran)) == [["apt-get", "update"], ["apt-get", "install"]]


def test_pip_shows_a_download_in_place_and_keeps_it_out_of_the_log(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    lines = ["Downloading torch.whl (190.0 MB)\n", "Progress 95000000 of 190000000\n", "ERROR: no\n"]
    assert list(pip._follow(lines, tmp_path / "pip.log")) == [lines[0].strip(), "ERROR: no"]
    assert "95 of 190 MB: Downloading torch.whl" in capsys.readouterr().out
    assert "Progress" not in (tmp_path / "pip.log").read_text()


@pytest.mark.parametrize(
    ("help_text", "options"),
    [
        ("--progress-bar <bar>\n   [auto, on, off,\n   raw] (default: auto)", ["--progress-bar", "raw"]),
        ("--progress-bar <bar>\n   [on, off] (default: on)\n --other [raw]", []),
    ],
)
def test_bytes_are_asked_for_where_pip_can_print_them(help_text, options, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: Namespace(stdout=help_text))
    assert pip._progress_option(Path(sys.executable)) == options

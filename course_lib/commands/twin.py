"""`twin`: the widgets and the first notebooks with the versions that Colab carries, in `.venv-colab`.

Standard library only. The versions stand in tests/colab/constraints.txt. Three widgets are moved in a browser
(Chromium, installed where that is possible, as for `test --browser`). The course itself is not installed: the
tests find it beside them, and one of them lets the set-up cell install it in a fresh environment on top.
"""

import argparse
import hashlib
import subprocess
import sys
from pathlib import Path

from course_lib.commands import browser, environment, pip, venv
from course_lib.commands.environment import ROOT
from course_lib.commands.requirements import pinned, requirements
from course_lib.commands.test import NBVAL, shared_out, with_threads

HELP = "tests widgets, the set-up cell and notebooks 00 to 05 with Colab's versions, in .venv-colab"
PASSES_ON = True
FOLDER = ROOT / ".venv-colab"
PINS = ROOT / "tests" / "colab" / "constraints.txt"
UNIT_TESTS = (
    "tests/colab/check_versions.py",
    "tests/colab/check_set_up_cell.py",
    "tests/browser/check_old_widgets.py",
    "tests/test_show.py",
    "tests/test_widgets.py",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only-make", action="store_true", help="make the environment, and run nothing")
    parser.epilog = "All other arguments go to pytest; files among them are run instead of everything."


def run(args: argparse.Namespace) -> int:
    """Make the environment where it does not stand, then run pytest in it; returns its exit code."""
    if not environment.is_repository():
        raise environment.SetUpError("The tests are in the course's repository; run this in a copy of it.")
    set_up()
    if args.only_make:
        return 0
    command = [str(python()), "-m", "pytest", *arguments(args.rest)]
    if browser.find() is None:
        browser.install_chromium()
    variables = with_threads(command, {**environment.child_environment(), "COURSE_BROWSER": "1"})
    return environment.become(command, env=variables, cwd=ROOT)


def arguments(rest: list[str]) -> list[str]:
    """pytest's arguments. Files in `rest` take the place of all that is tested here."""
    chosen = any(one.split("::")[0].endswith((".py", ".ipynb")) for one in rest if not one.startswith("-"))
    found = sorted((ROOT / "notebooks").glob("0[0-5]_*.ipynb"))
    files = [*UNIT_TESTS, *(path.relative_to(ROOT).as_posix() for path in found)]
    return [*([] if chosen else [*files, *shared_out()]), *NBVAL, *rest]


def python() -> Path:
    """The Python inside `.venv-colab`, whether it exists or not."""
    return FOLDER / venv.python().relative_to(venv.VENV)


def stands() -> bool:
    """Whether `.venv-colab` is complete and was made from the present versions."""
    stamp = FOLDER / venv.STAMP
    return python().exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == fingerprint()


def fingerprint() -> str:
    """A digest of what `.venv-colab` is made from."""
    settings = FOLDER / "pyvenv.cfg"
    made_by = settings.read_text(encoding="utf-8") if settings.exists() else ""
    parts = [PINS.read_text(encoding="utf-8"), *wanted(), str(ROOT), made_by]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def wanted() -> list[str]:
    """What is installed beside PyTorch: all that the course and its tests ask for."""
    return requirements(("dev", "browser"))


def set_up() -> None:
    """Make `.venv-colab`, or finish one that is incomplete or out of date. May be interrupted and repeated.

    Raises SetUpError, saying what to do.
    """
    if stands():
        return
    print(f"Setting up {FOLDER} with Colab's versions.", flush=True)
    exact, log = ["-c", str(PINS)], FOLDER / "pip.log"
    try:
        if not pip.works(python()):
            subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER], check=True)
        pip.forget_interrupted(FOLDER)
        pip.install(python(), [*exact, pinned("torch")], "PyTorch, the largest part", log)
        pip.install(python(), [*exact, *wanted()], "Colab's versions of what the course needs", log)
    except (pip.PipError, subprocess.CalledProcessError, OSError) as problem:
        raise venv.SetUpError(str(problem)) from None
    (FOLDER / venv.STAMP).write_text(fingerprint(), encoding="utf-8")

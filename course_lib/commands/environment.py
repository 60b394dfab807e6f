"""Which Python a command runs in: this one where it has everything, else the one in `.venv`, made if need be.

Standard library only.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from course_lib.commands import venv
from course_lib.commands.requirements import ROOT, is_repository, missing
from course_lib.commands.venv import WINDOWS, SetUpError

__all__ = ["ROOT", "SetUpError", "become", "child_environment", "ensure", "is_repository"]


def ensure(extras: Sequence[str] = ()) -> None:
    """Return where this Python has all requirements; else start the command again in `.venv`'s Python.

    Raises SetUpError where that is impossible.
    """
    if venv.is_current():
        if not venv.stands():
            venv.set_up()
        return
    lacking = missing(extras)
    if not lacking:
        if "dev" in extras and activated():
            venv.add_d2l(Path(sys.executable), Path(sys.prefix))
        return
    if not is_repository():
        raise SetUpError(
            f"This Python lacks {', '.join(lacking)}.\n"
            "Install what is missing with pip, or use a copy of the course's repository, which does so."
        )
    if not venv.stands():
        if activated():
            print(f"The activated environment {sys.prefix} lacks {', '.join(lacking)}.")
        venv.set_up()
    start_again()


def activated() -> bool:
    """Whether the user has activated an environment of their own."""
    return bool(os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX"))


def start_again() -> None:
    """Run the same command in `.venv`'s Python; does not return."""
    sys.exit(become([str(venv.python()), "-m", "course_lib", *sys.argv[1:]]))


def become(command: Sequence[str], **more: Any) -> int:
    """Let another program take the place of this one, so that signals reach it; more: its `env` and `cwd`.

    Windows cannot replace a process: there it is waited for, and its exit code returned.
    """
    sys.stdout.flush()
    if WINDOWS:
        return subprocess.call(command, **more)
    os.chdir(more.get("cwd", "."))
    os.execve(command[0], command, more.get("env", os.environ))


def child_environment() -> dict[str, str]:
    """Environment variables for JupyterLab and pytest: their kernels find course_lib, installed or not."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    data = os.environ.get("COURSE_DATA")  # kernels work in notebooks/, where a relative path leads elsewhere
    return {
        **os.environ,
        **({"COURSE_DATA": os.path.abspath(data)} if data else {}),
        "PYTHONPATH": os.pathsep.join(paths),
        "JUPYTER_PREFER_ENV_PATH": "1",  # the kernel "python3" is this Python, not one the user registered
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # no debugger warnings at each kernel start
    }

"""Which Python a command runs in: this one if it has everything, otherwise the one in `.venv`.

Standard library only.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from course_lib.cli import pip, venv
from course_lib.cli.requirements import ROOT, SetUpError, is_repository, missing, requirements
from course_lib.cli.venv import WINDOWS
from course_lib.utils.home import spare_home

__all__ = ["ROOT", "SetUpError", "become", "child_environment", "ensure", "is_repository", "provide"]


def ensure(extras: Sequence[str] = (), enough: Sequence[str] = ()) -> None:
    """Return if this Python has all requirements; otherwise make `.venv` and restart the command there.

    enough: modules with which this Python will do where there is no `.venv`: a machine with a GPU may have
    its own PyTorch, and no network.
    """
    if venv.is_current():
        if not venv.is_ready():
            venv.set_up()
        return
    lacking = missing(extras)
    if not lacking:
        if "dev" in extras and activated():
            venv.add_d2l(Path(sys.executable), Path(sys.prefix))
        return
    if enough and not venv.is_ready() and all(map(find_spec, enough)):
        return print(f"This Python lacks {', '.join(lacking)}; what needs them is left out.", flush=True)
    if not is_repository():
        raise SetUpError(
            f"This Python lacks {', '.join(lacking)}.\n"
            "Install what is missing with pip, or work in a copy of the course's repository, which "
            "installs it for you."
        )
    if not venv.is_ready():
        if activated():
            print(f"The activated environment {sys.prefix} lacks {', '.join(lacking)}.")
        venv.set_up()
    start_again()


def provide(extra: str, what: str) -> None:
    """Install the packages of an extra into this Python, if any is missing; what: their purpose, in words."""
    if missing((extra,)):
        exact = ["-c", str(ROOT / "constraints.txt")] if is_repository() else []
        pip.install(Path(sys.executable), [*exact, *requirements((extra,))], f"{what} into {sys.prefix}")


def activated() -> bool:
    """Whether the user has activated their own environment."""
    return bool(os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX"))


def start_again() -> None:
    """Run the same command in `.venv`'s Python; does not return."""
    sys.exit(become([str(venv.python()), "-m", "course_lib", *sys.argv[1:]]))


def become(command: Sequence[str], **more: Any) -> int:
    """Replace this process by another program, so that signals reach it; more: its `env` and `cwd`."""
    sys.stdout.flush()
    if WINDOWS:  # which cannot replace a process: we wait for it, and return its exit code
        return subprocess.call(command, **more)
    os.chdir(more.get("cwd", "."))
    os.execve(command[0], command, more.get("env", os.environ))


def leave_locked_home() -> None:
    """Use a temporary folder for settings where the home folder cannot be written; a line says so."""
    if note := spare_home():
        print(note, flush=True)


def child_environment() -> dict[str, str]:
    """Environment variables for JupyterLab and pytest: their kernels find course_lib, installed or not."""
    leave_locked_home()
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    # Kernels work in notebooks/, where a relative path leads elsewhere.
    given = {name: os.environ.get(name) for name in ("COURSE_DATA", "COURSE_CACHE")}
    folders = {name: os.path.abspath(os.path.expanduser(path)) for name, path in given.items() if path}
    return {
        "OMP_WAIT_POLICY": "PASSIVE",  # idle threads sleep: on shared cores, spinning ones stop all others
        **os.environ,
        **folders,
        "PYTHONPATH": os.pathsep.join(paths),
        "JUPYTER_PREFER_ENV_PATH": "1",  # the kernel "python3" is this Python, not one the user registered
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # no debugger warnings at each kernel start
    }

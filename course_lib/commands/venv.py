"""The course's own environment, the folder `.venv` of the repository: made, repaired, and stamped.

Standard library only. The stamp says what `.venv` was made from, so that a second call costs a fraction of a
second. A set-up that was killed has no stamp, and the next call finishes it.
"""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from course_lib.commands import pip
from course_lib.commands.requirements import ROOT, pinned, project

WINDOWS = os.name == "nt"
VENV = ROOT / ".venv"
STAMP = "course_lib.stamp"
D2L = "d2l==1.0.3"
NEEDED_GB = 3  # with the CPU build of PyTorch; the CUDA build takes about 7


class SetUpError(Exception):
    """The environment could not be made; the message says what to do."""


def python() -> Path:
    """The Python inside `.venv`, whether it exists or not."""
    return VENV / "Scripts" / "python.exe" if WINDOWS else VENV / "bin" / "python"


def is_current() -> bool:
    """Whether the Python that runs this is the one in `.venv`."""
    return Path(sys.prefix).resolve() == VENV.resolve()


def stands() -> bool:
    """Whether `.venv` is complete and was made from the present requirements."""
    stamp = VENV / STAMP
    return python().exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == fingerprint()


def fingerprint() -> str:
    """A digest of what `.venv` depends on: the requirements, the exact versions, its Python and its place."""
    listed = {key: value for key, value in project().items() if "dependencies" in key}
    settings = VENV / "pyvenv.cfg"
    parts = [
        json.dumps(listed, sort_keys=True),
        (ROOT / "constraints.txt").read_text(encoding="utf-8"),
        settings.read_text(encoding="utf-8") if settings.exists() else "",
        str(ROOT),
        D2L,
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def set_up() -> None:
    """Make `.venv`, or finish one that is incomplete or out of date. May be interrupted and repeated.

    Raises SetUpError, saying what to do.
    """
    try:
        with _alone():
            if not stands():
                _install()
    except pip.PipError as problem:
        raise SetUpError(str(problem)) from None
    except OSError as problem:
        raise SetUpError(f"The environment could not be written: {problem}\n{_room()}") from None


def add_d2l(interpreter: Path, prefix: Path) -> None:
    """Install d2l by itself, once; where that fails, say so and go on: only comparisons need it."""
    tried = prefix / "course_lib.d2l"
    folders = [*prefix.glob("lib/python*/site-packages/d2l"), *prefix.glob("Lib/site-packages/d2l")]
    if folders or (tried.exists() and tried.read_text(encoding="utf-8") == D2L):
        return
    try:
        pip.install(interpreter, ["--no-deps", D2L], f"{D2L}, by itself")
    except pip.PipError as problem:
        print(problem)
        print("The course runs without d2l; only comparisons with it are left out. To try again:")
        print(f"  {interpreter} -m pip install --no-deps {D2L}")
    try:
        _write(tried, D2L)
    except OSError:
        pass  # an environment that may not be written: d2l is tried again next time


def _install() -> None:
    print(f"Setting up {VENV}. This happens once and takes a few minutes.", flush=True)
    _make()
    for name in pip.forget_interrupted(VENV):
        print(f"  repeating the interrupted installation of {name}")
    exact, log = ["-c", str(ROOT / "constraints.txt")], VENV / "pip.log"
    # PyTorch first and alone: nothing else can then pull in a different build of it.
    torch = pinned("torch")
    pip.install(python(), [*exact, torch], f"PyTorch ({torch}), the largest part", log)
    pip.install(python(), [*exact, "-e", f"{ROOT}[dev]"], "the course, its tools and what they need", log)
    add_d2l(python(), VENV)
    _write(VENV / STAMP, fingerprint())
    print("The environment is ready.", flush=True)


def _make() -> None:
    """Create `.venv`; one whose Python or pip does not start is made anew."""
    if pip.works(python()):
        return
    refusal = _refusal()
    if refusal:
        raise SetUpError(refusal)
    print(f"  making the environment{' anew' if VENV.exists() else ''} with Python {sys.version.split()[0]}")
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], capture_output=True, text=True)
    if made.returncode:
        raise SetUpError(f"{VENV} could not be made:\n{made.stdout}{made.stderr}{_room()}")


def _refusal() -> str | None:
    """Why no environment can be made here, and what to do about it; None where one can."""
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        return (
            f"This Python ({sys.executable}) comes without venv or ensurepip.\n"
            f"On Debian and Ubuntu: sudo apt install {package}. Elsewhere: use Python from https://www.python.org."
        )
    if shutil.disk_usage(ROOT).free < NEEDED_GB * 1e9:
        return f"The environment needs about {NEEDED_GB} GB. {_room()}"
    parts = {"bin", "lib", "lib64", "include", "share", "etc", "Scripts", "Lib", "Include"}
    if VENV.is_dir() and not (VENV / "pyvenv.cfg").exists() and {one.name for one in VENV.iterdir()} - parts:
        return f"{VENV} is in the way: it is not a Python environment. Move it away, then repeat the command."
    return None


def _room() -> str:
    free = shutil.disk_usage(ROOT).free / 1e9
    return f"{free:.1f} GB are free on the disk of {ROOT}" + ("; make room." if free < NEEDED_GB else ".")


@contextmanager
def _alone() -> Iterator[None]:
    """Wait while another set-up of this folder runs. The lock vanishes with the process that holds it."""
    place = hashlib.sha256(f"{ROOT}{os.environ.get('USER', '')}".encode()).hexdigest()[:16]
    with (Path(tempfile.gettempdir()) / f"course_lib-{place}.lock").open("a+b") as file:
        if not _locked(file, wait=False):
            print("Another set-up is running; waiting for it to end.", flush=True)
            while not _locked(file, wait=True) and WINDOWS:
                pass  # there one call waits for ten seconds only
        yield


def _locked(file, wait: bool) -> bool:
    try:
        if WINDOWS:
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _write(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)

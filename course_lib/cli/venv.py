"""The course's own environment, the repository's folder `.venv`: created, repaired, and stamped.

Standard library only. The stamp records what `.venv` was made from, so that a second call takes a fraction
of a second. A setup that was killed has no stamp, and the next call completes it.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from course_lib.cli import pip, torch_build
from course_lib.cli.requirements import ROOT, pinned, project

WINDOWS = os.name == "nt"
VENV = ROOT / ".venv"
STAMP = "course_lib.stamp"
D2L = "d2l==1.0.3"
WITH_TORCH = ("torch", "torchvision")  # their builds must match


class SetUpError(Exception):
    """The environment could not be created; the message says what to do."""


def python() -> Path:
    """The Python inside `.venv`, whether it exists or not."""
    return VENV / "Scripts" / "python.exe" if WINDOWS else VENV / "bin" / "python"


def is_current() -> bool:
    """Whether the Python that runs this is the one in `.venv`."""
    return Path(sys.prefix).resolve() == VENV.resolve()


def is_ready() -> bool:
    """Whether `.venv` is complete and was made from the current requirements."""
    stamp = VENV / STAMP
    return python().exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == fingerprint()


def fingerprint() -> str:
    """A digest of what `.venv` depends on: the requirements, the exact versions, its Python and its path."""
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
    """Make `.venv`, or complete one that is incomplete or out of date. Safe to interrupt and repeat.

    One that cannot be brought up to date, as without a network, is used as it is if nothing is missing.
    Raises SetUpError, saying what to do.
    """
    try:
        with _alone():
            if not is_ready():
                _install()
    except pip.PipError as problem:
        if not _has_all():
            raise SetUpError(str(problem)) from None
        print(f"{problem}\nNothing that the course needs is missing, so it starts with other versions.\n")
    except OSError as problem:
        raise SetUpError(f"The environment could not be written: {problem}\n{_room()}") from None


def add_d2l(interpreter: Path, prefix: Path) -> None:
    """Install d2l by itself, once; if that fails, say so and continue: only comparisons need it."""
    tried = prefix / "course_lib.d2l"
    folders = [*prefix.glob("lib/python*/site-packages/d2l"), *prefix.glob("Lib/site-packages/d2l")]
    if folders or (tried.exists() and tried.read_text(encoding="utf-8") == D2L):
        return
    try:
        pip.install(interpreter, ["--no-deps", D2L], f"{D2L}, by itself")
    except pip.PipError as problem:
        print(problem)
        print("The course works without d2l; only comparisons with it are skipped. To try again:")
        print(f"  {interpreter} -m pip install --no-deps {D2L}")
    try:
        _write(tried, D2L)
    except OSError:
        pass  # a read-only environment: d2l is tried again next time


def _install() -> None:
    if (VENV / STAMP).exists():
        print(f"Bringing {VENV} up to date.", flush=True)
    else:
        print(f"Setting up {VENV}. This happens only once and takes a few minutes.", flush=True)
    _make()
    for name in pip.forget_interrupted(VENV):
        print(f"  repeating the interrupted installation of {name}")
    exact, log = ["-c", str(ROOT / "constraints.txt")], VENV / "pip.log"
    wanted = [pinned(name) for name in WITH_TORCH]
    if not all(_has(VENV, one) for one in wanted):  # pip would ask the index, which may not be there
        install_torch(python(), VENV, wanted, exact)
    pip.install(python(), [*exact, "-e", f"{ROOT}[dev]"], "the course, its tools and what they require", log)
    add_d2l(python(), VENV)
    _write(VENV / STAMP, fingerprint())
    print("The environment is ready.", flush=True)


def install_torch(interpreter: Path, prefix: Path, wanted: list[str], exact: list[str]) -> None:
    """Install PyTorch and torchvision in the build that fits this machine, if there is enough disk space.

    They come first, by themselves, so that no other package can pull in a different build.
    Raises SetUpError or PipError.
    """
    build = torch_build.choose(interpreter, wanted[0])
    if not _has(prefix, "torch"):
        _check_room(build.gb)
    what = f"PyTorch ({wanted[0]}, {build.name}), the largest part: about {build.wheels_gb} GB"
    pip.install(interpreter, [*exact, *build.options, *wanted], what, prefix / "pip.log")


def _has_all() -> bool:
    """Whether `.venv` meets the lower bounds of all requirements."""
    code = "import sys; from course_lib.cli.requirements import missing; sys.exit(bool(missing(('dev',))))"
    try:
        return subprocess.run([python(), "-c", code], cwd=ROOT, capture_output=True).returncode == 0
    except OSError:
        return False


def _has(prefix: Path, requirement: str) -> bool:
    """Whether an environment has a package, such as "torch", or a version of it, such as "torch==2.13.0"."""
    name, _, version = requirement.partition("==")
    sites = ("lib/python*/site-packages", "Lib/site-packages")
    found = [one.name for site in sites for one in prefix.glob(f"{site}/{name}-*.dist-info")]
    return any(re.fullmatch(rf"{name}-{re.escape(version) or '.*'}(\+\w+)?\.dist-info", one) for one in found)


def _make() -> None:
    """Create `.venv`, or recreate one whose Python or pip does not start."""
    if pip.works(python()):
        return
    refusal = _refusal()
    if refusal:
        raise SetUpError(refusal)
    _check_room(torch_build.CPU_GB)  # the minimum; install_torch() checks again for the build it chooses
    verb = "recreating" if VENV.exists() else "creating"
    print(f"  {verb} the environment with Python {sys.version.split()[0]}")
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], capture_output=True, text=True)
    if made.returncode:
        raise SetUpError(f"{VENV} could not be created:\n{made.stdout}{made.stderr}{_room()}")


def _refusal() -> str | None:
    """Why no environment can be created here, and what to do about it; None if one can."""
    if (kind := torch_build.mac()) == "Intel":
        return pip.INTEL_MAC
    if kind == "Rosetta":
        return "This Mac has Apple's chip, but this Python was made for Intel. Install one from python.org."
    if sys.maxsize < 2**32:
        return f"PyTorch has nothing for {pip.this_python()}."
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        return (
            f"This Python ({sys.executable}) comes without venv or ensurepip.\n"
            f"On Debian and Ubuntu: sudo apt install {package}. Otherwise: https://www.python.org."
        )
    parts = {"bin", "lib", "lib64", "include", "share", "etc", "Scripts", "Lib", "Include"}
    if VENV.is_dir() and not (VENV / "pyvenv.cfg").exists() and {one.name for one in VENV.iterdir()} - parts:
        return f"{VENV} is not a Python environment. Move it elsewhere, then run the command again."
    return None


def _check_room(needed_gb: int) -> None:
    if shutil.disk_usage(ROOT).free < needed_gb * 1e9:
        raise SetUpError(f"The environment needs about {needed_gb} GB. {_room()} Free some space.")


def _room() -> str:
    return f"{shutil.disk_usage(ROOT).free / 1e9:.1f} GB are free on the disk that holds {ROOT}."


@contextmanager
def _alone() -> Iterator[None]:
    """Wait while another setup of this folder runs. The lock is released when its process ends."""
    place = hashlib.sha256(f"{ROOT}{os.environ.get('USER', '')}".encode()).hexdigest()[:16]
    with (Path(tempfile.gettempdir()) / f"course_lib-{place}.lock").open("a+b") as file:
        if not _locked(file, wait=False):
            print("Another setup is running; waiting for it to end.", flush=True)
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

"""The course's own environment, the repository's folder `.venv`: created, repaired, and stamped.

Standard library only. The stamp records what `.venv` was made from, so that a second call takes a fraction
of a second. A setup that was killed has no stamp, and the next call completes it.
"""

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from course_lib.cli import pip, torch_build
from course_lib.cli.requirements import ROOT, SetUpError, constraints, pinned, project
from course_lib.utils.files import atomic_path

WINDOWS = os.name == "nt"
VENV = ROOT / ".venv"
STAMP = "course_lib.stamp"
D2L = "d2l==1.0.3"


def python(folder: Path | None = None) -> Path:
    """The Python inside an environment, `.venv` by default, whether it exists or not."""
    return (folder or VENV) / ("Scripts/python.exe" if WINDOWS else "bin/python")


def is_current() -> bool:
    """Whether the Python that runs this is the one in `.venv`."""
    return Path(sys.prefix).resolve() == VENV.resolve()


def is_ready() -> bool:
    """Whether `.venv` is complete and was made from the current requirements."""
    return is_stamped(VENV, _ingredients())


def _ingredients() -> list[str]:
    listed = {key: value for key, value in project().items() if "dependencies" in key}
    return [json.dumps(listed, sort_keys=True), constraints(), D2L]


def is_stamped(folder: Path, made_from: list[str]) -> bool:
    """Whether an environment is complete and was made from these requirements and versions."""
    stamp, digest = folder / STAMP, _digest(folder, made_from)
    return python(folder).exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == digest


def set_stamp(folder: Path, made_from: list[str]) -> None:
    """Note that an environment is complete."""
    _write(folder / STAMP, _digest(folder, made_from))


def _digest(folder: Path, made_from: list[str]) -> str:
    """A digest of what an environment depends on: its Python and the path of the course as well."""
    settings = folder / "pyvenv.cfg"
    made_by = settings.read_text(encoding="utf-8") if settings.exists() else ""
    return hashlib.sha256("\0".join([*made_from, made_by, str(ROOT)]).encode()).hexdigest()


def set_up() -> None:
    """Make `.venv`, or complete one that is incomplete or out of date. Safe to interrupt and repeat.

    One that cannot be brought up to date, as without a network, is used as it is if nothing is missing.
    """
    try:
        with _alone():
            if not is_ready():
                _install()
    except pip.PipError as problem:
        if not _has_all():
            raise
        print(f"{problem}\nNothing that the course needs is missing, so it starts with other versions.\n")
    except OSError as problem:
        raise SetUpError(f"The environment could not be written: {problem}\n{_room()}") from None


def add_d2l(interpreter: Path, prefix: Path) -> None:
    """Install d2l by itself, once; if that fails, say so and continue: only comparisons need it."""
    tried = prefix / "course_lib.d2l"
    here = any((site / "d2l").exists() for site in pip.sites(prefix))
    if here or (tried.exists() and tried.read_text(encoding="utf-8") == D2L):
        return
    try:
        pip.install(interpreter, ["--no-deps", D2L], f"{D2L}, by itself")
    except pip.PipError as problem:
        print(problem)
        print("The course works without d2l; only comparisons with it are skipped. To try again:")
        print(f"  {interpreter} -m pip install --no-deps {D2L}")
    with suppress(OSError):  # in a read-only environment, d2l is tried again next time
        _write(tried, D2L)


def _install() -> None:
    if (VENV / STAMP).exists():
        print(f"Bringing {VENV} up to date.", flush=True)
    else:
        print(f"Setting up {VENV}. This happens only once and takes a few minutes.", flush=True)
    make(VENV)
    what = "the course, its tools and what they require"
    fill(VENV, ROOT / "constraints.txt", ["-e", f"{ROOT}[dev]"], what)
    add_d2l(python(), VENV)
    set_stamp(VENV, _ingredients())
    print("The environment is ready.", flush=True)


def fill(folder: Path, exact: Path, packages: list[str], what: str) -> None:
    """Install packages in the versions of the file `exact`: first PyTorch, then all others.

    PyTorch comes by itself, in the build that fits this machine, so that no other package can pull in a
    different build.
    """
    for name in pip.forget_interrupted(folder):
        print(f"  repeating the interrupted installation of {name}")
    log, text = folder / "pip.log", exact.read_text(encoding="utf-8")
    torch, torchvision = pinned("torch", text), pinned("torchvision", text)  # their builds must match
    wanted = (torch, torchvision)
    if not all(_has(folder, one) for one in wanted):  # pip would ask the index, which may not be there
        build = torch_build.choose(python(folder), torch)
        if not _has(folder, "torch"):
            _check_room(build.gb)
        about = f"PyTorch ({torch}, {build.name}), the largest part: about {build.wheels_gb} GB"
        pip.install(python(folder), ["-c", str(exact), *build.options, *wanted], about, log)
    pip.install(python(folder), ["-c", str(exact), *packages], what, log)


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
    found = importlib.metadata.distributions(name=name, path=list(map(str, pip.sites(prefix))))
    return any(not version or one.version.partition("+")[0] == version for one in found)


def make(folder: Path) -> None:
    """Create an environment, or recreate one whose Python or pip does not start."""
    if pip.works(python(folder)):
        return
    if refusal := _refusal(folder):
        raise SetUpError(refusal)
    _check_room(torch_build.CPU.gb)  # the minimum; fill() checks again for the build it chooses
    verb = "recreating" if folder.exists() else "creating"
    print(f"  {verb} the environment with Python {sys.version.split()[0]}")
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", folder], capture_output=True, text=True)
    if made.returncode:
        raise SetUpError(f"{folder} could not be created:\n{made.stdout}{made.stderr}{_room()}")


def _refusal(folder: Path) -> str | None:
    """Why no environment can be created here, and what to do about it; None if one can."""
    if sys.platform == "darwin" and platform.machine() == "x86_64":
        if "ARM64" not in platform.version():  # which the kernel does not imitate
            return pip.INTEL_MAC
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
    is_one = not folder.is_dir() or (folder / "pyvenv.cfg").exists()
    if not is_one and {one.name for one in folder.iterdir()} - parts:
        return f"{folder} is not a Python environment. Move it elsewhere, then run the command again."
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
    with atomic_path(path) as part:
        part.write_text(text, encoding="utf-8")

"""`doctor`: what the course finds on this machine, and for each problem the command that fixes it.

Standard library only at import, so that it works even if packages are missing or broken.
"""

import argparse
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from course_lib.cli import environment, requirements, venv
from course_lib.cli.first_cell import explanation
from course_lib.utils.device import busy_note, device_name, devices_here, memory, multiplies_bf16, on_colab
from course_lib.utils.home import locked_home

HELP = "reports what is installed and what is missing, and how to fix it"
SHOWN = ("torch", "numpy", "ipython", "ipywidgets")  # one line each; one line for all others


@dataclass(frozen=True)
class Finding:
    """One line of the report; `fix` says what to do about it, `required` whether the course needs it."""

    text: str
    fix: str = ""
    required: bool = False

    def __str__(self) -> str:
        mark = "MISSING" if self.required else "note" if self.fix else "ok"
        return f"{mark:<8} {self.text}" + (f"\n         → {self.fix}" if self.fix else "")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pass


def run(args: argparse.Namespace) -> int:
    """Print the report; returns 1 if something required is missing."""
    if environment.is_repository() and not venv.is_current() and requirements.missing() and venv.is_ready():
        print(f"{sys.executable} lacks packages; checking the Python in .venv, as used by `lab`.\n")
        environment.start_again()
    looks = (place, home, packages, tools, graphics, company, comparisons, data)
    missing = 0
    for look in looks[:3] if bare() else looks:
        for finding in look():
            print(finding, flush=True)
            missing += finding.required
    print(f"\nRequired and missing: {missing}." if missing else "\nEverything required is installed.")
    return int(missing > 0)


def bare() -> bool:
    """Whether this is a Python outside any environment, before `.venv` is made."""
    return environment.is_repository() and not environment.activated() and bool(requirements.missing())


def place() -> Iterator[Finding]:
    """The Python version, and its environment."""
    newer = sys.version_info >= (3, 14)
    tested = "The course is tested with Python 3.11 to 3.13." if newer else ""
    yield Finding(f"Python {sys.version.split()[0]}, {sys.executable}", tested)
    yield Finding(f"on {kind()}")
    for folder in sorted({Path.cwd(), environment.ROOT / "notebooks"}):  # before the standard library
        for file in sorted(folder.glob("*.py")):
            if file.stem in sys.stdlib_module_names:
                yield Finding(f"{file} takes the place of Python's own module", "rename it")


def kind() -> str:
    """The kind of environment that this Python runs in."""
    if on_colab():
        return "Google Colab"
    if venv.is_current():
        return "the course's own environment, .venv"
    if os.environ.get("CONDA_PREFIX") == sys.prefix:
        return f"the conda environment {sys.prefix}"
    if sys.prefix != sys.base_prefix:
        return f"the environment {sys.prefix}"
    return "a Python outside any environment"


def home() -> Iterator[Finding]:
    """Whether settings and notebooks can be stored."""
    if environment.is_repository() and not os.access(environment.ROOT / "notebooks", os.W_OK):
        yield Finding(f"{environment.ROOT} cannot be written", "copy the course to a folder of your own")
    if locked := locked_home():
        yield Finding(
            f"{locked} cannot be written: settings, progress and downloads are not kept",
            "choose another home folder: HOME=/a/folder/of/your/own python -m course_lib lab",
        )


def packages() -> Iterator[Finding]:
    """The packages that the library needs."""
    lacking = requirements.missing()
    if bare():
        yield Finding(f"packages: {named(lacking)}", "python -m course_lib lab", required=True)
        return
    for name in filter(requirements.installed, SHOWN):
        yield Finding(f"{name} {requirements.installed(name)}")
    for one in lacking:
        yield Finding(one, f'{install()} "{one.partition(" ")[0]}"', required=True)
    if not lacking:
        yield Finding("the other packages of the library")


def named(lacking: list[str]) -> str:
    """Missing packages in one line."""
    return ", ".join(one.removesuffix(" (not installed)") for one in lacking)


def install() -> str:
    """The command that installs into this very Python."""
    return "%pip install" if on_colab() else f"{sys.executable} -m pip install"


def tools() -> Iterator[Finding]:
    """The additional packages that `lab` and `test` need."""
    if not environment.is_repository():
        return
    lacking = [one for one in requirements.missing(("dev",)) if one not in requirements.missing()]
    if lacking:
        fix = "python -m course_lib lab   (installs them in .venv)"
        yield Finding(f"for lab and test: {named(lacking)}", fix)
    else:
        yield Finding("the packages of lab and test")


def graphics() -> Iterator[Finding]:
    """Whether torch loads, and the devices it can use."""
    if requirements.installed("torch") is None:
        return
    try:
        import torch
    except Exception as problem:  # a broken installation can raise anything
        again = f'{install()} --force-reinstall "{requirements.requirements()[0]}"'
        if venv.is_current():  # which holds the build that fits this machine
            again = "delete the folder .venv, then run: python -m course_lib lab"
        yield Finding(f"torch does not load: {problem}", explanation(problem) or again, required=True)
        return
    for one in (found := devices_here()[1:]):
        yield Finding(", ".join(filter(None, (f"{one}: {device_name(one)}", memory(one)))))
    if found and multiplies_bf16(found[0]):
        yield Finding("bf16 is supported")
    elif found:
        yield Finding("bf16 is only emulated here: training uses fp16 instead")
    elif shutil.which("nvidia-smi"):
        fix = "choose the CUDA build at https://pytorch.org/get-started/locally, or update the driver"
        if venv.is_current():
            fix = "delete .venv and run `lab` again, which then installs the CUDA build; or update the driver"
        yield Finding(f"an NVIDIA device, but this torch ({torch.__version__}) cannot use it", fix)
    else:
        yield Finding(f"no GPU: the course runs on the CPU, {os.cpu_count()} cores")


def company() -> Iterator[Finding]:
    """Whether other processes leave this one its share of the cores."""
    with suppress(ImportError):  # psutil; packages() has named it
        if note := busy_note():
            yield Finding(note, "training takes longer: shut down notebooks that you do not need")
        else:
            yield Finding("the cores are free")


def comparisons() -> Iterator[Finding]:
    """d2l, which only comparisons need."""
    if importlib.util.find_spec("d2l"):
        yield Finding(f"d2l {requirements.installed('d2l')}")
    else:
        yield Finding("d2l is not installed; only comparisons need it", f"{install()} --no-deps {venv.D2L}")


def data() -> Iterator[Finding]:
    """The data sets on this machine; fetches nothing."""
    try:
        from course_lib import datasets

        places = {name: datasets.find(name) for name in datasets.list_datasets()}
    except ImportError as problem:
        yield Finding(f"data sets: cannot check ({problem})", "install the packages that are missing")
        return
    for name, path in places.items():
        fix = "" if path else f"python -m course_lib data {name}   (downloads it)"
        yield Finding(f"data set {name}: {path or 'not on this machine'}", fix)

"""`colab-test`: the widgets and the notebooks with Colab's versions of all packages, in `.venv-colab`.

Standard library only. The versions are in tests/colab/constraints.txt. It uses the current Python: the check
is complete only with Colab's, 3.13, and the first line of the output says what differs. Three widgets are
operated in a browser (Chromium, installed where possible, as for `test --browser`). The course itself is not
installed: the tests find it next to them, and one of them lets the setup cell install it in a fresh
environment.
"""

import argparse
import csv
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from course_lib.cli import browser, environment, plain, test, venv
from course_lib.cli.requirements import ROOT, SetUpError, pinned, require_repository, requirements

HELP = "tests widgets, the setup cell and the notebooks with Colab's versions, in .venv-colab"
PASSES_ON = True
USAGE_ERROR = 4  # pytest's exit code
PLUGINS = ("pytest", "nbval", "xdist", "jaxtyping")  # without one, pytest refuses options that the tests use
FOLDER = ROOT / ".venv-colab"
PINS = ROOT / "tests" / "colab" / "constraints.txt"
CARRIED = ROOT / "tests" / "colab" / "packages.csv"
UNIT_TESTS = (
    "tests/colab/check_versions.py",
    "tests/colab/check_set_up_cell.py",
    "tests/browser/check_old_widgets.py",
    "tests/viz/test_figures.py",
    "tests/widgets/test_attention_map.py",
    "tests/widgets/test_widgets.py",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only-make", action="store_true", help="create the environment, but run no tests")
    parser.add_argument(
        "--own-torch",
        action="store_true",
        help="use the PyTorch of constraints.txt instead of Colab's, which can be a large download",
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        help="run the notebooks as `test --plain` does: plain CPU kernels, no data, no network",
    )
    parser.epilog = "All other arguments are passed on to pytest; if they name files, only those are tested."


def run(args: argparse.Namespace) -> int:
    """Make the environment if it is not complete, then run pytest in it; returns its exit code."""
    require_repository("The tests")
    refuse_unknown(args.rest)
    text = versions(args.own_torch)
    print(differences(text), flush=True)
    set_up(text)
    if args.only_make:
        return 0
    if browser.find() is None:
        browser.install_chromium()
    variables = {**environment.child_environment(), "COURSE_BROWSER": "1"}
    if not args.plain:
        command = pytest(args.rest)
        return environment.become(command, env=test.with_threads(command, variables), cwd=ROOT)
    return run_plain(args.rest, variables)


def pytest(rest: list[str]) -> list[str]:
    """The command that runs pytest in `.venv-colab`."""
    return [str(venv.python(FOLDER)), "-m", "pytest", *arguments(rest)]


def run_plain(rest: list[str], variables: dict[str, str]) -> int:
    """Run the unit tests as they are, then the notebooks on plain kernels; returns the higher exit code.

    Files in `rest` all run on plain kernels.
    """
    failed = 0
    if not test.files(rest):
        command = pytest([*UNIT_TESTS, *test.shared_out(), *rest])
        failed = subprocess.call(command, env=test.with_threads(command, variables), cwd=ROOT)
        rest = [*notebooks(), *test.shared_out(), *rest]
    with tempfile.TemporaryDirectory() as folder:
        slow = plain.variables(variables, Path(folder))
        return max(failed, subprocess.call(pytest(rest), env=slow, cwd=ROOT))


def refuse_unknown(rest: list[str]) -> None:
    """Raise ValueError for a missing file or an option unknown to pytest, before minutes of setup.

    Where this Python lacks pytest or one of its plugins, options are checked only after the setup.
    """
    files = test.files(rest)
    for path in (ROOT / one.partition("::")[0] for one in files):
        if not path.is_file():
            raise ValueError(f"no such file: {path}")
    options = [one for one in rest if one not in files]
    if not options or any(importlib.util.find_spec(name) is None for name in PLUGINS):
        return
    command = [sys.executable, "-m", "pytest", "--collect-only", "--noconftest", *options, UNIT_TESTS[0]]
    tried = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")
    if tried.returncode == USAGE_ERROR:
        reasons = re.findall("(?i)error: (.*)", tried.stderr)
        raise ValueError(f"pytest does not take {' '.join(options)}: {(reasons or [tried.stderr])[-1]}")


def notebooks() -> list[str]:
    """All notebooks of the course, relative to the repository."""
    found = sorted((ROOT / "notebooks").glob("[0-9A][0-9]*_*.ipynb"))
    return [path.relative_to(ROOT).as_posix() for path in found]


def arguments(rest: list[str]) -> list[str]:
    """pytest's arguments. Files in `rest` replace the default list."""
    everything = [*UNIT_TESTS, *notebooks(), *test.shared_out()]
    return [*([] if test.files(rest) else everything), *test.NBVAL, *rest]


def versions(own_torch: bool = False) -> str:
    """The exact versions, as pip reads them; `own_torch` replaces Colab's PyTorch with the course's."""
    text = PINS.read_text(encoding="utf-8")
    for name in ("torch", "torchvision") if own_torch else ():
        text = re.sub(rf"^{name}==.*$", pinned(name), text, flags=re.MULTILINE)
    return text


def differences(text: str) -> str:
    """One line that says how an environment of these versions, with this Python, differs from Colab's."""
    with CARRIED.open(encoding="utf-8", newline="") as file:
        colabs = {row["name"]: row["version"] for row in csv.DictReader(file)}
    torch = pinned("torch", text).partition("==")[2]
    here = {"python": ".".join(map(str, sys.version_info[:2])), "torch": torch}
    other = [f"{name} {here[name]} (Colab: {colabs[name]})" for name in here if here[name] != colabs[name]]
    return "Colab's versions" + (f", except {' and '.join(other)}." if other else " throughout.")


def is_ready(text: str) -> bool:
    """Whether `.venv-colab` is complete and was made from these versions."""
    return venv.is_stamped(FOLDER, made_from(text))


def made_from(text: str) -> list[str]:
    """These versions, and what is installed in them: all requirements of the course and its tests."""
    return [text, *requirements(("dev", "browser"))]


def set_up(text: str) -> None:
    """Make `.venv-colab`, or finish one that is incomplete or out of date. Safe to interrupt and repeat."""
    if is_ready(text):
        return
    print(f"Setting up {FOLDER} with these versions.", flush=True)
    try:
        venv.make(FOLDER)
        exact = FOLDER / "constraints.txt"
        exact.write_text(text, encoding="utf-8")
        venv.fill(FOLDER, exact, made_from(text)[1:], "Colab's versions of what the course needs")
        venv.set_stamp(FOLDER, made_from(text))
    except OSError as problem:
        raise SetUpError(str(problem)) from None

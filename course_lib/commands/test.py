"""`test`: everything that must hold, in one pytest run."""

import argparse
import sys

from course_lib.commands import environment

HELP = "runs the unit tests, the notebook lint, and every notebook against its stored output"
PASSES_ON = True
CELL_SECONDS = 900  # for one notebook cell, on a machine much slower than the one it was written on


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fast", action="store_true", help="leave the notebooks out")
    parser.epilog = "All other arguments go to pytest; files among them are run instead of everything."


def run(args: argparse.Namespace) -> int:
    """Run pytest once over unit tests and notebooks; returns its exit code."""
    if not environment.is_repository():
        raise environment.SetUpError("The tests are in the course's repository; run this in a copy of it.")
    command = [sys.executable, "-m", "pytest", *arguments(args.fast, args.rest)]
    return environment.become(command, env=environment.child_environment(), cwd=environment.ROOT)


def arguments(fast: bool, rest: list[str]) -> list[str]:
    """pytest's arguments. Files in `rest` (a.py, a.py::test, a.ipynb) take the place of all tests."""
    chosen = any(one.split("::")[0].endswith((".py", ".ipynb")) for one in rest if not one.startswith("-"))
    paths = [] if chosen else ["tests"] if fast else ["tests", "notebooks"]
    notebooks = [
        "--nbval",
        "--nbval-current-env",
        f"--nbval-cell-timeout={CELL_SECONDS}",
        "--nbval-sanitize-with=tests/nbval_sanitize.cfg",
    ]
    return [*paths, *([] if fast else notebooks), *rest]

"""`test`: everything that must hold, in one pytest run."""

import argparse
import os
import sys

from course_lib.commands import browser, environment

HELP = "runs the unit tests, the notebook lint, and every notebook against its stored output"
PASSES_ON = True
CELL_SECONDS = 900  # for one notebook cell, on a machine much slower than the one it was written on
PROCESSES = 2  # several times as many need several times the memory, and the card's, for models of their own
NBVAL = (
    "--nbval",
    "--nbval-current-env",
    f"--nbval-cell-timeout={CELL_SECONDS}",
    "--nbval-sanitize-with=tests/nbval_sanitize.cfg",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fast", action="store_true", help="leave the notebooks out")
    parser.add_argument(
        "--browser", action="store_true", help="only the widgets in a browser; installs Chromium where it can"
    )
    parser.epilog = "All other arguments go to pytest; files among them are run instead of everything."


def run(args: argparse.Namespace) -> int:
    """Run pytest once over unit tests and notebooks; returns its exit code."""
    if not environment.is_repository():
        raise environment.SetUpError("The tests are in the course's repository; run this in a copy of it.")
    variables = environment.child_environment()
    if args.browser:
        browser.provide()
        variables["COURSE_BROWSER"] = "1"
    command = [sys.executable, "-m", "pytest", *arguments(args.fast, args.rest, args.browser)]
    return environment.become(command, env=with_threads(command, variables), cwd=environment.ROOT)


def with_threads(command: list[str], variables: dict[str, str]) -> dict[str, str]:
    """The environment in which each of several processes has its share of the cores."""
    share = {"OMP_NUM_THREADS": str(max(1, cores() // PROCESSES))}
    return share | variables if "-n" in command else variables


def arguments(fast: bool, rest: list[str], in_browser: bool = False) -> list[str]:
    """pytest's arguments. Files in `rest` (a.py, a.py::test, a.ipynb) take the place of all tests.

    Everything is shared out between two processes, file by file, where there are two cores; but not what is
    done in a browser, where pictures are timed.
    """
    if in_browser:
        return ["tests/browser", "-s", *rest]
    chosen = any(one.split("::")[0].endswith((".py", ".ipynb")) for one in rest if not one.startswith("-"))
    paths = [] if chosen else ["tests"] if fast else ["tests", "notebooks"]
    return [*paths, *([] if fast else NBVAL), *([] if chosen else shared_out()), *rest]


def shared_out() -> list[str]:
    """pytest's arguments that share the files out between processes, where there are cores for them."""
    in_order = ["--dist", "loadfile", "--no-loadscope-reorder"]
    return [] if cores() < PROCESSES else ["-n", str(PROCESSES), *in_order]


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

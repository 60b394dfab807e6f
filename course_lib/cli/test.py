"""`test`: all checks, in one pytest run."""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from course_lib.cli import browser, environment, plain
from course_lib.cli.arguments import device
from course_lib.cli.requirements import require_repository
from course_lib.utils.device import require_device

HELP = "runs the unit tests, the notebook lint, and every notebook against its stored output"
PASSES_ON = True
CELL_SECONDS = 900  # for one notebook cell, on a machine much slower than the one it was written on
LEAST, SECOND = 300, "second:0"  # tests on a device; the one made of CPU memory
ENOUGH = ("torch", "pytest", "hypothesis", "jaxtyping", "beartype")  # for the tests of a device
PROCESSES = 2  # each further process needs as much memory again, on the GPU too, for its own models
QUICK, SLOW_TOO = ("-m", "not slow"), ("-m", "")  # the last -m counts
NOT_MINE = {"COURSE_PROGRESS": "", "MATPLOTLIBRC": os.devnull}  # stored outputs are those of a new user
NBVAL = (
    "--ignore-glob=*/before-update/*",  # copies of a student's own, made by `update`
    "--nbval",
    "--nbval-current-env",
    f"--nbval-cell-timeout={CELL_SECONDS}",
    "--nbval-sanitize-with=tests/nbval_sanitize.cfg",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fast", action="store_true", help="skip the notebooks, and the tests that are marked slow"
    )
    parser.add_argument(
        "--browser",
        action="store_true",
        help="test only the widgets, in a browser; installs Chromium where possible",
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        help="imitate a different machine: plain CPU kernels, no data, no network; finds unstable digits",
    )
    parser.add_argument(
        "--device",
        type=device,
        help=f"run only the tests of devices, on this one, in about 10 minutes; at least {LEAST} must pass",
    )
    parser.add_argument(
        "--second-device",
        dest="device",
        action="store_const",
        const=SECOND,
        help="the same on one made of CPU memory, which finds operations on tensors of two devices",
    )
    parser.epilog = "All other arguments are passed on to pytest; if they name files, only those are tested."


def run(args: argparse.Namespace) -> int:
    """Run pytest once over unit tests and notebooks; returns its exit code."""
    require_repository("The tests")
    variables = environment.child_environment() | NOT_MINE
    if args.browser:
        browser.provide()
        variables["COURSE_BROWSER"] = "1"
    if args.device:
        require_device(None if args.device == SECOND else args.device, "--device")
        some = any(one.startswith(("-k", "-m")) or not one.startswith("-") for one in args.rest)
        least = 0 if some else LEAST
        variables |= {"COURSE_TEST_DEVICE": args.device, "COURSE_LEAST_TESTS": str(least)}
    fast = args.fast or bool(args.device)
    rest = [*SLOW_TOO, *args.rest] if args.device else args.rest
    command = [sys.executable, "-m", "pytest", *arguments(fast, rest, args.browser)]
    if args.plain:
        with tempfile.TemporaryDirectory() as folder:
            variables = plain.variables(variables, Path(folder))
            return subprocess.call([*command, *plain.ARGUMENTS], env=variables, cwd=environment.ROOT)
    return environment.become(command, env=with_threads(command, variables), cwd=environment.ROOT)


def with_threads(command: list[str], variables: dict[str, str]) -> dict[str, str]:
    """Environment variables that divide the cores among several processes."""
    share = {"OMP_NUM_THREADS": str(max(1, cores() // PROCESSES))}
    return share | variables if "-n" in command else variables


def arguments(fast: bool, rest: list[str], in_browser: bool = False) -> list[str]:
    """pytest's arguments. Files in `rest` replace all tests."""
    if in_browser:  # these tests measure time: one process
        return ["tests/browser", "-s", *rest]
    chosen = bool(files(rest))
    paths = [] if chosen else ["tests"] if fast else ["tests", "notebooks"]
    return [*paths, *(QUICK if fast else NBVAL), *([] if chosen else shared_out()), *rest]


def files(rest: list[str]) -> list[str]:
    """The files among pytest's arguments, such as a.py, a.py::test and a.ipynb."""
    return [one for one in rest if one.partition("::")[0].endswith((".py", ".ipynb")) and one[0] != "-"]


def shared_out() -> list[str]:
    """pytest's arguments that divide the files among processes, if there are enough cores."""
    in_order = ["--dist", "loadfile", "--no-loadscope-reorder"]
    return [] if cores() < PROCESSES else ["-n", str(PROCESSES), *in_order]


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

"""`refresh`: runs notebooks in a fresh kernel and stores the outputs that have changed."""

import argparse
import copy
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from course_lib.cli import arguments, lint, notebook_io
from course_lib.cli.environment import ROOT, child_environment
from course_lib.cli.unchanged import keep_unchanged
from course_lib.utils.progress_bar import say, tracked

STARTUP = 300  # seconds within which a kernel must start, on a busy machine
HELP = "runs notebooks in a fresh kernel and stores the outputs that have changed"


class NotebookFailed(Exception):
    """A notebook failed; the message names the cell and what it raised."""


class ThisPython(KernelSpecManager):
    """Whatever kernel a notebook names, it runs in the Python that runs this command."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(resource_dir=RESOURCES, **get_kernel_dict())


class KernelOfThisPython(AsyncKernelManager):
    """A kernel in the Python that runs this command."""

    def __init__(self, **settings: Any):
        super().__init__(kernel_spec_manager=ThisPython(), **settings)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "notebooks", nargs="*", type=arguments.file, help="files (default: all in notebooks/)"
    )
    timeout = arguments.integer(1, 7 * 24 * 3600)
    parser.add_argument(
        "--timeout", type=timeout, default=900, help="time limit for one cell, in seconds (default: 900)"
    )
    parser.add_argument(
        "--clean",
        action="store_true",
        help="run nothing; only remove what varies between runs from the stored outputs",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="store all outputs of this run, even where only a picture's bytes or numbers behind ≈ differ",
    )


def run(args: argparse.Namespace) -> int:
    """Refresh or clean each notebook; returns 1 if one fails, cannot be read, or breaks a rule."""
    failed = False
    paths = args.notebooks or sorted((ROOT / "notebooks").glob("*.ipynb"))
    for path in tracked(paths, "cleaning" if args.clean else "running", "notebook"):
        say(f"{path}: {'cleaning' if args.clean else 'running'}")
        try:
            arguments.require_writable(path.resolve().parent)  # not only after minutes of running
            clean(path) if args.clean else refresh(path, args.timeout, args.all)
        except (NotebookFailed, OSError, ValueError) as problem:
            said = getattr(problem, "strerror", None) or problem
            print(f"{path}: {said}; the file is unchanged", file=sys.stderr)
            failed = True
            continue
        problems = lint.problems(path)
        for line in ["cleaned" if args.clean else "refreshed", *problems]:
            say(f"{path}: {line}")
        failed = failed or bool(problems)
    return int(failed)


def clean(path: Path) -> None:
    """Remove what varies from run to run from one stored notebook, without running it."""
    nb = notebook_io.read(path)
    notebook_io.clean(nb)
    notebook_io.write(nb, path)


def refresh(path: Path, timeout: int = 900, store_all: bool = False) -> None:
    """Run one notebook in its own folder and replace it by the result, cleaned.

    The file is unchanged until the whole notebook has run. Unless `store_all`, cells whose code and outputs
    are the same keep what is stored (`keep_unchanged`), so that a diff shows only what has changed.
    Raises NotebookFailed if a cell raises, takes longer than `timeout` seconds, or kills its kernel.
    """
    nb = notebook_io.read(path)
    stored = copy.deepcopy(nb)
    execute(nb, path.resolve().parent, timeout)
    notebook_io.clean(nb)
    if not store_all:
        keep_unchanged(stored, nb)
    notebook_io.write(nb, path)


def execute(nb: NotebookNode, folder: Path, timeout: int) -> None:
    """Run all code cells in a new kernel, in place. Raises NotebookFailed."""
    nb.metadata.pop("widgets", None)
    client = NotebookClient(
        nb,
        kernel_manager_class=KernelOfThisPython,  # a manager passed as `km` would leave its kernel running
        timeout=timeout,
        startup_timeout=STARTUP,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
    )
    with ExitStack() as stack:
        settings = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        try:
            stack.enter_context(client.setup_kernel(env=everyones(settings)))
        except RuntimeError as error:
            raise NotebookFailed(f"no kernel started: {error}") from None
        for number, cell in enumerate(nb.cells, start=1):
            try:
                client.execute_cell(cell, number - 1)
            except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
                raise NotebookFailed(f"{notebook_io.place(number, cell)} {_reason(error, timeout)}") from None


def everyones(settings: str) -> dict[str, str]:
    """The kernel's environment variables: the same outputs each time and for everyone.

    settings: an empty folder, in place of the user's settings of IPython.
    """
    return child_environment() | {
        "PYTHONHASHSEED": "0",  # a fixed order of sets
        "PYTHONWARNINGS": "",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MATPLOTLIBRC": os.devnull,
        "IPYTHONDIR": settings,
        "COURSE_PROGRESS": "",  # what the user has passed is not stored
    }


def _reason(error: Exception, timeout: int) -> str:
    if isinstance(error, CellExecutionError):
        return f"raised {error.ename}: {error.evalue}"
    return f"took longer than {timeout} s" if isinstance(error, CellTimeoutError) else "killed its kernel"

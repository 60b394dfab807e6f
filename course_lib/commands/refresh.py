"""`refresh`: run notebooks from a clean kernel and store what they show."""

import argparse
from pathlib import Path

from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from course_lib.commands import lint, stored
from course_lib.commands.environment import ROOT, child_environment

HELP = "run notebooks from a clean kernel and store what they show"


class NotebookFailed(Exception):
    """A notebook did not run to its end; the message names the cell and what it raised."""


class ThisPython(KernelSpecManager):
    """Whatever kernel a notebook names, it runs in the Python that runs this command."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(resource_dir=RESOURCES, **get_kernel_dict())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which notebooks, and how long a cell may take."""
    parser.add_argument("notebooks", nargs="*", type=Path, help="files (default: all in notebooks/)")
    parser.add_argument(
        "--timeout", type=int, default=900, help="seconds that one cell may take (default: 900)"
    )


def run(args: argparse.Namespace) -> int:
    """Refresh each notebook; 1 where one did not run to its end, cannot be read, or breaks a rule."""
    failed = False
    for path in args.notebooks or sorted((ROOT / "notebooks").glob("*.ipynb")):
        print(f"{path}: running", flush=True)
        try:
            refresh(path, args.timeout)
        except (NotebookFailed, OSError, ValueError) as problem:
            print(f"{path}: {problem}\n{path}: left as it was")
            failed = True
            continue
        problems = lint.problems(path)
        print(*(f"{path}: {problem}" for problem in problems or ["refreshed"]), sep="\n")
        failed = failed or bool(problems)
    return int(failed)


def refresh(path: Path, timeout: int = 900) -> None:
    """Run one notebook in its own folder and put the result, cleaned, in its place.

    The file is untouched until the whole notebook has run.
    Raises NotebookFailed where a cell raises, takes longer than `timeout` seconds, or kills its kernel;
    ValueError where there is no such file, or it is not a notebook.
    """
    if not path.is_file():
        raise ValueError("there is no such notebook")
    nb = stored.read(path)
    execute(nb, path.resolve().parent, timeout)
    stored.clean(nb)
    stored.write(nb, path)


def execute(nb: NotebookNode, folder: Path, timeout: int) -> None:
    """Run all code cells in a new kernel, in place. Raises NotebookFailed."""
    nb.metadata.pop("widgets", None)
    kernel = AsyncKernelManager(kernel_spec_manager=ThisPython())
    client = NotebookClient(
        nb,
        km=kernel,
        timeout=timeout,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
    )
    # Sets in one order, figures from one backend, no exercises passed: the same outputs each time.
    environment = child_environment() | {
        "PYTHONHASHSEED": "0",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "COURSE_PROGRESS": "",  # what the user has passed is not stored
    }
    with client.setup_kernel(env=environment):
        for number, cell in enumerate(nb.cells, start=1):
            try:
                client.execute_cell(cell, number - 1)
            except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
                raise NotebookFailed(f"{stored.place(number, cell)} {_reason(error, timeout)}") from None


def _reason(error: Exception, timeout: int) -> str:
    if isinstance(error, CellExecutionError):
        return f"raised {error.ename}: {error.evalue}"
    return f"took longer than {timeout} s" if isinstance(error, CellTimeoutError) else "killed its kernel"

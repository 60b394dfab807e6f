"""Runs in the twin alone (`python -m course_lib colab-test`): the setup cell of a fork, run as on Colab.

A copy of the repository is stamped as a fork, its archive served on this machine, and the cell run by a
kernel of a fresh environment that sees Colab's packages and nothing of the course or of its tools. What the
course needs beyond that comes from the package index.
"""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path

import pytest
from helpers.colab_packages import carried
from helpers.file_server import served
from jupyter_client.manager import KernelManager
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from course_lib.cli import colab
from course_lib.cli.environment import ROOT
from course_lib.cli.requirements import installed

REPO, BRANCH = "teacher/fork", "spring"
LOADED = "import IPython, ipywidgets, matplotlib.pyplot, numpy, pandas, torch"  # before the setup cell
SECONDS = 1800  # for a cell, on a machine with much else to do
# All that the course needs and Colab lacks; colorama, lxml, portalocker and tabulate are sacrebleu's.
NEEDED = {"course-lib", "jaxtyping", "wadler-lindig", "anywidget", "psygnal"}
NEEDED |= {"sacrebleu", "colorama", "lxml", "portalocker", "tabulate"}


@pytest.fixture(scope="module")
def fork(tmp_path_factory) -> Path:
    """A copy of the repository, stamped with `python -m course_lib colab`."""
    folder = tmp_path_factory.mktemp("fork") / f"fork-{BRANCH}"
    leave = shutil.ignore_patterns(".*", "__pycache__", "artifacts", "runs", "build", "dist")
    shutil.copytree(ROOT, folder, ignore=leave)
    command = [sys.executable, "-m", "course_lib", "colab", "--repo", REPO, "--branch", BRANCH]
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run(command, cwd=folder, env=clean, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """The Python of a fresh environment that sees Colab's packages: links to those of the twin."""
    folder = tmp_path_factory.mktemp("colab")
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    pip = [folder / "env" / "bin" / "python", "-m", "pip"]
    subprocess.run([*pip, "uninstall", "-qy", "setuptools"], check=True)  # the twin's takes its place
    here, seen = Path(sysconfig.get_path("purelib")), folder / "packages"
    seen.mkdir()
    for name in with_requirements([name for name in carried() if name != "python"]):
        for top in {file.parts[0] for file in distribution(name).files} - {"..", "__pycache__"}:
            link = seen / top
            if not link.exists():
                link.symlink_to(here / top)
    site = next((folder / "env").glob("lib/python*/site-packages"))
    (site / "colab.pth").write_text(f"{seen}\n", encoding="utf-8")
    return folder / "env" / "bin" / "python"


def with_requirements(names: list[str]) -> set[str]:
    """The installed packages among `names`, all they need, and the extras of that ("cuda-toolkit[nvrtc]")."""
    seen: set[tuple[str, str]] = set()
    waiting = [(canonicalize_name(name), "") for name in names]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen or not installed(name):
            continue
        seen.add((name, extra))
        for one in map(Requirement, distribution(name).requires or []):
            if not one.marker or one.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(one.name), wanted) for wanted in ("", *one.extras)]
    return {name for name, _ in seen}


@pytest.fixture(scope="module")
def address(fork, tmp_path_factory) -> Iterator[str]:
    """The address, on this machine only, of a server that gives the fork's archive as GitHub does."""
    folder = tmp_path_factory.mktemp("served")
    archive = folder / REPO / "archive" / f"{BRANCH}.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for one in sorted(fork.rglob("*")):
            file.write(one, one.relative_to(fork.parent))
    with served(folder) as here:
        yield here


@contextmanager
def kernel(python: Path, folder: Path) -> Iterator:
    """A function that runs a cell in a kernel of `python` and returns what it printed; none may fail."""
    manager = KernelManager()
    manager.kernel_spec.argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    hidden = ("PYTHONPATH", "VIRTUAL_ENV")
    variables = {key: value for key, value in os.environ.items() if key not in hidden}
    variables |= {
        "COLAB_RELEASE_TAG": "colab-test",
        "MPLBACKEND": "agg",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    variables |= {"IPYTHONDIR": str(folder / "ipython")}
    manager.start_kernel(env=variables, cwd=str(folder))
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=SECONDS)
        yield functools.partial(run_cell, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def run_cell(client, code: str) -> str:
    printed: list[str] = []

    def hear(message: dict) -> None:
        content = message["content"]
        printed.append(content.get("text") or "\n".join(content.get("traceback", [])))

    reply = client.execute_interactive(code, output_hook=hear, timeout=SECONDS)
    assert reply["content"]["status"] == "ok", "".join(printed)
    return "".join(printed)


def cell_of(fork: Path) -> str:
    """The setup cell, the same in all notebooks of the fork."""
    cells = set()
    for path in sorted((fork / "notebooks").glob("[0-9A][0-9]*_*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        code = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
        cells.add("".join(code["source"]))
    assert len(cells) == 1
    return cells.pop()


def frozen(python: Path) -> dict[str, str]:
    """`pip list` of that Python: all packages it sees, with their versions."""
    command = [python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"]
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, env=clean, check=True, capture_output=True, text=True)
    return {canonicalize_name(one["name"]): one["version"] for one in json.loads(done.stdout)}


def test_the_set_up_cell_of_a_fork_changes_no_package(fork, python, address, tmp_path):
    """In one kernel, without a restart: what it has loaded, the setup cell, a widget that moves."""
    before = frozen(python)
    assert before["ipywidgets"] == "7.7.1" and not {"course-lib", "jaxtyping", "sacrebleu", "pytest"} & set(
        before
    )
    with kernel(python, tmp_path) as run:
        versions = f"{LOADED}\nprint(numpy.__version__, torch.__version__, ipywidgets.__version__)"
        loaded = run(versions)
        said = re.sub(r"\x1b\[[\d;]*m", "", run(cell_of(fork).replace(colab.GITHUB, address)))  # no colors
        assert said.splitlines()[-1].startswith("≈ device: ") and "restart" not in said, said
        assert run(versions) == loaded
        where = run("import course_lib; print(course_lib.__file__)")
        assert where.startswith(str(python.parents[1]))
        run("from course_lib.utils.files import PACKAGE, data_folder\nassert data_folder().parent == PACKAGE")
        run("assert list(data_folder().glob('*.csv')) and (PACKAGE / 'lectures' / 'coverage.csv').is_file()")
        run("from course_lib.chapters.ch01_softmax import softmax_explorer\nwidget = softmax_explorer()")
        run("before = widget.image.value\nwidget.controls['d'].value *= 4")
        run("assert widget.image.value != before")
    after = frozen(python)
    assert {name: version for name, version in after.items() if name in before} == before
    unneeded = sorted(after.keys() - before.keys() - NEEDED)
    assert not unneeded, f"the setup cell installs {', '.join(unneeded)}, which the course does not need"
    assert {"course-lib", "jaxtyping", "sacrebleu"} <= after.keys()

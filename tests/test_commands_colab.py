"""`colab`: badges, set-up cells, and what the set-up cell does in a kernel that lacks the course."""

import contextlib
import http.server
import json
import os
import subprocess
import sys
import threading
import zipfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_lib.commands import colab
from course_lib.commands.venv import SetUpError

ROOT = Path(__file__).resolve().parents[1]
README = f"# Course\n\n{colab.MARKS[0]}\nold\n{colab.MARKS[1]}\n\nThe end.\n"


@pytest.fixture
def course(tmp_path) -> Path:
    """A repository of one notebook, executed, and a README."""
    cells = [
        new_markdown_cell("# 1. Title\n\nText, with ünïcode."),
        new_code_cell(colab.setup_cell(None, "main"), execution_count=1),
        new_code_cell("1 + 1", execution_count=2, outputs=[new_output("stream", text="2\n")]),
    ]
    (tmp_path / "notebooks").mkdir()
    nbformat.write(new_notebook(cells=cells), tmp_path / "notebooks" / "01_title.ipynb")
    (tmp_path / "README.md").write_text(README, encoding="utf-8")
    return tmp_path


def read(course: Path) -> nbformat.NotebookNode:
    return nbformat.read(course / "notebooks" / "01_title.ipynb", as_version=4)


@pytest.mark.parametrize("repo", ["owner/name", None])
def test_the_set_up_cell_is_short(repo):
    lines = colab.setup_cell(repo, "main").splitlines()
    assert len(lines) <= 12 and max(map(len, lines)) <= 110
    assert lines[0].startswith("# @title ")  # under which Colab folds it


def test_stamping_changes_only_badge_and_set_up_cell(course):
    before = read(course)
    changed = colab.stamp(course, "owner/name", "spring")
    assert [path.name for path in changed] == ["01_title.ipynb", "README.md"]
    after = read(course)
    badge, _, prose = after.cells[0].source.partition("\n\n")
    assert badge == colab.badge("owner/name", "spring", "01_title.ipynb")
    assert "/github/owner/name/blob/spring/notebooks/01_title.ipynb" in badge
    assert prose == before.cells[0].source
    assert after.cells[1].source == colab.setup_cell("owner/name", "spring")
    assert after.cells[1].metadata.cellView == "form"  # Colab folds it
    assert "/owner/name/archive/spring.zip" in after.cells[1].source
    assert after.cells[1].execution_count == 1 and after.cells[2] == before.cells[2]


def test_stamping_twice_changes_nothing(course):
    colab.stamp(course, "owner/name", "main")
    assert colab.stamp(course, "owner/name", "main") == []


def test_another_repository_takes_the_place_of_the_first(course):
    colab.stamp(course, "owner/name", "main")
    colab.stamp(course, "fork/other", "main")
    everything = "".join(path.read_text(encoding="utf-8") for path in course.rglob("*.*") if path.is_file())
    assert "owner/name/" not in everything and everything.count(colab.BADGE) == 2


def test_without_a_repository_the_file_is_as_it_was(course):
    colab.stamp(course, None, "main")
    before = {path: path.read_bytes() for path in course.rglob("*.*") if path.is_file()}
    colab.stamp(course, "owner/name", "main")
    colab.stamp(course, None, "main")
    assert {path: path.read_bytes() for path in course.rglob("*.*") if path.is_file()} == before


def test_the_readme_keeps_what_is_outside_its_marks(course):
    colab.stamp(course, "owner/name", "main")
    text = (course / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# Course\n") and text.endswith("\n\nThe end.\n") and "old" not in text
    assert colab.badge("owner/name", "main", "01_title.ipynb") in text


def test_a_notebook_without_a_set_up_cell_stops_everything(course):
    other = new_notebook(cells=[new_markdown_cell("# T"), new_code_cell("import numpy")])
    nbformat.write(other, course / "notebooks" / "02_other.ipynb")
    before = read(course)
    with pytest.raises(SetUpError, match="02_other.ipynb"):
        colab.stamp(course, "owner/name", "main")
    assert read(course) == before


@pytest.mark.parametrize(
    "url, repo",
    [
        ("https://github.com/owner/na.me.git", "owner/na.me"),
        ("https://github.com/owner/name", "owner/name"),
        ("https://token@github.com/owner/name.git", "owner/name"),
        ("git@github.com:owner/name.git", "owner/name"),
        ("ssh://git@github.com/owner/name.git", "owner/name"),
        ("https://gitlab.com/owner/name.git", None),
        ("/somewhere/name", None),
    ],
)
def test_origin_is_read_from_the_remote(tmp_path, url, repo):
    for arguments in (["init", "-q"], ["remote", "add", "origin", url]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)
    assert colab.origin(tmp_path) == repo


def test_no_remote_is_no_repository(tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert colab.origin(tmp_path) is None


@pytest.mark.parametrize(
    "repo, branch", [("name", "main"), ("a/b/c", "main"), ("a/b", 'x"; y'), ("a/b", "../x y")]
)
def test_an_impossible_name_is_refused(repo, branch):
    with pytest.raises(SetUpError, match="--repo|--branch"):
        colab.run(Namespace(repo=repo, branch=branch))


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server, on this machine only, for the files of `folder`."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def archive(path: Path) -> None:
    """The repository as GitHub gives it: a zip with one folder."""
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as file:
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            file.write(ROOT / name, f"name-main/{name}")
        for folder in ("course_lib", "data"):
            for one in sorted((ROOT / folder).rglob("*")):
                if one.is_file() and "__pycache__" not in one.parts:
                    file.write(one, f"name-main/{one.relative_to(ROOT).as_posix()}")


def test_the_set_up_cell_fetches_the_course(tmp_path):
    """In a shell that cannot see course_lib; pip builds from the served archive, without a network."""
    archive(tmp_path / "served" / "owner" / "name" / "archive" / "main.zip")
    script = (
        "import json, sys; from IPython.core.interactiveshell import InteractiveShell\n"
        "sys.modules['course_lib'] = None\n"
        "result = InteractiveShell.instance().run_cell(json.loads(sys.argv[1]))\n"
        "sys.exit(0 if result.success else 1)"
    )
    fetching = colab.setup_cell("owner/name", "main").partition("\nfrom course_lib")[0]
    cell = json.dumps(fetching)  # tests/colab runs the whole cell
    with served(tmp_path / "served") as address:
        pip = {"PIP_TARGET": str(tmp_path / "site"), "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1"}
        pip |= {"PIP_NO_BUILD_ISOLATION": "0", "IPYTHONDIR": str(tmp_path / "ipython")}  # "0" switches it on
        variables = {**os.environ, **pip, "COURSE_ARCHIVE": address, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        command = [sys.executable, "-c", script, cell]
        done = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "course_lib" / "lectures" / "coverage.csv").is_file()
    look = "import course_lib.files as f; print(f.data_folder()); print(*sorted(f.data_folder().iterdir()))"
    there = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    found = subprocess.run(
        [sys.executable, "-c", look], env=there, cwd=tmp_path, capture_output=True, text=True
    )
    folder, files = found.stdout.splitlines()
    assert Path(folder) == tmp_path / "site" / "course_lib" / "data" and ".csv" in files


@pytest.mark.parametrize("repo", ["owner/name", None])
def test_the_set_up_cell_only_names_the_device_where_the_course_is(capfd, repo):
    code = colab.setup_cell(repo, "main").replace("%pip", "raise SystemExit #")
    exec(compile(code, "cell", "exec"), {})
    printed, complaint = capfd.readouterr()
    assert printed.startswith("≈ device: ") and printed.count("\n") == 1 and not complaint

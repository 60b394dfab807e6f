"""`colab`: badges, setup cells, and what the setup cell does in a kernel that lacks the course."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import matplotlib
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_lib.cli import colab, front_page
from course_lib.cli.arguments import Parser
from course_lib.cli.github import Repository, origin, repository
from course_lib.cli.venv import SetUpError

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("badges", "start", "notebooks")
README = "# Course\n" + "".join(
    f"\n{front_page.mark(part, 'begin')}\nold\n{front_page.mark(part, 'end')}\n\nProse.\n" for part in PARTS
)
MAIN, SPRING = Repository("owner/name", "main"), Repository("owner/name", "spring")


@pytest.fixture
def course(tmp_path, monkeypatch) -> Path:
    """A repository of one notebook, executed, and a README; the command works on it."""
    cells = [
        new_markdown_cell("# Chapter 1. Title\n\nText, with ünïcode.\n\n**Time:** 45 minutes to read."),
        new_code_cell(colab.setup_cell(None), execution_count=1, metadata={"cellView": "form"}),
        new_code_cell("1 + 1", execution_count=2, outputs=[new_output("stream", text="2\n")]),
    ]
    (tmp_path / "notebooks").mkdir()
    nbformat.write(new_notebook(cells=cells), tmp_path / "notebooks" / "01_title.ipynb")
    (tmp_path / "README.md").write_text(README, encoding="utf-8")
    monkeypatch.setattr(colab, "ROOT", tmp_path)
    return tmp_path


def read(course: Path) -> nbformat.NotebookNode:
    return nbformat.read(course / "notebooks" / "01_title.ipynb", as_version=4)


def contents(course: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in course.rglob("*.*") if path.is_file()}


def run(*arguments: str) -> int:
    parser = Parser()
    colab.add_arguments(parser)
    return colab.run(parser.parse_args(arguments))


@pytest.mark.parametrize("repo", [MAIN, None])
def test_the_set_up_cell_is_short(repo):
    lines = colab.setup_cell(repo).splitlines()
    assert len(lines) <= 23 and max(map(len, lines)) <= 110
    assert lines[0].startswith("# @title ")  # under which Colab folds it


def test_stamping_changes_only_badge_and_set_up_cell_and_only_once(course):
    before = read(course)
    changed = colab.stamp(course, SPRING)
    assert [path.name for path in changed] == ["01_title.ipynb", "README.md"]
    after = read(course)
    badge, _, prose = after.cells[0].source.partition("\n\n")
    assert badge == front_page.colab_badge(SPRING, "01_title.ipynb")
    assert "/github/owner/name/blob/spring/notebooks/01_title.ipynb" in badge
    assert prose == before.cells[0].source
    assert after.cells[1].source == colab.setup_cell(SPRING)
    assert after.cells[1].metadata.cellView == "form"  # Colab folds it
    assert after.cells[1].metadata.jupyter.source_hidden  # and so does JupyterLab
    assert "/owner/name/archive/spring.zip" in after.cells[1].source
    assert after.cells[1].execution_count == 1 and after.cells[2] == before.cells[2]
    assert colab.stamp(course, SPRING) == []


def test_another_repository_takes_the_place_of_the_first(course):
    colab.stamp(course, MAIN)
    colab.stamp(course, Repository("fork/other", "main"))
    everything = b"".join(contents(course).values()).decode()
    # in the notebook, at the top of the README and in its table
    assert "owner/name/" not in everything and everything.count(front_page.BADGE) == 3


def test_without_a_repository_the_file_is_as_it_was(course):
    colab.stamp(course, None)
    before = contents(course)
    colab.stamp(course, MAIN)
    assert contents(course) != before
    colab.stamp(course, None)
    assert contents(course) == before


def test_badges_stay_unless_they_are_to_be_removed(course, capsys):
    colab.stamp(course, SPRING)
    before = contents(course)
    assert run() == 0  # git knows no remote here
    assert contents(course) == before and "owner/name, branch spring" in capsys.readouterr().out
    assert run("--remove") == 0
    assert not colab.stamped_as(course) and b"spring" not in b"".join(contents(course).values())
    with pytest.raises(SystemExit):
        run("--remove", "--repo", "owner/name")


def test_it_ends_with_the_commands_for_git(course, capsys):
    run("--repo", "git@github.com:owner/name.git")
    *_, commit, push = capsys.readouterr().out.splitlines()
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "before"]):
        subprocess.run([*git, *arguments], cwd=course, check=True)
    run("--repo", "other/name")
    words = shlex.split(commit)
    assert words[0] == "git" and push.split() == ["git", "push"]
    subprocess.run([*git, *words[1:]], cwd=course, check=True, capture_output=True)
    left = subprocess.run([*git, "status", "--porcelain"], cwd=course, capture_output=True, text=True).stdout
    assert left == ""
    run("--repo", "other/name")
    assert "git" not in capsys.readouterr().out.splitlines()[-1]  # nothing changed, nothing to commit


def test_the_branch_is_the_one_asked_for_else_the_address_s_else_the_present_one(course):
    assert colab.chosen(MAIN, None, None) == MAIN
    assert colab.chosen(Repository("owner/name"), None, None) == MAIN
    assert colab.chosen(Repository("owner/name"), "spring", None) == SPRING
    assert colab.chosen(Repository("owner/name"), None, SPRING) == SPRING
    assert colab.chosen(Repository("fork/name"), None, SPRING) == Repository("fork/name", "main")
    assert colab.chosen(None, "main", SPRING) == MAIN
    with pytest.raises(SetUpError, match="the branch spring, --branch names main"):
        run("--repo", "https://github.com/owner/name/tree/spring", "--branch", "main")


def test_the_readme_keeps_what_is_outside_its_marks(course):
    colab.stamp(course, SPRING)
    text = (course / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# Course\n") and text.count("\n\nProse.\n") == len(PARTS) and "old" not in text
    assert "git clone https://github.com/owner/name.git\ncd name\n" in text
    assert "https://mybinder.org/v2/gh/owner/name/spring?" in text
    assert "https://owner.github.io/name/" in text


def test_the_table_of_notebooks(course):
    """Titles and times come from the notebooks; what a person has written about each stays."""
    readme = course / "README.md"
    colab.stamp(course, MAIN)
    row = next(line for line in readme.read_text("utf-8").splitlines() if "| **[" in line)
    assert "**[1. Title](notebooks/01_title.ipynb)** | 45 min | [![Open in Colab](" in row
    text = readme.read_text("utf-8").replace("ipynb)** |", "ipynb)**<br>of softmax |")
    readme.write_text(text, encoding="utf-8")
    (course / "docs").mkdir()
    (course / "docs" / "server.md").write_text("| `01_title` | 1.95 |\n", encoding="utf-8")
    colab.stamp(course, None)
    row = next(line for line in readme.read_text("utf-8").splitlines() if "| **[" in line)
    assert row.endswith("ipynb)**<br>of softmax | 45 min<br>needs 1.95 GB: not on Binder |")
    (course / "docs" / "server.md").write_text("| `01_title` | 1.90 |\n", encoding="utf-8")
    colab.stamp(course, None)
    assert "Binder" not in readme.read_text("utf-8")


def test_the_readme_is_as_the_command_leaves_it():
    """Run `python -m course_lib colab` after a change of a notebook's title or time."""
    notebooks = {path.name: path.read_text("utf-8") for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}
    text, memory = ((ROOT / name).read_text("utf-8") for name in ("README.md", "docs/server.md"))
    assert all(front_page.mark(part, "begin") in text for part in PARTS)
    filled = front_page.filled(text, notebooks, memory, colab.stamped_as(ROOT))
    assert filled == text, "run python -m course_lib colab"
    rows = [line for line in text.splitlines() if line.startswith("|") and "](notebooks/" in line]
    assert len(rows) == len(notebooks) and not [row for row in rows if "<br>" not in row]
    assert all(" min" in row for row in rows if "instructor" not in row)
    alts = [alt for row in rows for alt in re.findall(r'<img [^>]*alt="([^"]*)"', row)]
    assert len(set(alts)) == len(list((ROOT / "docs" / "images").glob("thumb_*.png")))
    assert not [alt for alt in alts if alt.startswith("A figure of")]  # says nothing of what is seen


def test_a_notebook_without_a_set_up_cell_stops_everything(course):
    other = new_notebook(cells=[new_markdown_cell("# T"), new_code_cell("import numpy")])
    nbformat.write(other, course / "notebooks" / "02_other.ipynb")
    before = read(course)
    with pytest.raises(SetUpError, match="02_other.ipynb"):
        colab.stamp(course, MAIN)
    assert read(course) == before


SPELLINGS = [
    "owner/na.me",
    "owner/na.me/",
    " owner/na.me.git\n",
    "github.com/owner/na.me",
    "www.github.com/owner/na.me/",
    "http://github.com/owner/na.me",
    "https://github.com/owner/na.me",
    "https://github.com/owner/na.me/",
    "https://github.com/owner/na.me.git",
    "https://github.com/owner/na.me.git/",
    "https://www.GitHub.com/owner/na.me",
    "https://token@github.com/owner/na.me.git",
    "https://github.com/owner/na.me?tab=readme-ov-file#start",
    "https://github.com/owner/na.me/issues/17",
    "git@github.com:owner/na.me.git",
    "git@github.com:owner/na.me",
    "ssh://git@github.com/owner/na.me.git",
    "git clone https://github.com/owner/na.me.git",
]
WITH_BRANCH = {
    "https://github.com/owner/na.me/tree/spring": "spring",
    "github.com/owner/na.me/tree/feature/x/": "feature/x",
    "owner/na.me/tree/spring": "spring",
    "https://github.com/owner/na.me/blob/feature/x/notebooks/01_title.ipynb": "feature/x",
    "https://github.com/owner/na.me/blob/v1.0/README.md#start": "v1.0",
    "https://colab.research.google.com/github/owner/na.me/blob/main/notebooks/01_title.ipynb": "main",
}


@pytest.mark.parametrize("text", [*SPELLINGS, *WITH_BRANCH])
def test_what_a_person_pastes_is_understood(text):
    assert repository(text) == Repository("owner/na.me", WITH_BRANCH.get(text))


def run_cell(
    repo: Repository | None, monkeypatch, folder: Path, address: str = "", failure: str = ""
) -> list:
    """Run the setup cell in `folder`, where the course is missing; returns the commands for pip."""
    cell = colab.setup_cell(repo).partition("\nfrom course_lib")[0]
    started: list = []

    def pip(command, **options):
        started.append(command)
        return subprocess.CompletedProcess(command, int(bool(failure)), stderr=failure)

    monkeypatch.chdir(folder)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "run", pip)
    exec(cell.replace('address = ""', f"address = {address!r}"), {})
    return started


@pytest.mark.parametrize("text", [*SPELLINGS, *WITH_BRANCH])
def test_the_set_up_cell_understands_it_too(text, monkeypatch, tmp_path):
    """As on Colab: the course is missing, and somebody has filled in where it is."""
    (command,) = run_cell(None, monkeypatch, tmp_path, address=text)
    assert command[-1] == "https://github.com/owner/na.me/archive/HEAD.zip"


def test_without_an_address_the_set_up_cell_names_its_python_and_asks_nothing(monkeypatch, tmp_path):
    with pytest.raises(
        RuntimeError, match=f"{re.escape(sys.executable)} lacks .* another kernel or .* address"
    ):
        run_cell(None, monkeypatch, tmp_path)
    assert "input(" not in colab.setup_cell(None)  # in VS Code, a question looks like a cell that hangs


@pytest.mark.parametrize(("repo", "address"), [(MAIN, ""), (None, "owner/name")])
def test_where_pip_refuses_the_set_up_cell_says_why_and_what_to_do(
    repo, address, monkeypatch, tmp_path, capsys
):
    with pytest.raises(RuntimeError, match="externally-managed-environment\n.*python -m course_lib lab"):
        run_cell(repo, monkeypatch, tmp_path, address, failure="error: externally-managed-environment")
    assert f"Installing the course into {sys.executable}" in capsys.readouterr().out


@pytest.mark.parametrize("repo", [MAIN, None])
@pytest.mark.parametrize("folder", ["notebooks", "handed/out", "."])
def test_the_set_up_cell_sees_the_checkout_that_it_lies_in(repo, folder, tmp_path):
    """In a kernel that lacks the course, as of VS Code or of environment.yml: no second copy."""
    (tmp_path / "course_lib" / "cli").mkdir(parents=True)
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    for name in ("__init__.py", "cli/__init__.py"):
        (tmp_path / "course_lib" / name).touch()
    start = "def start():\n    print('started in', __file__)\n"
    (tmp_path / "course_lib" / "cli" / "first_cell.py").write_text(start, encoding="utf-8")
    command = [sys.executable, "-I", "-S", "-c", colab.setup_cell(repo)]
    done = subprocess.run(command, cwd=tmp_path / folder, capture_output=True, text=True)
    assert done.stdout.startswith("started in ") and str(tmp_path.name) in done.stdout, done.stderr


@pytest.mark.parametrize(
    "url, repo",
    [
        ("https://github.com/owner/na.me.git", Repository("owner/na.me")),
        ("https://token@github.com/owner/na.me.git", Repository("owner/na.me")),
        ("git@github.com:owner/na.me.git", Repository("owner/na.me")),
        ("https://gitlab.com/owner/name.git", None),
        ("/somewhere/name", None),
        ("somewhere/name", None),  # a folder, as far as git is concerned
        ("", None),  # no remote
    ],
)
def test_origin_is_read_from_the_remote(tmp_path, url, repo):
    for arguments in (["init", "-q"], *([["remote", "add", "origin", url]] if url else [])):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)
    assert origin(tmp_path) == repo


@pytest.mark.parametrize("repo", [MAIN, None])
def test_the_set_up_cell_only_names_the_device_where_the_course_is(capfd, repo, monkeypatch):
    code = colab.setup_cell(repo).replace("    archive = ", "    raise SystemExit  # ")
    monkeypatch.setattr(sys, "path", [*sys.path])
    with matplotlib.rc_context():  # the cell sets the style of figures
        exec(compile(code, "cell", "exec"), {})
    printed, complaint = capfd.readouterr()
    assert printed.startswith("≈ device: ") and printed.count("\n") == 1 and not complaint

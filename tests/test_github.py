"""What GitHub reads: the citation, the forms for issues, and the workflow that stamps a fork."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from course_lib.cli import colab
from course_lib.cli.environment import ROOT
from course_lib.cli.github import Repository
from course_lib.cli.requirements import project

FORMS = [path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml"]
STAMP = ROOT / ".github" / "workflows" / "stamp.yml"
REPOSITORY = "teacher/fork"


def parsed(path: Path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_citation_is_that_of_this_version():
    citation = parsed(ROOT / "CITATION.cff")
    assert citation.keys() >= {"cff-version", "message", "title", "authors"}  # what its schema requires
    assert citation["version"] == project()["version"]
    assert sorted(citation["license"]) == sorted(project()["license"].split(" AND "))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^## (\d\S*)$", changes)[0] == citation["version"]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_a_form_has_what_github_requires(form):
    fields = parsed(form)
    assert fields["name"] and fields["description"]
    names = [field["id"] for field in fields["body"]]
    assert len(set(names)) == len(names)
    for field in fields["body"]:
        assert field["type"] in ("input", "textarea", "dropdown") and field["attributes"]["label"]
        assert (field["type"] == "dropdown") == ("options" in field["attributes"])


@pytest.fixture
def fork(tmp_path) -> Path:
    """A clone of a fork that nobody has stamped: the part of the course that the command needs."""
    folder = tmp_path / "clone"
    for name in ("course_lib", "notebooks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "pyproject.toml", "constraints.txt", "docs/server.md"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    colab.stamp(folder, None)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "remote"], check=True)
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["commit", "-qm", "before"],
        ["remote", "add", "origin", tmp_path / "remote"],
        ["push", "-q", "origin", "main"],
    ):
        subprocess.run([*git, *arguments], cwd=folder, check=True)
    return folder


def run_job(job: str, folder: Path) -> str:
    """Run a job's scripts as GitHub does, without the actions of others; returns what they printed."""
    variables = {
        **os.environ,
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_REF_NAME": "main",
        "GITHUB_STEP_SUMMARY": str(folder.parent / "summary.md"),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    said = ""
    for step in parsed(STAMP)["jobs"][job]["steps"]:
        if "run" in step:
            command = ["bash", "-e", "-o", "pipefail", "-c", step["run"]]
            done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
            said += done.stdout
    return said


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot run GitHub's bash scripts as Linux does")
def test_the_workflow_stamps_a_fork_and_pushes_once(fork):
    assert "choose 'stamp'" in run_job("offer", fork)
    assert "choose 'stamp'" in (fork.parent / "summary.md").read_text(encoding="utf-8")
    run_job("stamp", fork)
    assert colab.stamped_as(fork) == Repository(REPOSITORY, "main")
    log = ["git", "log", "--format=%s", "main"]
    pushed = subprocess.run(log, cwd=fork.parent / "remote", capture_output=True, text=True).stdout
    assert pushed.splitlines() == [f"Badges and setup cells point at {REPOSITORY}", "before"]
    left = subprocess.run(["git", "status", "--porcelain"], cwd=fork, capture_output=True, text=True).stdout
    assert left == ""
    assert "choose 'stamp'" not in run_job("offer", fork)
    assert "nothing to commit" in run_job("stamp", fork)

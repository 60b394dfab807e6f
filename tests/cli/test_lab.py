"""`lab`: its start page, and the settings with which JupyterLab opens it."""

import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import nbformat
import pytest
from nbconvert import get_exporter
from traitlets.config import Config

from course_lib.cli import environment, lab
from course_lib.utils import progress

ROOT = Path(__file__).resolve().parents[2]


def a_notebook(folder: Path, name: str, *sources: str) -> None:
    cells = [{"cell_type": "code", "source": source.splitlines(keepends=True)} for source in sources]
    (folder / f"{name}.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """A folder with three notebooks and a broken one; the first exercise of the first notebook is passed."""
    monkeypatch.setattr(progress, "_session", {})
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress"))
    progress.remember("01.scores")
    progress.remember("01.1", "right", "b")
    notebooks = tmp_path / "notebooks"
    notebooks.mkdir()
    checks = 'check("01.scores", a)\ncheck("01.scores", b)\ncheck("01.mask", c)'
    a_notebook(notebooks, "01_first chapter", "# Chapter 1. Scores | masks\n# a comment", checks)
    a_notebook(notebooks, "01b_more", "# More")
    a_notebook(notebooks, "A1_claims", "# Claims")
    (notebooks / "02_broken.ipynb").write_text("{", encoding="utf-8")
    return notebooks


def test_the_start_page_has_a_row_per_notebook_with_the_exercises_that_are_passed(folder: Path) -> None:
    *rows, empty, answered, kept = lab.start_page(folder).splitlines()
    assert not empty and "1 of 1" in answered and str(folder.parent / "progress") in kept
    assert rows[-4:] == [
        r"| [Chapter 1. Scores \| masks](01_first%20chapter.ipynb) | ■□ | 1 of 2 |",
        "| &emsp;[More](01b_more.ipynb) |  |  |",
        "| [02_broken](02_broken.ipynb) |  |  |",
        "| &emsp;[Claims](A1_claims.ipynb) |  |  |",
    ]


def test_the_start_page_of_the_course_lists_every_notebook_with_its_title() -> None:
    page = lab.start_page(ROOT / "notebooks")
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"({path.name})" in page and f"[{path.stem}]" not in page


def test_lab_needs_no_torch() -> None:
    code = "import sys, course_lib.cli.lab; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_lab_opens_the_page_with_the_course_settings(folder: Path, monkeypatch) -> None:
    calls = []
    monkeypatch.setattr(environment, "ROOT", folder.parent)
    monkeypatch.setattr(environment, "become", lambda command, **more: calls.append((command, more)) or 0)
    for name in ("JUPYTER_CONFIG_PATH", "JUPYTER_PATH"):
        monkeypatch.setenv(name, "/theirs")
    lab.run(Namespace(no_browser=True, port=9001, rest=[]))
    (command, more), = calls  # fmt: skip
    assert "--LabApp.default_url=/lab/tree/START.md" in command
    assert (folder / "START.md").read_text(encoding="utf-8") == lab.start_page(folder)
    for name, file in (
        ("JUPYTER_CONFIG_PATH", "labconfig/default_setting_overrides.json"),
        ("JUPYTER_PATH", "nbconvert/templates/course/index.html.j2"),
    ):
        ours, theirs = more["env"][name].split(os.pathsep)
        assert (Path(ours) / file).exists() and theirs == "/theirs"


def test_lab_opens_without_the_page_where_it_cannot_be_written(folder: Path, monkeypatch, capsys) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path.parent))

    monkeypatch.setattr(lab, "atomic_path", refuse)
    assert lab.start_at(folder) == [] and f"{folder}: Permission denied" in capsys.readouterr().out


def test_jupyterlab_reads_the_settings() -> None:
    code = (
        "import json; from jupyterlab_server.settings_utils import _get_overrides;"
        "print(json.dumps(_get_overrides('/nowhere')[0]))"
    )
    variables = {**os.environ, "JUPYTER_CONFIG_PATH": str(lab.SETTINGS)}
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert found["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"


@pytest.mark.parametrize("kind, wrapped", [("html", True), ("webpdf", False), ("slides", False)])
def test_a_page_made_in_lab_wraps_long_lines_on_paper(monkeypatch, kind: str, wrapped: bool) -> None:
    """The settings of `lab` reach pages; exporters that inherit from theirs keep their own templates."""
    monkeypatch.setenv("JUPYTER_PATH", str(lab.SETTINGS))
    settings = json.loads((lab.SETTINGS / "jupyter_server_config.json").read_text(encoding="utf-8"))
    exporter = get_exporter(kind)(config=Config(settings))
    assert exporter.template_name == {"html": "course", "webpdf": "webpdf", "slides": "reveal"}[kind]
    if wrapped:
        page, _ = exporter.from_notebook_node(nbformat.v4.new_notebook())
        rule = page.partition("@media print {\n  .highlight pre")[2]
        assert rule.startswith(", .jp-OutputArea-output pre { white-space: pre-wrap")

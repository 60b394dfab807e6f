"""Notebooks run in place: what is kept, what is dropped, and what a failure leaves behind."""

import argparse
import json
import os
import re
from pathlib import Path

import nbformat
import psutil
import pytest
from helpers.strict_nbval import nbval
from nbformat import NotebookNode

from course_lib.cli import notebook_io
from course_lib.cli import refresh as command
from course_lib.cli.refresh import NotebookFailed, refresh

SHOWN = [
    "import os, sys\nfor i in range(3):\n    print(i, flush=True)",
    "print(os.path.exists('beside.txt'))\nprint('≈', os.environ.get('PYTHONHASHSEED'))",
    "import matplotlib.pyplot as plt, ipywidgets\nfrom course_lib.viz.figures import show, show_widget",
    "fig, ax = plt.subplots(figsize=(2, 1))\nax.plot([1, 2])\nshow(fig, alt='A line that rises.')",
    "box = ipywidgets.VBox([ipywidgets.FloatSlider(), ipywidgets.Image()])\nshow_widget(box, 'a slider.')",
    "from tqdm.auto import tqdm\nfor i in tqdm(range(50), leave=False):\n    pass",
    "6 * 7",
    "import json\njson.loads('{')",
]
KERNEL = "from pathlib import Path\nimport os\n_ = Path('kernel').write_text(str(os.getpid()))"


def write(path: Path, *sources: str, **changes: object) -> Path:
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    nb.update(changes)
    path.write_text(nbformat.v4.writes(nb), encoding="utf-8")
    return path


def untidy(path: Path) -> Path:
    """As an editor leaves it: no ids, old counts and outputs, another kernel, the state of widgets."""
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in SHOWN])
    nb.metadata = {
        "kernelspec": {"display_name": "my env", "name": "my-env"}, "accelerator": "GPU",
        "language_info": {"name": "python", "version": "3.9"},
        "widgets": {"application/vnd.jupyter.widget-state+json": {}},
    }  # fmt: skip
    nb.nbformat_minor = 4
    for cell in nb.cells:
        del cell["id"]
        cell.update(execution_count=40, outputs=[nbformat.v4.new_output("stream", name="stdout", text="old")])
        tag = "raises-exception" if "json" in cell.source else "kept"
        cell.metadata = {"execution": {"iopub.execute_input": "now"}, "tags": [tag], "collapsed": True}
    path.write_text(nbformat.v4.writes(nb), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("refreshed")
    (folder / "beside.txt").touch()
    return folder


@pytest.fixture(scope="module")
def refreshed(folder: Path) -> NotebookNode:
    profile = folder / "ipython" / "profile_default" / "startup"
    profile.mkdir(parents=True)
    (profile / "mine.py").write_text("print('my own settings')")
    (folder / "ipython" / "matplotlibrc").write_text("text.usetex: True")
    with pytest.MonkeyPatch.context() as mine:  # a user's settings, which the second refresh does not have
        mine.setenv("IPYTHONDIR", str(folder / "ipython"))
        mine.setenv("MATPLOTLIBRC", str(folder / "ipython" / "matplotlibrc"))
        refresh(untidy(folder / "page.ipynb"))
    return notebook_io.read(folder / "page.ipynb")


def run(*paths: Path) -> int:
    return command.run(argparse.Namespace(notebooks=[*paths], timeout=60, clean=False, all=False))


def assert_no_kernel(folder: Path) -> None:
    """The kernel that ran the cell KERNEL has ended."""
    number = int((folder / "kernel").read_text())
    assert not psutil.pid_exists(number) or psutil.Process(number).status() == psutil.STATUS_ZOMBIE


def test_outputs_and_counts_are_kept(refreshed: NotebookNode) -> None:
    assert [cell.execution_count for cell in refreshed.cells] == list(range(1, len(SHOWN) + 1))
    assert [output.text for output in refreshed.cells[0].outputs] == ["0\n1\n2\n"]
    assert refreshed.cells[1].outputs[0].text == "True\n≈ 0\n"  # in the notebook's own folder
    picture, alt = refreshed.cells[3].outputs
    assert picture.data["text/plain"] == "A line that rises." and picture.metadata["image/png"].width == 192
    assert 'title="A line that rises."' in alt.data["text/html"]
    assert refreshed.cells[6].outputs[0].data["text/plain"] == "42"
    assert refreshed.cells[6].outputs[0].execution_count == 7
    (error,) = refreshed.cells[7].outputs
    assert error.traceback == [f"JSONDecodeError: {error.evalue}"]  # without paths


def test_widgets_and_progress_leave_only_their_words(refreshed: NotebookNode) -> None:
    (widget,), (progress,) = refreshed.cells[4].outputs, refreshed.cells[5].outputs
    assert widget.data == {"text/plain": "Widget: a slider."}
    assert progress.output_type == "display_data" and list(progress.data) == ["text/plain"]
    assert "0/50" in progress.data["text/plain"]


def test_volatile_metadata_is_dropped(refreshed: NotebookNode) -> None:
    assert refreshed.metadata == {
        "accelerator": "GPU",
        "kernelspec": notebook_io.KERNEL,
        "language_info": notebook_io.LANGUAGE,
    }
    assert [cell.metadata for cell in refreshed.cells] == [
        *[{"tags": ["kept"]}] * 7,
        {"tags": ["raises-exception"]},
    ]
    nbformat.validate(refreshed)
    ids = [cell.id for cell in refreshed.cells]
    assert len(set(ids)) == len(ids)


def test_second_refresh_changes_no_byte_and_nbval_agrees(refreshed: NotebookNode, folder: Path) -> None:
    first = (folder / "page.ipynb").read_bytes()
    assert nbval(folder)["page"] == [True] * len(SHOWN)
    refresh(untidy(folder / "page.ipynb"))
    assert (folder / "page.ipynb").read_bytes() == first
    assert b"\r" not in first and first.endswith(b"}\n")


def test_error_refuses_to_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "raises.ipynb", KERNEL, "# what follows\nx / 0", "print('never')")
    before = path.read_bytes()
    assert run(path) == 1
    assert "cell 2 (# what follows) raised NameError: name 'x' is not defined" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [tmp_path / "kernel", path]
    assert_no_kernel(tmp_path)


def test_slow_cell_and_dead_kernel_are_named(tmp_path: Path, monkeypatch) -> None:
    path = write(tmp_path / "slow.ipynb", "import time\ntime.sleep(30)")
    with pytest.raises(NotebookFailed, match=r"cell 1 \(import time\) took longer than 1 s"):
        refresh(path, timeout=1)
    monkeypatch.setattr(command, "everyones", lambda settings: os.environ | {"PYTHONHOME": settings})
    with pytest.raises(NotebookFailed, match="no kernel started"):
        refresh(path)
    monkeypatch.undo()
    path = write(tmp_path / "dead.ipynb", "import os\nos._exit(3)")
    with pytest.raises(NotebookFailed, match="cell 1 .* killed its kernel"):
        refresh(path)


def test_command_prints_what_the_lint_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = write(tmp_path / "good.ipynb", KERNEL)
    bad = write(tmp_path / "bad.ipynb", "import sys\nprint('careful', file=sys.stderr)")
    assert run(good) == 0
    assert f"{good}: refreshed" in capsys.readouterr().out
    assert_no_kernel(tmp_path)
    assert run(bad) == 1
    assert f"{bad}: cell 1 (import sys): writes to stderr: careful" in capsys.readouterr().out
    assert notebook_io.read(bad).cells[0].execution_count == 1  # the lint comes after the writing


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a notebook"),
        ("[]", "not a notebook"),
        ('{"nbformat": 3, "worksheets": []}', "format 3 instead of 4|not a notebook"),
        (json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"x": 1}]}), "not a"),
    ],
)
def test_what_is_no_notebook_is_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.ipynb").write_text(content)
    with pytest.raises(ValueError, match=message):
        refresh(tmp_path / "x.ipynb")


def test_streams_are_joined_where_they_touch() -> None:
    pieces = [("stdout", "a"), ("stdout", "b\n"), ("stderr", "c"), ("stdout", "d")]
    outputs = [nbformat.v4.new_output("stream", name=name, text=text) for name, text in pieces]
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=outputs)])
    notebook_io.clean(nb)
    assert [(o.name, o.text) for o in nb.cells[0].outputs] == [
        ("stdout", "ab\n"),
        ("stderr", "c"),
        ("stdout", "d"),
    ]


def test_ids_of_cells_stay() -> None:
    nb = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell("a", id=i) for i in ("mine", "x", "y")]
    )
    del nb.cells[1]["id"], nb.cells[2]["id"]
    notebook_io.clean(nb)
    ids = [cell.id for cell in nb.cells]
    assert ids[0] == "mine" and len(set(ids)) == 3 and all(re.fullmatch(r"[\w-]{1,64}", i) for i in ids)

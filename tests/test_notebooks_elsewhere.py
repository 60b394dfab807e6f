"""Notebooks that train on `best_device()` run from top to bottom on another device, with short training runs.

What a notebook can get wrong where no GPU is at hand is an operation on tensors of two devices, a setting
for a GPU that does not fit, and an output or assert that holds only on the CPU.
"""

import ast
import contextlib
import json
import os
import re
import subprocess
import sys

import nbformat
import pytest
from helpers import gpu_budgets, short_notebook
from helpers.solutions import NOTEBOOKS

ELSEWHERE = os.environ.get("COURSE_TEST_DEVICE")
SECOND = ELSEWHERE == "second:0"
REPEAT = "run tests/helpers/gpu_budgets.py with this chapter's number: it makes the table in docs/gpu.md"
NOISE = "1e-6"  # relative, of every matrix product, softmax and norm: as other kernels round


def code(path) -> str:
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


TRAINING = [path for path in NOTEBOOKS if "best_device()" in code(path)]


@pytest.fixture(scope="session")
def results(request, tmp_path_factory):
    """What happened in the chosen notebooks, all run by one process."""
    folder, run = tmp_path_factory.mktemp("short"), test_every_cell_runs_on_the_device.__name__
    items = [item for item in request.session.items if getattr(item, "originalname", "") == run]
    chosen = [item.callspec.params["path"] for item in items]
    variables = os.environ | ({"SECOND_NOISE": NOISE} if SECOND else {})
    command = [sys.executable, short_notebook.__file__, folder, *chosen]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr[-3000:]
    return {path: json.loads((folder / f"{path.stem}.json").read_text()) for path in chosen}


@pytest.mark.skipif(not ELSEWHERE, reason="this system has no device chosen: test --device")
@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in TRAINING])
def test_every_cell_runs_on_the_device(path, device, results):
    error, found = results[path]["error"], results[path]["runs"]
    assert error is None, error
    known = gpu_budgets.stored().get(path.name.partition("_")[0])
    if SECOND and known:  # the table in docs/gpu.md
        ran = {step["section"] for step in found}  # not those whose data set is not to be had
        known = [one for one in known if one["section"] in ran]
        settings = ("section", "steps", "precision")
        assert [[step[key] for key in settings] for step in found] == [
            [before[key] for key in settings] for before in known
        ], REPEAT
        for step, before in zip(found, known, strict=True):
            assert step["operations"] == pytest.approx(before["operations"], rel=0.1), REPEAT


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in NOTEBOOKS])
def test_a_training_run_names_its_device(path):
    """So no notebook that the test above leaves out can use a GPU."""
    text = code(path)
    if re.search(r"from course_lib\.training import .*\btrain\b", text):
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        for call in (call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "train"):
            (device,) = (ast.unparse(word.value) for word in call.keywords if word.arg == "device")
            assert device == ("device" if path in TRAINING else "'cpu'"), ast.unparse(call)


def test_the_chapters_that_train_are_all_there():
    assert {path.name.partition("_")[0] for path in TRAINING} >= {
        *("05", "06", "06c", "06d", "07", "07c", "07d", "08", "08c", "09", "10", "11")
    }


def test_the_page_about_gpus_has_the_table_that_follows_from_the_costs():
    page = gpu_budgets.PAGE.read_text(encoding="utf-8")
    _, table, _ = re.split(f"{gpu_budgets.START}|{gpu_budgets.END}", page)
    assert table.split("\n")[4:-2] == list(gpu_budgets.rows(gpu_budgets.stored()))


def notebook(folder, source: str, stored: str = ""):
    cell = nbformat.v4.new_code_cell(source)
    cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=stored)]
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / "one.ipynb")
    return folder / "one.ipynb"


@pytest.mark.parametrize(("stored", "fits"), [("≈ loss 3\n4 rows\n", True), ("loss 3\n4 rows\n", False)])
def test_a_line_that_changes_with_the_run_needs_its_mark(stored, fits, tmp_path):
    path = notebook(tmp_path, "print('≈ loss 7')\nprint('4 rows')", stored)
    with contextlib.nullcontext() if fits else pytest.raises(AssertionError, match="'loss 3' is stored"):
        short_notebook.run(path)


TRAIN = """
import torch
def train(model): model[0] = 1
def fit(start):
    model = [start]
    train(model)
    return model
model = fit(0)
other = 2
score = 10 * model[0]
"""


@pytest.mark.parametrize(
    ("claim", "kept"),
    [
        ("score > 50", False),
        ("model == [5]", False),
        ("torch.equal(torch.tensor(score), torch.tensor(0))", True),
        ("other > 3", True),
    ],
)
def test_asserts_about_a_short_training_run_are_left_out_and_no_others(claim, kept, tmp_path):
    path = notebook(tmp_path, f"{TRAIN}assert {claim}")
    with pytest.raises(AssertionError) if kept else contextlib.nullcontext():
        short_notebook.run(path)

"""Notebooks that train on `best_device()` run from top to bottom on another device, with short training runs.

What a notebook can get wrong where no GPU is at hand is an operation on tensors of two devices.
"""

import os
import subprocess
import sys

import pytest
from helpers import short_notebook
from helpers.solutions import NOTEBOOKS

QUICK = ("06d_", "07_", "08c_")  # the others take minutes on a device made of CPU memory
TRAINING = [path for path in NOTEBOOKS if path.name.startswith(QUICK)]
SECOND = bool(os.environ.get("COURSE_SECOND_DEVICE"))
PLACES = ["second:0"] if SECOND else [pytest.param("cuda", marks=pytest.mark.cuda)]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in TRAINING])
def test_every_cell_runs_on_the_device(path, place, tmp_path):
    variables = os.environ | ({} if SECOND else {"COURSE_DEVICE": place})
    command = [sys.executable, short_notebook.__file__, path]
    run = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stderr[-3000:]

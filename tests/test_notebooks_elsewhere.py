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
ELSEWHERE = os.environ.get("COURSE_TEST_DEVICE")


@pytest.mark.skipif(not ELSEWHERE, reason="this system has no device chosen: test --device")
@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in TRAINING])
def test_every_cell_runs_on_the_device(path, device, tmp_path):
    command = [sys.executable, short_notebook.__file__, path]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stderr[-3000:]

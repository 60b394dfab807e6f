"""The memory of a notebook's kernel: its peak, not what is left at the end."""

import sys

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from course_lib.cli import notebook_io
from course_lib.cli.notebook_memory import peak, row
from course_lib.cli.refresh import NotebookFailed

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says how large it was")


def notebook(folder, *sources):
    path = folder / "some.ipynb"
    notebook_io.write(new_notebook(cells=[new_code_cell(source) for source in sources]), path)
    return path


@LINUX
def test_what_was_freed_counts_and_the_file_stays_as_it_was(tmp_path):
    empty = min(peak(notebook(tmp_path, "pass")) for _ in range(2))  # the first may compile what it imports
    path = notebook(tmp_path, "held = b'x' * 200_000_000", "del held")
    before = path.read_bytes()
    assert 190e6 < peak(path) - empty < 230e6
    assert path.read_bytes() == before


@LINUX
def test_a_notebook_that_fails_has_no_size(tmp_path):
    with pytest.raises(NotebookFailed, match="ZeroDivisionError"):
        peak(notebook(tmp_path, "1 / 0"))


def test_a_row_is_in_gigabytes(tmp_path):
    assert row(tmp_path / "06_name.ipynb", 1_234_000_000) == "| `06_name` | 1.23 |"

"""A cell that runs before those that it needs says which to run, in each of IPython's error modes."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

from course_lib.utils import missing_names


@pytest.fixture
def shell(monkeypatch):
    """A notebook without a kernel: IPython as it is after the setup cell, run twice."""
    shell = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    for _ in range(2):
        missing_names.advise_on_missing_names()
    yield shell
    InteractiveShell.clear_instance()


def said(shell, capsys, cell: str) -> str:
    capsys.readouterr()
    shell.run_cell(cell)
    return capsys.readouterr().out


@pytest.mark.parametrize("cell", ["weights.sum()", "def f():\n    return weights\nf()"])
@pytest.mark.parametrize("mode", ["Context", "Minimal"])
def test_a_cell_that_lacks_a_name_says_what_to_run(shell, capsys, cell: str, mode: str) -> None:
    shell.run_line_magic("xmode", mode)
    found = said(shell, capsys, cell)
    assert found.count("Run All Above") == found.count("`weights`") == 1 and "NameError" in found


@pytest.mark.parametrize(
    "cell", ["1 + 1", "1 / 0", "def f():\n    x += 1\nf()", "import json; json.missing", "exec('y', {})"]
)
def test_other_cells_say_nothing(shell, capsys, cell: str) -> None:
    assert "Run All Above" not in said(shell, capsys, cell)


def test_outside_a_notebook_nothing_happens(monkeypatch) -> None:
    monkeypatch.setattr("IPython.get_ipython", lambda: None)
    missing_names.advise_on_missing_names()

"""Strict nbval with the course's sanitizer: a planted wrong output turns its own cell red, and no other."""

import re
from collections.abc import Callable

import nbformat
import pytest
from helpers.strict_nbval import SANITIZER, nbval
from nbformat import NotebookNode

from course_lib.cli import notebook_io
from course_lib.cli.refresh import refresh

NUMBERS = "for x in (1, 4, 9):\n    print(x, x**0.5)"
VALUE = "[0.25, 0.75]"
LINES = "import time\nprint('before')\nprint('≈', time.time_ns())\nprint('after ≈ 2')\nprint('≈', 'twice')"
PICTURE = """import base64, os
from IPython.display import display
new = base64.b64encode(os.urandom(30)).decode()
display({"image/png": new, "text/plain": "A line that rises."}, raw=True)
display({"text/html": '<abbr role="img" title="A line that rises.">&hairsp;</abbr>'}, raw=True)"""
TABLE = "from IPython.display import HTML\nHTML('<table>\\n<tr><td>BLEU</td><td>92.5</td></tr>\\n</table>')"
INSIDE = 'from IPython.display import HTML\nHTML(\'<img alt="a" src="data:image/png;base64,AAAA">\')'
QUIET = "nothing = None"
WARNS = "import sys\nprint('a warning', file=sys.stderr)"

Plant = Callable[[NotebookNode], None]


def edit(key: str, old: str, new: str, output: int = 0) -> Plant:
    """Change a stored output: `key` is "text" of a stream, or a kind of data."""

    def plant(cell: NotebookNode) -> None:
        holder = cell.outputs[output] if key == "text" else cell.outputs[output].data
        holder[key], times = re.subn(old, new, holder[key], count=1)
        assert times == 1

    return plant


def add(name: str, text: str) -> Plant:
    return lambda cell: cell.outputs.append(nbformat.v4.new_output("stream", name=name, text=text))


# What is planted into the stored output of which cell, and whether nbval must see it.
PLANTS: dict[str, tuple[str, Plant, bool]] = {
    "other picture": (PICTURE, edit("image/png", "^.*", "AAAA+/=="), False),
    "other line of the machine": (LINES, edit("text", r"(?m)^≈.*\d+$", "≈ 3 on a GPU"), False),
    "more lines of the machine": (LINES, edit("text", r"(?m)^≈ twice$", "≈ twice\n≈ or more"), False),
    "wrong number": (NUMBERS, edit("text", "4 2.0", "4 2.1"), True),
    "wrong value": (VALUE, edit("text/plain", "0.75", "0.74"), True),
    "wrong number in HTML": (TABLE, edit("text/html", "92.5", "92.6"), True),
    "other alt text": (PICTURE, edit("text/html", "rises", "falls", output=1), True),
    "alt text gone": (PICTURE, lambda cell: cell.outputs.pop(), True),
    "other words for a picture": (PICTURE, edit("text/plain", "rises", "falls"), True),
    "text after a picture": (PICTURE, edit("text/html", ">$", "> 7", output=1), True),
    "other picture inside HTML": (INSIDE, edit("text/html", "AAAA", "AAAB"), True),
    "line before": (LINES, edit("text", "before", "Before"), True),
    "sign within a line": (LINES, edit("text", "after ≈ 2", "after ≈ 3"), True),
    "line of the machine gone": (LINES, edit("text", r"(?m)^≈ twice\n", ""), True),
    "plain line became the machine's": (LINES, edit("text", "(?m)^before", "≈ before"), True),
    "stderr gone": (QUIET, add("stderr", "a warning\n"), True),
    "stderr new": (WARNS, lambda cell: cell.outputs.clear(), True),
    "output gone": (QUIET, add("stdout", "1\n"), True),
    "output new": (NUMBERS, lambda cell: cell.outputs.clear(), True),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bool]]:
    """One notebook with a cell for each plant, as it is and with everything planted, under nbval."""
    folder = tmp_path_factory.mktemp("planted")
    cells = [nbformat.v4.new_code_cell(source) for source, _, _ in PLANTS.values()]
    notebook_io.write(nbformat.v4.new_notebook(cells=cells), folder / "true.ipynb")
    refresh(folder / "true.ipynb")
    nb = notebook_io.read(folder / "true.ipynb")
    for cell, (_, plant, _) in zip(nb.cells, PLANTS.values(), strict=True):
        plant(cell)
    notebook_io.write(nb, folder / "planted.ipynb")
    return nbval(folder)


def test_true_outputs_pass(results: dict[str, list[bool]]) -> None:
    assert results["true"] == [True] * len(PLANTS)


@pytest.mark.parametrize("name", PLANTS)
def test_planted_output_turns_its_cell_red(name: str, results: dict[str, list[bool]]) -> None:
    seen = not results["planted"][list(PLANTS).index(name)]
    assert seen == PLANTS[name][2]


def test_sanitizer_masks_one_thing_in_any_encoding() -> None:
    """nbval reads the file in the machine's own encoding, so it holds ASCII only."""
    text = SANITIZER.read_bytes().decode("ascii")
    assert len(re.findall("(?m)^regex: ", text)) == len(re.findall("(?m)^replace: ", text)) == 1

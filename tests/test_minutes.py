"""The minutes that a notebook states follow from what is in it, as docs/teaching.md says."""

import re

import nbformat
import pytest
from helpers.solutions import NOTEBOOKS

WORDS, LINES, WIDGET, RECALL, CONCLUDE = 200, 15, 3, 3, 3  # the first two per minute, the others in minutes
OPTIONAL = "## Going deeper"
LABS = [path for path in NOTEBOOKS if re.match(r"\d", path.name)]


def minutes(cells: list[nbformat.NotebookNode]) -> float:
    """To read the text and the visible code, to move the widgets and do the exercises; without waiting."""
    total = 0.0
    for cell in cells:
        printed = "".join(output.get("text", "") for output in cell.get("outputs", ()))
        total += sum(map(int, re.findall(r"About (\d+) minutes, difficulty", printed)))
        if cell.cell_type == "markdown":
            without_solutions = re.sub(r"```.*?```", " ", cell.source, flags=re.S)
            total += len(re.findall(r"\w[^\s]*", without_solutions)) / WORDS
        elif not cell.metadata.get("jupyter", {}).get("source_hidden"):
            total += len(cell.source.split("\n")) / LINES + WIDGET * ("_explorer(" in cell.source)
            total += RECALL * ("recall(" in cell.source) + CONCLUDE * ("conclude(" in cell.source)
    return total


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in LABS])
def test_the_stated_minutes_follow_from_text_code_and_exercises(path):
    cells = nbformat.read(path, as_version=4).cells
    end = next((i for i, cell in enumerate(cells) if cell.source.startswith(OPTIONAL)), len(cells))
    (stated,) = re.findall(r"\*\*Time:\*\* (\d+) minutes", cells[0].source)
    assert int(stated) == pytest.approx(minutes(cells[:end]), rel=0.25)

"""The student version: no solutions, and all else as it was: the full notebooks speak for it, too."""

import re
from argparse import Namespace
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_lib.cli import answer_key, colab, lint, notebook_io, release
from course_lib.cli.environment import ROOT, SetUpError
from course_lib.cli.github import Repository
from course_lib.exercises import find, grade
from course_lib.exercises.comparing import difference
from course_lib.exercises.later import folded, unfolded
from course_lib.exercises.redrawn import redrawn

NOTEBOOKS = ROOT / "notebooks"
CHAPTERS = sorted(path.name for path in NOTEBOOKS.glob("[0-9A][0-9]*_*.ipynb"))
QUOTES = '"' * 3
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("student") / "new"
    assert release.run(Namespace(folder=folder, no_outputs=False, seed=None)) == 0
    return folder


def code_cells(path: Path) -> list:
    return [cell for cell in notebook_io.read(path).cells if cell.cell_type == "code"]


def solutions(path: Path) -> list[str]:
    """The code of the solutions in a full notebook."""
    prose = "\n\n".join(cell.source for cell in notebook_io.read(path).cells if cell.cell_type == "markdown")
    return [code for hidden in lint.SOLUTION.findall(prose) for code in CODE.findall(hidden)]


def test_every_chapter_is_there_with_its_pictures_and_nothing_for_the_teacher(handed_out):
    assert sorted(path.name for path in handed_out.glob("*.ipynb")) == CHAPTERS
    for path in (NOTEBOOKS / "images").iterdir():
        assert (handed_out / "images" / path.name).read_bytes() == path.read_bytes()
    assert not list(handed_out.rglob("*.md"))


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_solution_is_left_and_the_code_and_what_it_shows_are_those_of_the_full_notebook(handed_out, name):
    """So what is true of the full notebook holds for this one, too: nbval, the rules, "not tried yet"."""
    text = (handed_out / name).read_text(encoding="utf-8")
    assert not re.findall(r"<summary>[^<]*(?:solution|answer)", text, re.IGNORECASE)
    whole = "\n".join(cell.source for cell in notebook_io.read(handed_out / name).cells)
    found = solutions(NOTEBOOKS / name)
    assert len(found) >= lint.MIN_EXERCISES or name.startswith("A")  # appendices have no exercises
    assert not [code for code in found if code.strip() in whole]
    for mine, full in zip(code_cells(handed_out / name), code_cells(NOTEBOOKS / name), strict=True):
        later = "exercises.later import" in mine.source
        assert (unfolded(mine.source.split(QUOTES)[1]) if later else mine.source) == full.source
        printed = any(one.output_type == "stream" for one in full.outputs)
        assert mine.outputs == full.outputs or printed and release.SOURCE in full.source
    problems = lint.problems(handed_out / name)
    assert not [one for one in problems if "no solution in <details>" not in one]


def test_cells_that_show_an_answer_later_are_folded(handed_out):
    """Each listed one exists, once, after its exercise; and its code is nowhere to be read."""
    for exercise_id, beginning in release.SHOWN_LATER:
        (path,) = NOTEBOOKS.glob(f"{exercise_id.partition('.')[0]}_*.ipynb")
        sources = [cell.source for cell in code_cells(path)]
        (place,) = [number for number, source in enumerate(sources) if source.startswith(beginning)]
        assert any(f'check("{exercise_id}"' in source for source in sources[:place])
        assert sources[place] not in (handed_out / path.name).read_text(encoding="utf-8")
        assert f'later("{exercise_id}"' in code_cells(handed_out / path.name)[place].source


def test_a_folded_cell_runs_and_shows_its_code_only_once_the_exercise_is_passed(monkeypatch, capsys):
    cell, names = folded("01.softmax", "found = 3 + given"), {"given": 4}
    for passed, shown in ((set(), ""), ({"01.softmax"}, "found = 3 + given\n")):
        monkeypatch.setattr("course_lib.exercises.later.passed", lambda passed=passed: passed)
        exec(cell, names)
        assert names["found"] == 7 and capsys.readouterr().out == shown


def test_the_key_beside_the_folder_has_every_solution_and_the_folder_none(handed_out):
    key = handed_out.with_name("new-key.md").read_text(encoding="utf-8")
    assert not [code for name in CHAPTERS for code in solutions(NOTEBOOKS / name) if code not in key]
    assert "### 01.softmax: Solution" in key and "Our answer" in key
    assert not list(handed_out.glob("*key*"))


def test_exam_questions_have_other_numbers_and_the_answers_of_the_solution():
    exercise = find("01.temperature")
    first, answer = answer_key.question(redrawn(exercise, 1), exercise)
    assert first == "`scores = [1, 0]`, `temperature = 0.5`" and answer == "[0.8808, 0.1192]"
    assert answer_key.question(exercise, exercise) is None  # nothing has changed


def test_other_numbers_find_the_same_mistakes_and_depend_on_the_seed():
    for name in ("01.softmax", "02.masked_softmax", "06c.brevity", "07d.lora"):
        exercise = find(name)
        one, again, two = (redrawn(exercise, seed) for seed in (1, 1, 2))
        assert difference(one.inputs, again.inputs, 0.0) is None
        assert grade(one, exercise.reference).state == "passed"
        assert all(grade(one, wrong).state != "passed" for each in exercise.mistakes for wrong in each.wrong)
        assert (one is exercise) == (name == "06c.brevity")  # its texts cannot be drawn
        assert one is exercise or difference(one.inputs, two.inputs, 0.0) is not None


def exercise(answer: str, printed: str) -> nbformat.NotebookNode:
    source = f'def f(x):\n    {answer}\n\n\ncheck("01.x", f)'
    return new_code_cell(source, execution_count=2, outputs=[new_output("stream", text=printed)])


@pytest.fixture
def course(tmp_path) -> Path:
    """A repository of one chapter, stamped for a fork."""
    solved = "<details>\n<summary>Solution</summary>\n\n```python\nx + 1\n```\n\n</details>"
    cells = [
        new_markdown_cell("# 1. Title\n\nText."),
        new_code_cell(colab.setup_cell(None), execution_count=1),
        exercise("...", "01.x: not tried yet.\n"),
        new_markdown_cell(solved),
        new_markdown_cell(f"Before.\n\n{solved}\n\nAfter."),
    ]
    (tmp_path / "notebooks").mkdir()
    nbformat.write(new_notebook(cells=cells), tmp_path / "notebooks" / "01_title.ipynb")
    colab.stamp(tmp_path, Repository("owner/name", "main"))
    return tmp_path


def test_prose_around_a_solution_stays_and_the_badge_that_leads_to_it_goes(course):
    release.write_all(course / "notebooks", course / "out")
    cells = notebook_io.read(course / "out" / "01_title.ipynb").cells
    assert [cell.cell_type for cell in cells] == ["markdown", "code", "code", "markdown"]
    assert cells[-1].source.split() == ["Before.", "After."]
    assert cells[0].source == "# 1. Title\n\nText."
    assert "owner/name" in cells[1].source  # the course itself is still fetched


def test_outputs_can_be_left_out_and_the_full_notebook_is_not_touched(course):
    before = (course / "notebooks" / "01_title.ipynb").read_bytes()
    release.write_all(course / "notebooks", course / "out", outputs=False)
    cells = code_cells(course / "out" / "01_title.ipynb")
    assert not [cell for cell in cells if cell.outputs or cell.execution_count]
    assert (course / "notebooks" / "01_title.ipynb").read_bytes() == before


def test_an_exercise_that_someone_has_solved_is_not_handed_out(course):
    path = course / "notebooks" / "01_title.ipynb"
    nb = notebook_io.read(path)
    nb.cells[2] = exercise("return x + 1", "01.x: passed.\n")
    notebook_io.write(nb, path)
    with pytest.raises(SetUpError, match=r"01_title.ipynb.*01\.x"):
        release.write_all(course / "notebooks", course / "out")
    assert not (course / "out").exists()


def test_nothing_is_written_over_someones_work(course):
    folder = course / "out"
    release.write_all(course / "notebooks", folder)
    before = (folder / "01_title.ipynb").read_bytes()
    with pytest.raises(SetUpError, match="01_title.ipynb"):
        release.run(Namespace(folder=folder, no_outputs=True, seed=None))
    assert (folder / "01_title.ipynb").read_bytes() == before

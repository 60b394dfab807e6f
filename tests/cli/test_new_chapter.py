"""The skeleton of a chapter: it keeps to the rules, except for what only an author can add."""

import ast
from pathlib import Path

import pytest

from course_lib.cli import lint, notebook_io
from course_lib.cli.new_chapter import create
from course_lib.exercises import questions
from course_lib.exercises.checking import grade
from course_lib.exercises.table import read_exercises


@pytest.fixture
def course(tmp_path: Path) -> Path:
    (tmp_path / "notebooks").mkdir()
    create(tmp_path, "12", "Attention sinks")
    return tmp_path


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_the_notebook_lacks_only_what_an_author_adds(course: Path) -> None:
    path = course / "notebooks" / "12_attention_sinks.ipynb"
    nb = notebook_io.read(path)
    for count, cell in enumerate((one for one in nb.cells if one.cell_type == "code"), start=1):
        compile(cell.source, path.name, "exec")
        cell.execution_count = count  # as a run leaves them
    notebook_io.write(nb, path)
    assert [problem.split(":")[0] for problem in lint.problems(path)] == [
        "no widget",
        '1 exercises with check("12.…"), fewer than 4',
    ]


def test_the_folder_has_an_exercise_a_question_and_a_figure(course: Path) -> None:
    folder = course / "course_lib" / "chapters" / "ch12_attention_sinks"
    (exercise,) = read_exercises(folder / "12_exercises.md")
    assert grade(exercise, exercise.reference).state == "passed"
    names = [mistake.name for mistake in exercise.mistakes]
    assert [grade(exercise, mistake.wrong[0]).mistake for mistake in exercise.mistakes] == names
    quiz = questions.parse("12", (folder / "12_questions.md").read_text(encoding="utf-8"))
    assert len(quiz.questions) == 1 and len(quiz.points) == 2
    assert [one for one in quiz.recall if not questions.find_question(one)] == [] and len(quiz.recall) == 3
    named = [option.mistake for option in quiz.questions[0].options[1:3]]
    assert named == [f"12.mean: {name}" for name in names[:2]] and len(names) == 3
    (exported,) = ast.parse((folder / "__init__.pyi").read_text(encoding="utf-8")).body
    assert f"def {exported.names[0].name}()" in (folder / "figures_12.py").read_text(encoding="utf-8")


def test_a_lettered_chapter_shares_the_folder(course: Path) -> None:
    folder = course / "course_lib" / "chapters" / "ch12_attention_sinks"
    before = texts(folder)
    create(course, "12b", "More sinks")
    after = texts(folder)
    added = {"12b_exercises.md", "12b_questions.md", "figures_12b.py"}
    assert after.keys() - before.keys() == added
    assert all(after[name].startswith(text) for name, text in before.items())
    assert {name for name, text in before.items() if after[name] != text} == {"chapter.toml", "__init__.pyi"}
    assert (course / "notebooks" / "12b_more_sinks.ipynb").exists()


@pytest.mark.parametrize(
    ("number", "title", "said"),
    [("12", "Another", "12_attention_sinks"), ("13b", "Another", "chapter 13"), ("13", "注意", "'注意'")],
)
def test_what_cannot_be_made_is_refused(course: Path, number: str, title: str, said: str) -> None:
    before = sorted(course.rglob("*"))
    with pytest.raises(ValueError, match=said):
        create(course, number, title)
    assert sorted(course.rglob("*")) == before

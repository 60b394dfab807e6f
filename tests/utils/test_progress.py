"""Progress: passed exercises are saved, in a folder or for the session, and shown without color."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.exercises import catalogue, check, progress
from course_lib.utils import progress as saved

RIGHT = catalogue()["01.softmax"].reference


@pytest.fixture(autouse=True)
def new_session(monkeypatch):
    monkeypatch.setattr(saved, "_session", set())


@pytest.fixture
def place(monkeypatch, tmp_path) -> Path:
    """A folder of a user who has passed nothing."""
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "passed"))
    return tmp_path / "passed"


def shown(capsys) -> str:
    capsys.readouterr()
    progress()
    return capsys.readouterr().out


def test_a_passed_exercise_is_one_empty_file(place):
    check("01.softmax", RIGHT)
    assert [(path.name, path.stat().st_size) for path in place.iterdir()] == [("01.softmax", 0)]
    assert saved.passed() == {"01.softmax"}


@pytest.mark.parametrize("answer", [..., lambda scores: scores, lambda scores: scores.softmax(0)])
def test_nothing_else_is_remembered(place, answer):
    check("01.softmax", answer)
    assert saved.passed() == set() and not list(place.iterdir())


def test_a_later_wrong_answer_takes_nothing_away(place):
    check("01.softmax", RIGHT)
    check("01.softmax", lambda scores: scores)
    assert saved.passed() == {"01.softmax"}


def test_a_deleted_file_opens_the_exercise_for_the_next_session(place, monkeypatch):
    check("01.softmax", RIGHT)
    (place / "01.softmax").unlink()
    monkeypatch.setattr(saved, "_session", set())
    assert saved.passed() == set()


def test_another_process_knows_it(place):
    check("01.softmax", RIGHT)
    code = "from course_lib.utils.progress import passed; print(*passed())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "01.softmax\n"


@pytest.mark.parametrize("chosen", ["", "file/below"])
def test_without_a_folder_the_session_remembers(monkeypatch, tmp_path, chosen, capsys):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("a file where a folder should be")
    monkeypatch.setenv("COURSE_PROGRESS", chosen)
    check("01.softmax", RIGHT)
    assert saved.passed() == {"01.softmax"}
    assert "until this notebook's kernel stops" in shown(capsys)


def test_a_user_without_a_home_is_no_problem(monkeypatch):
    monkeypatch.delenv("COURSE_PROGRESS")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    saved.remember("01.softmax")
    assert saved.folder() is None and saved.passed() == {"01.softmax"}


def test_the_folder_is_in_the_users_home(monkeypatch, tmp_path):
    monkeypatch.delenv("COURSE_PROGRESS")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert saved.folder() == tmp_path / ".course_lib" / "passed"
    assert saved.location().startswith("saved in ~/.course_lib/passed;")


def test_a_file_of_another_name_does_no_harm(place, capsys):
    place.mkdir()
    for name in (".DS_Store", "99.gone"):
        (place / name).touch()
    assert shown(capsys).startswith("≈ 0 of ")


def test_the_page_counts_and_names_the_next_one(place, capsys):
    check("01.softmax", RIGHT)
    lines = shown(capsys).splitlines()
    of_one = next(line for line in lines if line.startswith("≈ chapter 01 "))
    assert lines[0] == f"≈ 1 of {len(catalogue())} exercises passed"
    assert "■□□□□□" in of_one and "1 of  6" in of_one and of_one.endswith("next: 01.temperature")
    assert all(line.startswith("≈ ") and len(line) <= 110 for line in lines[:-1])


def test_a_finished_chapter_says_so(place):
    for one in ("01.a", "01.b"):
        saved.remember(one)
    assert "■■            2 of  2   all passed" in saved.summary(["01.a", "01.b", "02.a"])


def test_the_last_line_says_what_colab_forgets(place, monkeypatch):
    monkeypatch.setenv("COLAB_RELEASE_TAG", "x")
    assert "until Colab reclaims this machine" in saved.location()


def test_tests_leave_the_users_own_progress_alone():
    assert os.environ["COURSE_PROGRESS"] == "" and saved.folder() is None

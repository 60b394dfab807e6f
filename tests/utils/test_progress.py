"""Progress: what is passed and answered is saved in one file, or for the session, and shown without color."""

import json
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
    """As after a restart of the kernel."""
    monkeypatch.setattr(saved, "_session", {})
    monkeypatch.setattr(saved, "_said", set())


@pytest.fixture
def place(monkeypatch, tmp_path) -> Path:
    """The file of a user who has passed nothing."""
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress"))
    return tmp_path / "progress" / "progress.json"


def stored(place: Path) -> dict:
    return json.loads(place.read_text(encoding="utf-8"))


def shown(capsys, **arguments) -> str:
    capsys.readouterr()
    progress(**arguments)
    return capsys.readouterr().out


def restart(monkeypatch) -> None:
    monkeypatch.setattr(saved, "_session", {})


def test_a_passed_exercise_is_saved_with_its_answer(place, monkeypatch, capsys):
    check("01.softmax", RIGHT)
    assert stored(place)["01.softmax"]["state"] == "passed"
    restart(monkeypatch)
    assert saved.passed() == {"01.softmax"}
    assert shown(capsys, show="01.softmax").startswith("def my_softmax(")
    with pytest.raises(ValueError, match=r"01\.temperature is not passed yet"):
        progress(show="01.temperature")


@pytest.mark.parametrize("answer", [..., lambda scores: scores, lambda scores: scores.softmax(0)])
def test_nothing_else_is_remembered(place, answer):
    check("01.softmax", answer)
    assert saved.passed() == set() and not place.exists()


def test_a_later_wrong_answer_takes_nothing_away_and_a_wrong_one_can_become_right(place):
    check("01.softmax", RIGHT)
    check("01.softmax", lambda scores: scores)
    assert saved.passed() == {"01.softmax"}
    for state in ("wrong", "right", "wrong"):
        saved.remember("05.1", state, "b")
    assert stored(place)["05.1"]["state"] == "right"


def test_a_cell_that_runs_twice_writes_once(place):
    check("01.softmax", RIGHT)
    before = place.stat()
    check("01.softmax", RIGHT)
    assert place.stat().st_ino == before.st_ino


def test_two_notebooks_keep_each_others_progress(place, monkeypatch):
    code = (
        "from course_lib.utils.progress import passed, remember; remember('02.bmm'); print(*sorted(passed()))"
    )
    saved.remember("01.softmax")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "01.softmax 02.bmm\n"
    saved.remember("03.head")
    assert set(stored(place)) == {"01.softmax", "02.bmm", "03.head"}


def test_another_computer_gets_the_file_and_keeps_its_own_answers(place, monkeypatch, tmp_path, capsys):
    for key, answer in (("01.softmax", "theirs"), ("02.bmm", "theirs")):
        saved.remember(key, answer=answer)
    assert "mine.json" in shown(capsys, export=str(tmp_path / "mine.json"))
    restart(monkeypatch)
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "other"))
    saved.remember("02.bmm", answer="ours")
    (tmp_path / "windows.json").write_text("\ufeff" + (tmp_path / "mine.json").read_text())
    assert shown(capsys, load=str(tmp_path / "windows.json")).startswith("2 entries read")
    restart(monkeypatch)
    assert saved.entries()["02.bmm"]["answer"] == "ours"
    assert saved.entries()["01.softmax"]["answer"] == "theirs"
    saved.remember("03.head")
    shown(capsys, export=tmp_path / "mine.json")  # in place of a load: it loses nothing
    assert set(stored(tmp_path / "mine.json")) == {"01.softmax", "02.bmm", "03.head"}
    shown(capsys, export=str(tmp_path / "other"))  # a folder: into it, not in its place
    assert shown(capsys, load=str(tmp_path / "other")).startswith("3 entries read")
    assert "01.softmax (passed)\ntheirs" in shown(capsys, show=1)


@pytest.mark.parametrize("text", ["", "[]", '{"01.softmax": "passed"}', '{"a": {"state": 1, "answer": ""}}'])
def test_another_file_is_no_progress(place, tmp_path, text):
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(ValueError, match=r"other\.json is not a file that progress\(export=…\) wrote"):
        progress(load=str(tmp_path / "other.json"))


@pytest.mark.parametrize(
    "wrong", [3, [], True, b"a", "", "a\0b", "gone/my.json", "notes.txt", "/dev/null", "x" * 300]
)
def test_progress_that_cannot_be_exported_is_one_line_and_nothing_is_lost(
    place, tmp_path, monkeypatch, wrong
):
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("mine")
    saved.remember("01.softmax")
    with pytest.raises(saved.ProgressError, match="^export: ") as told:
        progress(export=wrong)
    assert told.value._render_traceback_() == [str(told.value)] and "\n" not in str(told.value)
    assert Path("notes.txt").read_text() == "mine" and set(os.listdir()) == {"notes.txt", "progress"}
    assert saved.passed() == set(stored(place)) == {"01.softmax"}


@pytest.mark.parametrize("wrong", [3, "gone.json", []])
def test_what_cannot_be_loaded_or_shown_is_named(place, wrong):
    for option in ("load", "show"):
        with pytest.raises(saved.ProgressError, match=f"^{option}: .*"):
            progress(**{option: wrong})


def test_a_damaged_file_is_left_alone_and_named_once(place, capsys):
    place.parent.mkdir()
    place.write_text("{cut o")
    for key in ("01.softmax", "02.bmm"):
        saved.remember(key)
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and str(place) in said
    assert place.read_text() == "{cut o" and saved.passed() == {"01.softmax", "02.bmm"}


@pytest.mark.parametrize("chosen, lines", [("", 0), ("file/below", 1)])
def test_where_nothing_can_be_written_the_session_remembers(monkeypatch, tmp_path, chosen, lines, capsys):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("a file where a folder should be")
    monkeypatch.setenv("COURSE_PROGRESS", chosen)
    for key in ("01.softmax", "02.bmm"):
        saved.remember(key)
    assert capsys.readouterr().out.count("cannot be saved") == lines
    assert saved.passed() == {"01.softmax", "02.bmm"}
    assert "until this notebook's kernel stops" in shown(capsys)


def test_a_user_without_a_home_is_no_problem(monkeypatch):
    monkeypatch.delenv("COURSE_PROGRESS")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    saved.remember("01.softmax")
    assert saved.file() is None and saved.passed() == {"01.softmax"}


def test_the_file_is_in_the_users_home_beside_what_earlier_versions_saved(monkeypatch, tmp_path):
    monkeypatch.delenv("COURSE_PROGRESS")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    earlier = tmp_path / ".course_lib" / "passed"
    earlier.mkdir(parents=True)
    for name in ("01.softmax", ".DS_Store"):
        (earlier / name).touch()
    saved.remember("02.bmm")
    assert saved.location() == "saved in ~/.course_lib/progress.json"
    assert set(stored(tmp_path / ".course_lib" / "progress.json")) == {"01.softmax", "02.bmm"}


@pytest.fixture
def colab(monkeypatch, tmp_path) -> Path:
    """The folder of Drive, where Colab would mount it."""
    monkeypatch.delenv("COURSE_PROGRESS")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("COLAB_RELEASE_TAG", "x")
    monkeypatch.setattr(saved, "DRIVE", tmp_path / "MyDrive")
    return tmp_path / "MyDrive"


def test_colab_saves_in_drive_where_it_is_mounted(colab):
    assert "export=" in saved.location()
    colab.mkdir()
    saved.remember("01.softmax")
    assert saved.location().startswith("saved in") and set(stored(saved.file())) == {"01.softmax"}
    assert saved.file().is_relative_to(colab)


def test_drive_that_colab_has_lost_stops_no_check(colab, monkeypatch):
    """A mount that has gone answers ENOTCONN, which pathlib raises and os.path takes for a No."""
    real = os.stat

    def stat(path, **more):
        if "MyDrive" in os.fspath(path):
            raise OSError(107, "Transport endpoint is not connected")
        return real(path, **more)

    monkeypatch.setattr(os, "stat", stat)
    check("01.softmax", RIGHT)
    assert set(stored(colab.parent / ".course_lib" / "progress.json")) == {"01.softmax"}


def test_the_page_counts_and_names_the_next_one(place, capsys):
    check("01.softmax", RIGHT)
    saved.remember("99.gone")
    lines = shown(capsys).splitlines()
    of_one = next(line for line in lines if line.startswith("≈ chapter 01 "))
    assert lines[0] == f"≈ 1 of {len(catalogue())} exercises passed"
    assert "■□□□□□" in of_one and "1 of  6" in of_one and of_one.endswith("next: 01.temperature")
    assert all(line.startswith("≈ ") and len(line) <= 110 for line in lines[:-1])


def test_questions_have_a_line_once_one_is_answered_and_a_finished_chapter_says_so(place):
    assert "closed-book" not in saved.summary(["01.a"])
    for key, state in (("05.1", "right"), ("05.2", "wrong"), ("05.written", "written"), ("01.a", "passed")):
        saved.remember(key, state)
    said = saved.summary(["01.a", "02.a"])
    assert "≈ closed-book questions: 1 of 2 answered right; written answers: 1\n" in said
    assert "■             1 of  1   all passed" in said


def test_tests_leave_the_users_own_progress_alone():
    assert os.environ["COURSE_PROGRESS"] == "" and saved.file() is None

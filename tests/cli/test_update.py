"""`update`: the new version arrives, the student's work stays, and a refusal changes nothing."""

import json
import subprocess
from argparse import Namespace
from pathlib import Path

import pytest

from course_lib.cli import carry, update
from course_lib.cli.venv import SetUpError

ASK = 'def head(x):\n    return ...\n\n\ncheck("03.head", head)'
ANSWER = ASK.replace("...", "x @ x.T")
PICTURE = [{"output_type": "display_data", "data": {"image/png": "b2xk"}, "metadata": {}}]
GIT = ("git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main")


def cell(name: str, text: str, outputs: list | None = None) -> dict:
    return {"id": name, "cell_type": "code", "source": text, "metadata": {}, "execution_count": None,
            "outputs": outputs or []}  # fmt: skip


def said(text: str) -> list:
    return [{"output_type": "stream", "name": "stdout", "text": text}]


def notebook(*cells: dict) -> dict:
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


FIRST = notebook(
    cell("title", "# Heads"),
    cell("plot", "draw(1)", PICTURE),
    cell("ask", ASK, said("03.head: not tried yet")),
)


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run([*GIT, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def put(folder: Path, name: str, content: dict | str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(
        content if isinstance(content, str) else carry.written(content), encoding="utf-8"
    )


def commit(folder: Path, **files: dict | str) -> None:
    for name, content in files.items():
        put(folder, {"nb": "notebooks/03_heads.ipynb", "lib": "lib.py", "log": "CHANGELOG.md"}[name], content)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "change")


@pytest.fixture
def course(tmp_path) -> Path:
    """The course as it is published."""
    folder = tmp_path / "course"
    folder.mkdir()
    git(folder, "init", "-q")
    commit(folder, nb=FIRST, lib="x = 1\n", log="# Changes\n")
    return folder


@pytest.fixture
def mine(course, tmp_path, monkeypatch) -> Path:
    """A student's clone of it."""
    git(tmp_path, "clone", "-q", str(course), "mine")
    folder = tmp_path / "mine"
    for name, value in (("user.name", "x"), ("user.email", "x@example.org")):
        git(folder, "config", name, value)
    monkeypatch.setattr(update, "ROOT", folder)
    monkeypatch.setattr(update, "is_repository", lambda: True)
    return folder


def run(source: Path | None = None) -> None:
    assert update.run(Namespace(source=source)) == 0


def cells(folder: Path) -> list[tuple[str, list]]:
    stored = json.loads((folder / "notebooks" / "03_heads.ipynb").read_text(encoding="utf-8"))
    return [(carry.text(one), one["outputs"]) for one in stored["cells"]]


def contents(folder: Path) -> dict[str, str]:
    kept = [path for path in folder.rglob("*") if path.is_file() and not {"git", ".git"} & set(path.parts)]
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in kept}


NEW_PICTURE = [{"output_type": "display_data", "data": {"image/png": "bmV3"}, "metadata": {}}]
NEW = notebook(
    cell("title", "# Several heads"),
    cell("plot", "draw(2)", NEW_PICTURE),
    FIRST["cells"][2],
    cell("end", "# End"),
)
WORK = notebook(
    cell("title", "# Heads"), cell("plot", "draw(1)", said("a picture of mine")),
    cell("note", "# my own note"), cell("ask", ANSWER, said("03.head: passed"))
)  # fmt: skip
BOTH = [
    ("# Several heads", []), ("draw(2)", NEW_PICTURE), ("# my own note", []),
    (ANSWER, said("03.head: passed")), ("# End", [])
]  # fmt: skip


@pytest.mark.parametrize("committed", [False, True])
def test_the_answers_stay_and_the_new_version_comes(course, mine, committed, capsys):
    put(mine, "notebooks/03_heads.ipynb", WORK)
    if committed:
        commit(mine, nb=WORK)
    commit(course, nb=NEW, lib="x = 2\n", log="# Changes\n- Chapter 3 has an end.\n")
    run()
    assert cells(mine) == BOTH and (mine / "lib.py").read_text() == "x = 2\n"
    assert git(mine, "merge-base", "HEAD", "origin/main") == git(course, "rev-parse", "HEAD")
    (aside,) = (mine / "notebooks" / update.ASIDE).glob("*/03_heads.ipynb")
    assert json.loads(aside.read_text("utf-8")) == WORK
    printed = capsys.readouterr().out
    assert "Changed notebooks: 03_heads.ipynb" in printed and "- Chapter 3 has an end." in printed
    assert "kept # my own note, 03.head" in printed and str(aside.parent) in printed
    assert (git(mine, "status", "--porcelain", "--untracked-files=no") == "") == committed
    run()
    assert "This is the newest version" in capsys.readouterr().out and cells(mine) == BOTH


def test_a_notebook_that_only_ran_is_the_new_one(course, mine):
    put(
        mine, "notebooks/03_heads.ipynb", notebook(*FIRST["cells"][:1], cell("plot", "draw(1)", said("mine")))
    )
    commit(course, nb=NEW)
    run()
    assert cells(mine) == [(carry.text(one), one["outputs"]) for one in NEW["cells"]]


def test_a_notebook_that_is_gone_is_kept_aside(course, mine, capsys):
    put(mine, "notebooks/03_heads.ipynb", WORK)
    git(course, "rm", "-q", "notebooks/03_heads.ipynb")
    commit(course, lib="x = 2\n")
    run()
    assert not (mine / "notebooks" / "03_heads.ipynb").exists()
    assert len(list((mine / "notebooks" / update.ASIDE).glob("*/03_heads.ipynb"))) == 1
    assert "03_heads.ipynb is no longer part of the course" in capsys.readouterr().out


def untracked(mine, course):
    put(mine, "notebooks/04_new.ipynb", "mine")
    put(course, "notebooks/04_new.ipynb", NEW)
    commit(course)


REFUSALS = {
    "a changed library": (
        lambda mine, course: (put(mine, "lib.py", "x = 3\n"), commit(course, lib="x = 2\n")), "lib.py"),
    "a committed change of the library": (
        lambda mine, course: (commit(mine, lib="x = 3\n", nb=WORK), commit(course, lib="x = 2\n", nb=NEW)),
        "both changed lib.py"),
    "a file in the way": (untracked, "04_new.ipynb"),
    "conflict marks": (
        lambda mine, course: (put(mine, "notebooks/03_heads.ipynb", "<<<<<<<"), commit(course, nb=NEW)),
        "03_heads.ipynb is not a notebook.*conflict marks"),
    "no network": (
        lambda mine, course: git(mine, "remote", "set-url", "origin", "/nowhere"), "git: .*nowhere"),
    "no upstream": (lambda mine, course: git(mine, "branch", "--unset-upstream"), "set-upstream-to="),
    "no git": (lambda mine, course: (mine / ".git").rename(mine / "git"), "--from .*mine"),
}  # fmt: skip


def test_a_copy_of_another_user_is_not_taken_for_one_without_git(course, mine, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(SetUpError, match=f"{mine} cannot be written; update a copy"):
        run()


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_changes_nothing(case, course, mine):
    prepare, words = REFUSALS[case]
    put(mine, "notebooks/03_heads.ipynb", WORK)
    prepare(mine, course)
    before = contents(mine)
    with pytest.raises(SetUpError, match=words) as caught:
        run()
    after = {name: text for name, text in contents(mine).items() if update.ASIDE not in name}
    assert after == before and str(caught.value).count("\n") <= 1


def test_a_failure_half_way_leaves_all_as_it_was(course, mine, monkeypatch):
    put(mine, "notebooks/03_heads.ipynb", WORK)
    commit(course, nb=NEW, lib="x = 2\n")
    before, head = contents(mine), git(mine, "rev-parse", "HEAD")

    def full(path, carried):
        path.write_text("half", encoding="utf-8")
        raise OSError("disk full")

    monkeypatch.setattr(update, "write", full)
    with pytest.raises(OSError, match="disk full"):
        run()
    after = {name: text for name, text in contents(mine).items() if update.ASIDE not in name}
    assert after == before and git(mine, "rev-parse", "HEAD") == head


def test_without_room_for_the_copies_nothing_is_left(course, mine, monkeypatch):
    put(mine, "notebooks/03_heads.ipynb", WORK)
    commit(course, nb=NEW)
    before = contents(mine)

    def full(source, target):
        target.write_text("half", encoding="utf-8")
        raise OSError("disk full")

    monkeypatch.setattr("shutil.copyfile", full)
    with pytest.raises(OSError, match="disk full"):
        run()
    assert contents(mine) == before


def test_answers_come_from_a_copy_that_git_did_not_make(mine, tmp_path, capsys):
    old = tmp_path / "old"
    put(old, "notebooks/03_heads.ipynb", WORK)
    put(mine, "notebooks/03_heads.ipynb", NEW)
    before = contents(old)
    run(old)
    assert cells(mine) == [*BOTH[:2], *BOTH[3:]] and contents(old) == before
    assert "03_heads.ipynb: kept 03.head" in capsys.readouterr().out
    put(old, "notebooks/03_heads.ipynb", notebook(cell("ask", ASK + "  # old", said("03.head: wrong"))))
    run(old)  # an answer in this copy stays
    assert cells(mine)[2] == BOTH[3] and "yours is in the former" in capsys.readouterr().out
    with pytest.raises(SetUpError, match="--from: .* is this copy"):
        run(mine)


def test_where_both_sides_edited_a_cell_only_answers_stay():
    work = notebook(cell("plot", "draw(9)"), cell("ask", ANSWER))
    new = notebook(cell("plot", "draw(2)"), cell("ask", ASK + "  # a hint"))
    result = carry.merged(FIRST, work, new)
    assert [carry.text(one) for one in result.notebook["cells"]] == ["draw(2)", ANSWER]
    assert (result.kept, result.left) == (["03.head"], ["draw(9)"])


def test_cells_without_ids_are_found_as_after_colab():
    work = json.loads(json.dumps(WORK))
    for one in work["cells"]:
        one["metadata"]["id"] = one.pop("id") if one["id"] == "title" else "of-colab"
    result = carry.merged(FIRST, work, NEW)
    found = [carry.text(one) for one in result.notebook["cells"]]
    assert found == [text for text, _ in BOTH] and result.kept == ["# my own note", "03.head"]


def test_a_second_copy_of_an_exercise_is_a_cell_of_its_own():
    work = notebook(*FIRST["cells"], cell("copy", ANSWER))
    result = carry.merged(FIRST, work, FIRST)
    assert [carry.text(one) for one in result.notebook["cells"]][-2:] == [ASK, ANSWER]


def test_letters_and_written_answers_are_kept_like_exercises():
    asked = ('recall("03", ...)', 'my_prediction("03", ...)', 'conclude("03", """\n""")')
    given = ('recall("03", "abc")', 'my_prediction("03", 2)', 'conclude("03", """\nHeads look apart.\n""")')
    open_, done = ("Not answered yet.", "Not predicted yet.", "Not written yet."), ("a is right", "2", "Good")

    def page(texts, outputs):
        shown = [[{"output_type": "execute_result", "data": {"text/plain": one}}] for one in outputs]
        return notebook(*map(cell, "rpc", texts, shown))

    new = page([f"{one}  # new" for one in asked], open_)
    for result in (
        carry.answered(page(given, done), new),
        carry.merged(page(asked, open_), page(given, done), new),
    ):
        assert [carry.text(one) for one in result.notebook["cells"]] == list(given)
        assert result.kept == ["recall 03", "my_prediction 03", "conclude 03"]
    assert carry.answered(page(asked, open_), new).kept == []

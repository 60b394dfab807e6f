"""A file is written whole or not at all."""

from pathlib import Path

import pytest

from course_lib import files
from course_lib.files import atomic_path, data_folder


def test_file_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "new folder" / "a.txt"
    with atomic_path(target) as part:
        part.write_text("half")
        assert not target.exists()
        part.write_text("whole")
    assert target.read_text() == "whole"
    assert list(target.parent.iterdir()) == [target]


def test_file_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with atomic_path(str(target)) as part:
        part.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_failure_leaves_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(error), atomic_path(target) as part:
        part.write_text("half")
        raise error
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_folder_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "checkpoint"
    for text in ("old", "new"):
        with atomic_path(target) as part:
            part.mkdir()
            (part / f"{text}.txt").write_text(text)
    assert [path.name for path in target.iterdir()] == ["new.txt"]
    assert list(tmp_path.iterdir()) == [target]


def test_failure_leaves_the_old_folder(tmp_path: Path) -> None:
    target = tmp_path / "checkpoint"
    (target / "deep").mkdir(parents=True)
    with pytest.raises(ValueError), atomic_path(target) as part:
        part.mkdir()
        (part / "half.txt").write_text("half")
        raise ValueError
    assert [path.name for path in target.iterdir()] == ["deep"]
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_block_that_writes_nothing_is_an_error(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "old"
    target.write_text("old") if kind == "file" else target.mkdir()
    with pytest.raises(FileNotFoundError), atomic_path(target):
        pass
    assert list(tmp_path.iterdir()) == [target]


def test_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError), atomic_path(tmp_path / "file" / "a.txt") as part:
        part.write_text("")


def test_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert data_folder().is_dir()
    monkeypatch.setattr(files, "PACKAGE", tmp_path / "course_lib")
    with pytest.raises(FileNotFoundError, match="no data folder"):
        data_folder()
    (tmp_path / "data").mkdir()
    assert data_folder() == tmp_path / "data"
    (tmp_path / "course_lib" / "data").mkdir(parents=True)
    assert data_folder() == tmp_path / "course_lib" / "data"

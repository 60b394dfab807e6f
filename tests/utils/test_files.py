"""A file is written whole or not at all, and a folder that cannot be written to is noticed first."""

import errno
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.utils import files
from course_lib.utils.files import atomic_path, check_writable, data_folder


def test_a_file_appears_whole_and_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "new folder" / "a.txt"
    with atomic_path(target) as part:
        part.write_text("half")
        assert not target.exists()
        part.write_text("whole")
    with atomic_path(str(target)) as part:
        part.write_text("new")
        assert target.read_text() == "whole"
    assert target.read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("old", ["a.txt", "folder/deep.txt"])
def test_failure_leaves_the_old_file_or_folder(tmp_path: Path, old: str, error: type[BaseException]) -> None:
    (tmp_path / old).parent.mkdir(exist_ok=True)
    (tmp_path / old).write_text("old")
    target = tmp_path / Path(old).parts[0]
    with pytest.raises(error), atomic_path(target) as part:
        if target.is_dir():
            part.mkdir()
            part /= "half.txt"
        part.write_text("half")
        raise error
    assert (tmp_path / old).read_text() == "old"
    assert list(tmp_path.rglob("*")) == [target, tmp_path / old][: 1 + target.is_dir()]


def test_on_a_full_disk_the_error_names_what_was_to_be_written(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with pytest.raises(OSError, match="No space left") as caught, atomic_path(target) as room:
        room.mkdir()
        with atomic_path(room / "weights") as part:  # as a model's folder and its weights are written
            part.write_text("half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.filename == str(target) and list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError) as other, atomic_path(target):
        (tmp_path / "absent").read_text()
    assert other.value.filename == str(tmp_path / "absent")


def test_folder_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "checkpoint"
    for text in ("old", "new"):
        with atomic_path(target) as part:
            part.mkdir()
            (part / f"{text}.txt").write_text(text)
    assert [path.name for path in target.iterdir()] == ["new.txt"]
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_block_that_writes_nothing_is_an_error(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "old"
    target.write_text("old") if kind == "file" else target.mkdir()
    with pytest.raises(FileNotFoundError), atomic_path(target):
        pass
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_does_not_replace_a_folder(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder, not a file"):
        with atomic_path(tmp_path / "letters") as part:
            part.write_text("new")
    assert [one.name for one in tmp_path.iterdir()] == ["letters"]


WRITER = """
import sys, time
from course_lib.utils.files import atomic_path
with atomic_path(sys.argv[1]) as part:
    part.write_text("half")
    print("writing", flush=True)
    time.sleep(600)
"""


def start_writing(target: Path) -> subprocess.Popen:
    """A process that has begun to write `target`, and does not come to an end."""
    environment = os.environ | {"PYTHONPATH": str(Path(files.__file__).parents[1])}
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(target)], stdout=subprocess.PIPE, env=environment
    )
    assert writer.stdout.readline() == b"writing\n"
    return writer


@pytest.mark.skipif(files.fcntl is None, reason="this system has no locks of folders")
def test_leftovers_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    target = tmp_path / "a[1].txt"
    killed, alive = start_writing(target), start_writing(target)
    killed.kill()
    killed.wait()
    assert len(list(tmp_path.iterdir())) == 2  # a process that is killed can clean up nothing
    (tmp_path / ".a[1].txt.notes").write_text("no folder, and so not ours")
    (tmp_path / ".b.txt.x").mkdir()
    with atomic_path(target) as part:
        part.write_text("whole")
    left = {path.name for path in tmp_path.iterdir()} - {"a[1].txt", ".a[1].txt.notes", ".b.txt.x"}
    assert len(left) == 1  # that of the process which is still writing
    assert (tmp_path / left.pop() / "a[1].txt").read_text() == "half"
    alive.kill()
    alive.wait()
    with atomic_path(target) as part:
        part.write_text("whole")
    assert {path.name for path in tmp_path.iterdir()} == {"a[1].txt", ".a[1].txt.notes", ".b.txt.x"}


def test_a_folder_taken_for_a_leftover_is_made_again(tmp_path: Path, monkeypatch) -> None:
    """Another process may come between the making of the folder and its lock."""
    lock, seen = files._lock, []

    def late(folder: Path) -> int | None:
        seen.append(folder)
        if len(seen) == 1:
            shutil.rmtree(folder)
        return lock(folder)

    monkeypatch.setattr(files, "_lock", late)
    with atomic_path(tmp_path / "a.txt") as part:
        part.write_text("whole")
    assert len(seen) == 2 and (tmp_path / "a.txt").read_text() == "whole"


def test_without_locks_files_are_written_as_well(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    (tmp_path / ".a.txt.x").mkdir()
    with atomic_path(tmp_path / "a.txt") as part:
        part.write_text("whole")
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", ".a.txt.x"}


def test_whether_a_folder_can_be_written_to(tmp_path: Path, monkeypatch) -> None:
    check_writable(tmp_path / "new" / "run", 1000)
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "run"]
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="cannot write to .*run: "):
        check_writable(tmp_path / "file" / "run", 0)
    free = shutil.disk_usage(tmp_path).free
    with pytest.raises(OSError, match=r"has room for [\d,.]+ MB, but [\d,.]+ MB are needed"):
        check_writable(tmp_path, 2 * free)

    def full(**where: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.tempfile, "TemporaryFile", full)
    with pytest.raises(OSError, match=rf"cannot write to {re.escape(str(tmp_path))}: No space"):
        check_writable(tmp_path, 0)


def test_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert data_folder().is_dir()
    monkeypatch.setattr(files, "PACKAGE", tmp_path / "course_lib")
    with pytest.raises(FileNotFoundError, match="no data folder"):
        data_folder()
    (tmp_path / "data").mkdir()
    assert data_folder() == tmp_path / "data"
    (tmp_path / "course_lib" / "data").mkdir(parents=True)
    assert data_folder() == tmp_path / "course_lib" / "data"


def test_a_folder_that_cannot_be_written_is_named_and_not_the_temporary_one(tmp_path, monkeypatch):
    def refuse(prefix, dir):
        raise PermissionError(13, "Permission denied", f"{dir}/{prefix}x")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(PermissionError) as told, atomic_path(tmp_path / "a.txt"):
        pass
    assert told.value.filename == str(tmp_path)

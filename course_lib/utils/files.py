"""Files: atomic writes, and the folder with the course's own tables."""

import errno
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

PACKAGE = Path(__file__).parents[1]
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # no room on the disk, in the quota, in a file


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Atomic write: yields a temporary path that is renamed to `path` when the `with` block ends.

    Write a file or a folder there. It replaces an existing one; if the block fails, it is deleted.
    Raises FileNotFoundError if the block wrote nothing, and IsADirectoryError for a file in a folder's place;
    if the disk is full, the OSError names `path`.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    room, lock = _locked_room(path)
    try:
        yield room / path.name
        _put(room / path.name, path, aside=room / "replaced")
    except OSError as error:
        if error.errno in FULL:  # which names no file, or the temporary one
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    finally:
        shutil.rmtree(room, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _locked_room(path: Path) -> tuple[Path, int | None]:
    """A new folder beside `path`, and a lock on it, which shows that this process is alive (or None)."""
    while True:
        try:
            room = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        except OSError as error:  # which names the temporary folder
            raise OSError(error.errno, error.strerror, str(path.parent)) from None
        lock = _lock(room)
        if room.exists():  # otherwise, another process took it for a leftover before it was locked
            return room, lock
        if lock is not None:
            os.close(lock)


def _remove_leftovers(path: Path) -> None:
    """Remove what killed processes left beside `path`: folders that nobody has locked."""
    for room in path.parent.glob(f".{glob.escape(path.name)}.*"):
        lock = _lock(room) if room.is_dir() and not room.is_symlink() else None
        if lock is not None:
            shutil.rmtree(room, ignore_errors=True)
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """Lock a folder until this process ends.

    Returns None if another process holds the lock, and if there are no locks (Windows, some network drives).
    """
    if fcntl is None:
        return None
    try:
        lock = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _put(new: Path, path: Path, aside: Path) -> None:
    if not os.path.lexists(new):
        raise FileNotFoundError(f"nothing was written for {path}")
    if path.is_dir() and not new.is_dir():  # it would be lost
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", str(path))
    if path.is_dir():  # a folder cannot replace one that is not empty
        os.replace(path, aside)
    try:
        os.replace(new, path)
    except OSError:
        if aside.exists():
            os.replace(aside, path)
        raise


def check_writable(folder: str | os.PathLike[str], size: int) -> None:
    """Raise OSError if `folder` cannot be created or written to, or has no room for `size` bytes.

    For use before long work that writes its result there. Creates the folder, and nothing else.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")  # the disk may be full to the last byte
    except OSError as error:
        raise OSError(f"cannot write to {folder}: {error.strerror or error}") from error
    free = shutil.disk_usage(folder).free
    if free < size:
        raise OSError(f"{folder} has room for {free / 1e6:,.1f} MB, but {size / 1e6:,.1f} MB are needed")


def data_folder() -> Path:
    """Folder of the course's own tables: in the installed package, or `data/` at the top of the repository.

    Raises FileNotFoundError if neither exists.
    """
    for folder in (PACKAGE / "data", PACKAGE.parent / "data"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        f"no data folder: neither {PACKAGE / 'data'} nor {PACKAGE.parent / 'data'} exists"
    )

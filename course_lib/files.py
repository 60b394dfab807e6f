"""Files written whole or not at all, and where the course keeps its own tables."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGE = Path(__file__).parent


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path that takes the name `path` when the block ends, and vanishes if the block fails.

    The block writes a file or a folder there. An existing file or folder of that name is replaced.
    Raises FileNotFoundError where the block wrote nothing.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    room = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield room / path.name
        _put(room / path.name, path, aside=room / "replaced")
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _put(new: Path, path: Path, aside: Path) -> None:
    if not os.path.lexists(new):
        raise FileNotFoundError(f"nothing was written for {path}")
    if path.is_dir():  # a folder cannot be put over one that is not empty
        os.replace(path, aside)
    try:
        os.replace(new, path)
    except OSError:
        if aside.exists():
            os.replace(aside, path)
        raise


def data_folder() -> Path:
    """The course's own tables: inside the installed package, or `data/` at the top of the repository.

    Raises FileNotFoundError where neither exists.
    """
    for folder in (PACKAGE / "data", PACKAGE.parent / "data"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        f"no data folder: neither {PACKAGE / 'data'} nor {PACKAGE.parent / 'data'} exists"
    )

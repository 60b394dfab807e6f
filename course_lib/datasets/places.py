"""The three places where the file of a data set is looked for: $COURSE_DATA, the cache, the network.

Nothing is ever replaced by something else: a file that fails its check is refused, and a set that cannot be
had is an error that says what to do.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from course_lib.datasets.archives import BrokenArchive
from course_lib.datasets.entry import DataSet
from course_lib.datasets.sets import find_set
from course_lib.files import atomic_path, data_folder

DATA_VARIABLE = "COURSE_DATA"
CACHE_VARIABLE = "COURSE_CACHE"
TIMEOUT = (10, 60)  # seconds: to connect, and between two pieces


class DataSetUnavailable(RuntimeError):
    """A data set is in none of its three places; the message says the three ways to get it."""


def cache_folder() -> Path:
    """Where downloads are kept: $COURSE_CACHE, or else the place that the operating system gives."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given)
    import pooch  # here, because importing it takes longer than reading a set that needs no cache

    return Path(pooch.os_cache("course_lib"))


def find(name: str) -> Path | None:
    """The set's file on this machine: $COURSE_DATA first, then the cache. None where it is in neither.

    For a set of several files: the folder of the first, where all are there. Does not check and not download.
    """
    files = find_files(name)
    return place(find_set(name), files) if files else None


def find_files(name: str) -> list[Path]:
    """`find` for each file of the set; none of them where one is missing."""
    entry = find_set(name)
    found = [find_file(part) for part in entry.parts or (entry,)]
    return found if all(found) else []


def place(entry: DataSet, files: list[Path]) -> Path:
    """The file of a set, or the folder of its first one."""
    return files[0].parent if entry.parts else files[0]


def find_file(entry: DataSet) -> Path | None:
    """`find` for one file, in any of the forms that it may have."""
    if not entry.file:
        return sklearn_digits() if entry.kind == "images" else data_folder()
    given = os.environ.get(DATA_VARIABLE)
    folders = [Path(given), cache_folder()] if given else [cache_folder()]
    paths = (folder / form for folder in folders for form in entry.forms)
    return next((path for path in paths if path.is_file()), None)


def locate(name: str) -> Path:
    """The set's checked file: from $COURSE_DATA, or from the cache, or downloaded into the cache.

    For a set that is part of the course: its folder; for one of several files: the folder of the first.
    Raises BrokenArchive for a file in one of the first two places that fails its check, and
    DataSetUnavailable where nothing is found and no download succeeds.
    """
    return place(find_set(name), locate_files(name))


def locate_files(name: str) -> list[Path]:
    """`locate` for each file of the set; they may lie in several places."""
    entry = find_set(name)
    return [locate_file(part) for part in entry.parts or (entry,)]


def locate_file(entry: DataSet) -> Path:
    """`locate` for one file."""
    path = find_file(entry)
    if path is None:
        path = cache_folder() / entry.file
        download(entry, path)
    elif entry.file:
        with naming(entry, path):
            entry.check(path)
    return path


@contextmanager
def naming(entry: DataSet, path: Path) -> Iterator[None]:
    """Within the block, a BrokenArchive says which file of which set it is about, and what to do."""
    try:
        yield
    except BrokenArchive as error:
        raise BrokenArchive(
            f"{path} is not the data set {entry.name!r}: {error}. "
            "Replace this file, or delete it to have the set downloaded."
        ) from error


def sklearn_digits() -> Path:
    """The file of scikit-learn that holds the digits; scikit-learn itself is not imported."""
    return Path(find_spec("sklearn").origin).parent / "datasets" / "data" / "digits.csv.gz"


def download(entry: DataSet, path: Path) -> None:
    """Fetch the set's file to `path` from the first address that gives a file that passes the check.

    Raises DataSetUnavailable with the reason for each address; nothing is left at `path` then.
    """
    reasons = []
    _refuse_read_only(path.parent)
    for url in entry.urls:
        try:
            with atomic_path(path) as part:
                _fetch(url, part)
                entry.check(part)
            return
        except (OSError, ValueError) as error:  # network errors of requests are OSErrors
            reasons.append(f"     {url}: {error}")
    raise DataSetUnavailable(_three_ways(entry, path, reasons))


def _fetch(url: str, path: Path) -> None:
    """Write what the address gives to `path`; the caller checks it."""
    import pooch

    logger = pooch.get_logger()
    before = logger.level
    logger.setLevel("ERROR")  # pooch announces every download on stderr, which would show in notebooks
    try:
        pooch.retrieve(
            url=url,
            known_hash=None,
            fname=path.name,
            path=path.parent,
            downloader=pooch.HTTPDownloader(timeout=TIMEOUT),
        )
    finally:
        logger.setLevel(before)


def _refuse_read_only(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise DataSetUnavailable(
            f"cannot write to the cache folder {folder} ({error}). Set {CACHE_VARIABLE} to a folder where "
            f"writing is allowed, or {DATA_VARIABLE} to one that already holds the data."
        ) from error


def _three_ways(entry: DataSet, path: Path, reasons: list[str]) -> str:
    given = os.environ.get(DATA_VARIABLE)
    now = f"it is now {Path(given).absolute()}, which lacks it" if given else "it is not set now"
    return "\n".join(
        [
            f"the data set {entry.name!r} is not on this machine and could not be downloaded. Either:",
            f"  1. set {DATA_VARIABLE} to a folder that holds {entry.file} ({now});",
            f"  2. put the file into the cache, as {path};",
            "  3. go online and try again; the last attempt met:",
            *reasons,
        ]
    )

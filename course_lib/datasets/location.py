"""Locating data files: first in $COURSE_DATA, then in the cache, then by download.

There is no silent fallback: a file that fails verification is an error, and so is a data set that is not
available; the message says what to do.
"""

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from course_lib.datasets.archives import Bounded, BrokenArchive
from course_lib.datasets.catalog import DataSet, find_set
from course_lib.utils.files import atomic_path, data_folder
from course_lib.utils.network import network_advice

DATA_VARIABLE = "COURSE_DATA"
CACHE_VARIABLE = "COURSE_CACHE"
TIMEOUT = (10, 60)  # seconds: to connect, and between chunks
MOST_DOWNLOADED = 2**28  # bytes; the largest set has 170 million

_log = logging.getLogger(__name__)


class DataSetUnavailable(RuntimeError):
    """A data set is neither on this machine nor downloadable; the message lists three ways to get it."""


def cache_folder() -> Path:
    """Cache folder for downloads: $COURSE_CACHE, or else the operating system's default."""
    if given := folder_in(CACHE_VARIABLE):
        return given
    import pooch  # imported here because it takes longer than reading a set without the cache

    return Path(pooch.os_cache("course_lib"))


def folder_in(variable: str) -> Path | None:
    """Folder from an environment variable, with ~ expanded; None if the variable is not set."""
    given = os.environ.get(variable)
    return Path(os.path.expanduser(given)) if given else None


def find(name: str) -> Path | None:
    """Find a set's file on this machine, in $COURSE_DATA or else in the cache; None if it is in neither.

    For a set of several files: the folder of the first, if all exist. Neither verifies nor downloads.
    """
    files = find_files(name)
    return file_or_folder(find_set(name), files) if files else None


def find_files(name: str) -> list[Path]:
    """Find each file of a set; an empty list if any is missing."""
    entry = find_set(name)
    parts = entry.parts or (entry,)
    found = [path for part in parts if (path := find_file(part))]
    return found if len(found) == len(parts) else []


def file_or_folder(entry: DataSet, files: list[Path]) -> Path:
    """The file of a set, or the folder of its first file if it has several."""
    return files[0].parent if entry.parts else files[0]


def find_file(entry: DataSet) -> Path | None:
    """Find one file under any of its possible names."""
    if not entry.file:
        return sklearn_digits() if entry.kind == "images" else data_folder()
    given = folder_in(DATA_VARIABLE)
    folders = [given, cache_folder()] if given else [cache_folder()]
    paths = (folder / form for folder in folders for form in entry.forms)
    return next((path for path in paths if os.path.isfile(path)), None)  # not in a folder that is locked


def locate(name: str) -> Path:
    """Locate a set's file in $COURSE_DATA or the cache, or download it to the cache; the file is verified.

    For a set that is part of the course: its folder; for a set of several files: the folder of the first.
    Raises BrokenArchive if a file that is already there fails verification, and DataSetUnavailable if there
    is none and every download fails.
    """
    return file_or_folder(find_set(name), locate_files(name))


def locate_files(name: str) -> list[Path]:
    """Locate each file of a set; the files may be in different folders."""
    entry = find_set(name)
    return [locate_file(part) for part in entry.parts or (entry,)]


def locate_file(entry: DataSet) -> Path:
    """Locate one file."""
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
    """Add to a BrokenArchive raised in the block which file of which set it is about, and what to do."""
    try:
        yield
    except BrokenArchive as error:
        raise BrokenArchive(
            f"{path} is not the data set {entry.name!r}: {error}. "
            "Replace this file, or delete it to download the set."
        ) from error


def sklearn_digits() -> Path:
    """Path of the digits inside scikit-learn, without importing scikit-learn."""
    spec = find_spec("sklearn")
    if not (spec and spec.origin):
        raise ModuleNotFoundError("scikit-learn, which contains the digits, is not installed")
    return Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz"


def download(entry: DataSet, path: Path) -> None:
    """Download a set's file to `path` from the first URL whose file passes verification, or leave nothing."""
    reasons = []
    given = folder_in(DATA_VARIABLE)
    if given and not os.path.isdir(given):  # otherwise a typo would cause a download without a word
        _log.warning("%s is %s; downloading to %s", DATA_VARIABLE, state_of(given), path)
    _refuse_read_only(path.parent)
    for url in entry.urls:
        try:
            with atomic_path(path) as part:
                _fetch(url, part)
                entry.check(part)
            return
        except (OSError, ValueError) as error:  # the network errors of requests are OSErrors
            reasons.append(f"     {url}: {error}")
    raise DataSetUnavailable(_three_ways(entry, path, reasons))


def _fetch(url: str, path: Path) -> None:
    """Download a URL to `path`; the caller verifies it."""
    import pooch

    with path.open("wb") as file:
        pooch.HTTPDownloader(chunk_size=2**20, timeout=TIMEOUT)(
            url, Bounded(file, MOST_DOWNLOADED, "the file"), None
        )


def _refuse_read_only(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise DataSetUnavailable(
            f"cannot write to the cache folder {folder} ({error}). Set {CACHE_VARIABLE} to a writable "
            f"folder, or {DATA_VARIABLE} to a folder that already contains the data."
        ) from error


def state_of(given: Path) -> str:
    """Describe the folder in $COURSE_DATA, and why a file was not found there."""
    try:
        os.listdir(given)
        why = "does not contain it"
    except FileNotFoundError:
        why = "does not exist"
    except NotADirectoryError:
        why = "is not a folder"
    except OSError as error:
        why = f"cannot be read ({error.strerror})"
    return f"{given.absolute()}, which {why}"


def _three_ways(entry: DataSet, path: Path, reasons: list[str]) -> str:
    given = folder_in(DATA_VARIABLE)
    now = f"now it is {state_of(given)}" if given else "now it is not set"
    advice = (network_advice("\n".join(reasons)) or "").replace("\n", " ")
    return "\n".join(
        [
            f"the data set {entry.name!r} is not on this machine and could not be downloaded. Either:",
            f"  1. set {DATA_VARIABLE} to a folder that contains {entry.file} ({now});",
            f"  2. put the file into the cache, as {path};",
            "  3. go online and try again; the last attempt failed with:",
            *reasons,
            *([f"     {advice}"] if advice else []),
        ]
    )

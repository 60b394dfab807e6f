"""The catalog of data sets: what each is, where its files are, and how they are verified.

To add a set, add a table to catalog.toml.
"""

import hashlib
import logging
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from course_lib.datasets.archives import (
    BrokenArchive,
    count_pairs,
    read_member,
    read_members,
    sha256_of,
    unpacked,
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """One data set: what it is, where its file lies, and how the file is recognised.

    file: path relative to $COURSE_DATA and to the cache; empty for a set that is part of the course.
    sha256: of the file, if its publisher's copy never changes.
    text_sha256: of a text that may also be stored with gzip, as file.gz.
    member, member_sha256, pairs: the text inside the archive, its SHA-256, and its number of sentence pairs.
    members: the files to read inside a tar archive, each with its SHA-256.
    parts: the files of a set that has several; `file` is then their folder. The order is training,
    validation, test, each with source before target sentences, or images before labels.
    classes: the names of the labels 0, 1, …; empty for texts and sentence pairs.
    """

    name: str
    about: str
    license: str
    source: str
    target: str = ""
    file: str = ""
    urls: tuple[str, ...] = ()
    sha256: str = ""
    text_sha256: str = ""
    member: str = ""
    member_sha256: str = ""
    pairs: int = 0
    members: tuple[tuple[str, str], ...] = ()
    parts: tuple["DataSet", ...] = ()
    classes: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What the set contains: "images", "labelled" sentences, sentence "pairs", or a "text"."""
        if self.classes:
            return "images" if self.source == "images" else "labelled"
        return "pairs" if self.target else "text"

    @property
    def forms(self) -> list[str]:
        """Possible names of the file: a text may also be stored with gzip, a tar archive with xz."""
        if self.text_sha256:
            return [self.file, f"{self.file}.gz"]
        return [self.file, self.file.replace(".tar.gz", ".tar.xz")] if self.members else [self.file]

    def check(self, *paths: Path) -> str:
        """Verify the set's file (or files), and describe how; raises BrokenArchive on failure."""
        if self.parts:
            for part, path in zip(self.parts, paths, strict=True):
                part.check(path)
            return f"SHA-256 of each of its {len(self.parts)} files"
        (path,) = paths
        for what, known in (("file", self.sha256), ("text", self.text_sha256)):
            if known:
                found = sha256_of(path) if what == "file" else hashlib.sha256(unpacked(path)).hexdigest()
                if found != known:
                    raise BrokenArchive(f"the {what} has SHA-256 {found}, not {known}")
                return f"SHA-256 of the {what}"
        if self.members:
            read_members(path, dict(self.members))
            return f"SHA-256 of each of its {len(self.members)} files"
        return self.check_pairs(path)

    def check_pairs(self, path: Path) -> str:
        """Verify an archive; as many well-formed pairs are accepted too, with a warning in the log."""
        content = read_member(path, self.member)
        if hashlib.sha256(content).hexdigest() == self.member_sha256:
            return f"SHA-256 of {self.member}"
        found_pairs = count_pairs(content)
        if found_pairs != self.pairs:
            raise BrokenArchive(f"{self.member} has {found_pairs:,} pairs, not {self.pairs:,}")
        how = f"{self.pairs:,} well-formed pairs, although the SHA-256 of {self.member} is unknown"
        _log.warning("%s was accepted for its %s", path, how)
        return how


def _entry(name: str, table: dict[str, Any]) -> DataSet:
    """A data set from its table in catalog.toml."""
    parts, each = table.pop("parts", {}), table.pop("each", {})
    members = tuple(table.pop("members", {}).items())
    whole = DataSet(name=name, members=members, **_frozen(table))
    rows = tuple(replace(whole, **_frozen(each, part), **sums) for part, sums in parts.items())
    return replace(whole, parts=rows)


def _frozen(table: dict[str, Any], part: str = "{}") -> dict[str, Any]:
    """The fields of a table, lists as tuples, with the name of a part in place of {}."""

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(filled, value))
        return value.replace("{}", part) if isinstance(value, str) else value

    return {field: filled(value) for field, value in table.items()}


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_ENTRIES = tuple(_entry(name, table) for name, table in _TABLES.items())


def list_datasets() -> dict[str, DataSet]:
    """Return all data sets by name.

    >>> [name for name, entry in list_datasets().items() if entry.kind == "images"]
    ['digits', 'mnist', 'cifar10']
    """
    return {entry.name: entry for entry in _ENTRIES}


def find_set(name: str) -> DataSet:
    """Look up a data set; raises ValueError, listing the known names, if there is none of this name.

    >>> find_set("grammar").source, find_set("grammar").target
    ('English', 'Spanish')
    """
    sets = list_datasets()
    if name not in sets:
        raise ValueError(f"unknown data set {name!r}; known: {', '.join(sets)}")
    return sets[name]

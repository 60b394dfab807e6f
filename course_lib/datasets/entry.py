"""One data set: what it is, where its file lies, and how the file is recognised."""

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

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

    file: path below $COURSE_DATA and below the cache; empty for a set that is part of the course.
    sha256: of the file, where its publisher's copy is one fixed file.
    text_sha256: of a text that may also be there with gzip, as file.gz.
    member, member_sha256, pairs: the text inside the archive, its SHA-256, and how many pairs it holds.
    members: the files inside a tar archive that are read, each with its SHA-256.
    parts: the files of a set that has several, `file` being their folder; for training, validation and test,
    of pairs first the source and then the target of each, one sentence a line, of images their labels.
    classes: the names of the labels 0, 1, … of images or of sentences; empty for texts and pairs.
    """

    name: str
    about: str
    licence: str
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
        """What the set holds: "images", "labelled" sentences, "pairs" of sentences, or a "text"."""
        if self.classes:
            return "images" if self.source == "images" else "labelled"
        return "pairs" if self.target else "text"

    @property
    def forms(self) -> list[str]:
        """The names that the file may have: a text also with gzip, a tar archive also packed with xz."""
        if self.text_sha256:
            return [self.file, f"{self.file}.gz"]
        return [self.file, self.file.replace(".tar.gz", ".tar.xz")] if self.members else [self.file]

    def check(self, *paths: Path) -> str:
        """Say how the set's file, or each part's, was recognised; raises BrokenArchive where it was not.

        Where the publisher's file has no known SHA-256, a text with exactly the known number of well-formed
        pairs is accepted as well; this is logged as a warning.
        """
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
        """The same for an archive of sentence pairs."""
        content = read_member(path, self.member)
        if hashlib.sha256(content).hexdigest() == self.member_sha256:
            return f"SHA-256 of {self.member}"
        found_pairs = count_pairs(content)
        if found_pairs != self.pairs:
            raise BrokenArchive(f"{self.member} holds {found_pairs:,} pairs, not {self.pairs:,}")
        how = f"{self.pairs:,} well-formed pairs, though {self.member} has not the known SHA-256"
        _log.warning("%s was accepted by its %s", path, how)
        return how

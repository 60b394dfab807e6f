"""The data sets by name; a new set is one more entry of `_ENTRIES`."""

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

from course_lib.datasets.archives import BrokenArchive, count_pairs, read_member, sha256_of

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """One data set: what it is, where its file lies, and how the file is recognised.

    file: path below $COURSE_DATA and below the cache; empty for a set that is part of the course.
    sha256: of the file, where its publisher's copy is one fixed file.
    member, member_sha256, pairs: the text inside the archive, its SHA-256, and how many pairs it holds.
    """

    name: str
    about: str
    licence: str
    source: str
    target: str
    file: str = ""
    urls: tuple[str, ...] = ()
    sha256: str = ""
    member: str = ""
    member_sha256: str = ""
    pairs: int = 0

    def check(self, path: Path) -> str:
        """Say how the file at `path` was recognised; raises BrokenArchive where it was not.

        Where the publisher's file has no known SHA-256, a text with exactly the known number of well-formed
        pairs is accepted as well; this is logged as a warning.
        """
        if self.sha256:
            found = sha256_of(path)
            if found != self.sha256:
                raise BrokenArchive(f"the file has SHA-256 {found}, not {self.sha256}")
            return "SHA-256 of the file"
        content = read_member(path, self.member)
        if hashlib.sha256(content).hexdigest() == self.member_sha256:
            return f"SHA-256 of {self.member}"
        found_pairs = count_pairs(content)
        if found_pairs != self.pairs:
            raise BrokenArchive(f"{self.member} holds {found_pairs:,} pairs, not {self.pairs:,}")
        how = f"{self.pairs:,} well-formed pairs, though {self.member} has not the known SHA-256"
        _log.warning("%s was accepted by its %s", path, how)
        return how


_TATOEBA = "CC BY 2.0; sentences from tatoeba.org, chosen by manythings.org/anki"
_ENTRIES = (
    DataSet(
        name="grammar",
        about="phrases made by the course's own grammar, at most 8 words; part of the course",
        licence="MIT",
        source="English",
        target="Spanish",
    ),
    DataSet(
        name="spa-eng",
        about="sentences written and translated by volunteers (Tatoeba, 2018-05-13)",
        licence=_TATOEBA,
        source="English",
        target="Spanish",
        file="spa-eng/spa-eng.zip",
        urls=(
            "https://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip",
            "https://download.tensorflow.org/data/spa-eng.zip",
        ),
        member="spa-eng/spa.txt",
        member_sha256="6ec60e212f812ee3430f7568ea6f33b6fb080e32193c5952e8da0ee8ba45574c",
        pairs=118_964,
    ),
    DataSet(
        name="fra-eng",
        about="sentences written and translated by volunteers (Tatoeba, 2019-04-07), the set of d2l",
        licence=_TATOEBA,
        source="English",
        target="French",
        file="d2l/fra-eng.zip",
        urls=(
            "https://d2l-data.s3-accelerate.amazonaws.com/fra-eng.zip",
            "https://d2l-data.s3.amazonaws.com/fra-eng.zip",
        ),
        sha256="fa96382b2c8b609e1662654c1e6e6baeb8d30b3bf63dfb4a5a261cc36347df13",
        member="fra-eng/fra.txt",
        pairs=167_130,
    ),
)


def catalogue() -> dict[str, DataSet]:
    """All data sets by name."""
    return {entry.name: entry for entry in _ENTRIES}


def find_set(name: str) -> DataSet:
    """The data set of this name; raises ValueError that lists the known names."""
    sets = catalogue()
    if name not in sets:
        raise ValueError(f"unknown data set {name!r}; known: {', '.join(sets)}")
    return sets[name]

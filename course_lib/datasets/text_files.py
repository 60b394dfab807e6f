"""Text files: read piece by piece, with faults named by file and line; your own text, split and streamed."""

import hashlib
import json
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from course_lib.datasets.catalog import find_set, list_datasets
from course_lib.text.unicode_text import check_text

PathLike = str | Path
PIECE = 2**20  # characters that are read at once
BLOCK = 2**20  # characters of a long text that are used in one piece
TEXTS = (".txt", ".md", ".jsonl", ".rst", ".tex", ".py")
DOCUMENTS = 20  # with at least so many different documents, a text is split by document
HELD_OUT = 20  # one in so many documents is for testing, and one for validation
SHORTEST = 40  # characters of a text that can be split
SHARES = {"train": 0.9, "validation": 0.05, "test": 0.05}
SIDES = (*SHARES, "all")
UTF_16, GZIP = (b"\xff\xfe", b"\xfe\xff"), b"\x1f\x8b"  # what such files begin with


def existing(path: PathLike) -> Path | None:
    """The path of a file or folder, or None if it does not exist."""
    with suppress(OSError, ValueError, RuntimeError):  # too long, not a possible path, or no home folder
        if str(path).strip() and (found := Path(path).expanduser()).exists():
            return found
    return None


def require(path: PathLike) -> Path:
    """The path of a file or folder. Raises ValueError if it does not exist."""
    if (found := existing(path)) is None:
        raise ValueError(f"{str(path)!r:.200} is no file or folder on this machine")
    return found


def own_path(name: PathLike) -> Path | None:
    """The file or folder with this path; None for the name of a data set of the catalog.

    Raises ValueError if there is neither.
    """
    found = None if name in list_datasets() else existing(name)
    if found is None:
        try:
            find_set(str(name))
        except ValueError as error:
            where = "" if Path(name).is_absolute() else f" in {Path.cwd()}"
            raise ValueError(f"{error}; nor is there a file or folder with this name{where}") from None
    return found


def pieces(file: Path) -> Iterator[str]:
    """Read a text piece by piece, each but the last ending with a line if lines are not too long.

    The encoding is UTF-8; a byte-order mark is dropped, and each line ends with a line feed.
    Raises ValueError for an empty file, another encoding and a NUL character.
    """
    empty, lines = True, 1
    try:
        with file.open(encoding="utf-8-sig") as stream:
            while piece := stream.read(PIECE):
                piece += stream.readline(PIECE)
                before, nul, _ = piece.partition("\0")
                lines += before.count("\n")
                if nul:
                    raise ValueError(f"{file}, line {lines} is no text: it contains a NUL character")
                empty = empty and not piece.strip()
                yield piece
    except UnicodeDecodeError:
        raise ValueError(wrong_encoding(file)) from None
    if empty:
        size = file.stat().st_size
        raise ValueError(f"{file} is empty ({'0 bytes' if not size else 'nothing but white space'})")


def wrong_encoding(file: Path) -> str:
    """Which line of a file is not UTF-8."""
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if number == 1 and line[:2] in UTF_16:
                return f"{file} is in UTF-16 or UTF-32; save it as UTF-8"
            if number == 1 and line[:2] == GZIP:
                return f"{file} is compressed by gzip, whatever its name says; unpack it first"
            try:
                line.decode()
            except UnicodeDecodeError as error:
                found = f"byte {line[error.start]:#04x}"
                return f"{file}, line {number}: {found} is not UTF-8; save the file as UTF-8"
    return f"{file} is not UTF-8"


def lines_of(file: Path) -> Iterator[str]:
    """The lines of a text, without their ends."""
    rest = ""
    for piece in pieces(file):
        *whole, rest = (rest + piece).split("\n")
        yield from whole
    if rest:
        yield rest


def documents(file: Path) -> Iterator[Iterable[str]]:
    """The documents in a file, each in pieces: of .jsonl the "text" of each line, else the whole file."""
    if file.suffix.lower() != ".jsonl":
        yield pieces(file)
        return
    for number, row in json_lines(file):
        text = row.get("text")
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f'{file}, line {number} has no "text" with a string that is not empty')
        yield [text]


def json_lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number and the object of each line of a .jsonl file that is not blank."""
    for number, line in enumerate(lines_of(file), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                why = str(error).partition(": line")[0]
                raise ValueError(f"{file}, line {number} is not JSON: {why}") from None
            if not isinstance(row, dict):
                raise ValueError(f"{file}, line {number} is not a JSON object: {line!r:.60}")
            try:
                check_text("".join(value for value in row.values() if isinstance(value, str)))
            except ValueError:
                raise ValueError(f"{file}, line {number} contains half of a character") from None
            yield number, row


def files_in(path: Path, endings: Sequence[str]) -> list[Path]:
    """The file, or the files below a folder with these endings, in order; hidden ones are left out.

    Raises ValueError if there is none, and for a file with another ending.
    """
    if path.is_dir():
        inside = sorted(file for file in path.rglob("*") if file.is_file())
        found = [file for file in inside if file.suffix.lower() in endings]
        found = [f for f in found if not any(p.startswith(".") for p in f.relative_to(path).parts)]
        if not found:
            raise ValueError(f"{path} holds no file that ends in {', '.join(endings)}")
        return found
    if path.suffix.lower() not in endings:
        raise ValueError(f"{path} does not end in {', '.join(endings)}")
    return [path]


class TextFiles:
    """A text in files, split into training, validation and test text; it is read piece by piece.

    path: a .txt, .md, .jsonl, .rst, .tex or .py file, or a folder of them. A text of at
    least 20 documents is split by document (9 of 10 for training, and equal documents on the same side), any
    other into 90%, 5% and 5% of its characters, at the end of a line. Two documents are separated by an empty
    line.
    most: of which sets only so many characters are read if they are longer: blocks of about a million, spread
    evenly over the set. By default, and for sets that it does not name, everything is read.
    Raises ValueError for empty files, other encodings, and lines without JSON.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "poem.txt").write_text("one line\\n" * 100)
    ...     text = TextFiles(folder + "/poem.txt")
    ...     [len(part) for part in (text.train, text.validation, text.test)]
    [810, 45, 45]
    """

    def __init__(self, path: PathLike, most: Mapping[str, int] | None = None):
        self.path = require(path)
        self.name = self.path.name
        self.files = files_in(self.path, TEXTS)
        total, digests, met = hashlib.sha256(), [], np.zeros(sys.maxunicode + 1, bool)
        self.lengths: list[int] = []  # of the documents, in characters
        for document in self._documents():
            digest, length = hashlib.sha256(), 0
            for piece in document:
                digest.update(piece.encode())
                length += len(piece)
                met[np.frombuffer(piece.encode("utf-32-le"), np.uint32)] = True
            self.lengths.append(length)
            digests.append(digest.digest()[:8])
            total.update(digest.digest())
        self.checksum, self.different_characters = total.hexdigest()[:16], int(met.sum())
        self.characters, self.documents = sum(self.lengths), len(digests)
        self.duplicates = self.documents - len(set(digests))
        distinct = sorted(set(digests))
        self.by_document = len(distinct) >= DOCUMENTS
        if self.by_document:
            share = max(1, len(distinct) // HELD_OUT)
            self.sides = dict.fromkeys(distinct[:share], "test")
            self.sides |= dict.fromkeys(distinct[share : 2 * share], "validation")
            sizes = Counter[str]()
            for digest, length in zip(digests, self.lengths, strict=True):
                sizes[self.sides.get(digest, "train")] += length
        else:  # about so
            sizes = Counter({side: int(share * self.characters) for side, share in SHARES.items()})
        sizes["all"] = self.characters
        self.train, self.validation, self.test, self.all = (
            TextPart(self, side, sizes[side] // most[side] + 1 if most and side in most else 1)
            for side in SIDES
        )

    def _documents(self) -> Iterator[Iterable[str]]:
        return (document for file in self.files for document in documents(file))

    def whole(self) -> Iterator[str]:
        """All documents, in pieces."""
        for number, document in enumerate(self._documents()):
            if number:
                yield "\n\n"
            yield from document

    def parts(self) -> Iterator[tuple[str, str]]:
        """Each piece with the name of its set."""
        if self.by_document:
            for document in self._documents():
                yield from self._sided(document)
            return
        total = self.characters + 2 * (self.documents - 1)
        if total < SHORTEST:
            raise ValueError(f"{self.path}: {total} characters are too few for training, validation and test")
        ends = {"train": int(0.9 * total), "validation": int(0.95 * total), "test": total + 1}
        at = 0
        for piece in self.whole():
            while piece:
                side = next(name for name, end in ends.items() if at < end)
                cut = len(piece)
                if at + cut > ends[side]:
                    end = ends[side] - at
                    cut = piece.find("\n", end - 1, end + total // 100) + 1 or end
                yield side, piece[:cut]
                at, piece = at + cut, piece[cut:]

    def _sided(self, document: Iterable[str]) -> Iterator[tuple[str, str]]:
        """The pieces of a document with the name of the set that its checksum puts it into."""
        held, digest = list[str](), hashlib.sha256()
        for piece in document:
            held.append(piece)
            digest.update(piece.encode())
        side = self.sides.get(digest.digest()[:8], "train")
        yield from ((side, piece) for piece in (*held, "\n\n"))


class TextPart:
    """A part of a text in files: iterating reads it piece by piece, and `len` counts its characters.

    every: of blocks of about a million characters, each `every`-th is read, beginning with the first.
    """

    def __init__(self, text: TextFiles, side: str, every: int = 1):
        self.text, self.side, self.every = text, side, every
        self.length: int | None = None  # known after the first reading

    def __iter__(self) -> Iterator[str]:
        if self.side == "all":
            pieces = self.text.whole()
        else:
            pieces = (piece for side, piece in self.text.parts() if side == self.side)
        length = 0
        for piece in spread(pieces, self.every):
            yield piece
            length += len(piece)
        self.length = length

    def __len__(self) -> int:
        if self.length is None:
            deque(self, maxlen=0)
        return self.length or 0

    def __str__(self) -> str:
        return self.side if self.every == 1 else f"{self.side} (1 of {self.every} million characters)"


def spread(pieces: Iterable[str], every: int) -> Iterator[str]:
    """The pieces of each `every`-th block of about a million characters."""
    at = 0
    for piece in pieces:
        if at // BLOCK % every == 0:
            yield piece
        at += len(piece)

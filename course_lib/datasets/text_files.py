"""Text files: read piece by piece, with faults named by file and line; your own text, split and streamed."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from course_lib.datasets.catalog import find_set, list_datasets
from course_lib.text.unicode_text import check_text

PathLike = str | Path
PIECE = 2**20  # characters that are read at once
TEXTS = (".txt", ".md", ".jsonl", ".rst", ".tex", ".py")
DOCUMENTS = 20  # with at least so many different documents, a text is split by document
HELD_OUT = 20  # one in so many documents is for testing, and one for validation
SHORTEST = 40  # characters of a text that can be split
SIDES = ("train", "validation", "test", "all")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


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
    Raises ValueError for empty files, other encodings, and lines without JSON.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "poem.txt").write_text("one line\\n" * 100)
    ...     text = TextFiles(folder + "/poem.txt")
    ...     [len(part) for part in (text.train, text.validation, text.test)]
    [810, 45, 45]
    """

    def __init__(self, path: PathLike):
        self.path = require(path)
        self.name = self.path.name
        self.files = files_in(self.path, TEXTS)
        total, digests, self.alphabet = hashlib.sha256(), [], set[str]()
        self.lengths: list[int] = []  # of the documents, in characters
        for document in self._documents():
            digest, length = hashlib.sha256(), 0
            for piece in document:
                digest.update(piece.encode())
                length += len(piece)
                self.alphabet.update(piece)
            self.lengths.append(length)
            digests.append(digest.digest()[:8])
            total.update(digest.digest())
        self.train, self.validation, self.test, self.all = (TextPart(self, side) for side in SIDES)
        self.checksum = total.hexdigest()[:16]
        self.characters, self.documents = sum(self.lengths), len(digests)
        self.duplicates = self.documents - len(set(digests))
        distinct = sorted(set(digests))
        self.by_document = len(distinct) >= DOCUMENTS
        if self.by_document:
            share = max(1, len(distinct) // HELD_OUT)
            self.sides = dict.fromkeys(distinct[:share], "test")
            self.sides |= dict.fromkeys(distinct[share : 2 * share], "validation")

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
    """A part of a text in files: iterating reads it piece by piece, and `len` counts its characters."""

    def __init__(self, text: TextFiles, side: str):
        self.text, self.side = text, side

    def __iter__(self) -> Iterator[str]:
        if self.side == "all":
            return self.text.whole()
        return (piece for side, piece in self.text.parts() if side == self.side)

    def __len__(self) -> int:
        return sum(map(len, self))

    def pieces(self) -> int:
        """The number of pieces that iterating yields."""
        return sum(1 for _ in self)

"""Safe reading of damaged or hostile archives: size limits, path checks and checksums."""

import gzip
import hashlib
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedIOBase, BufferedReader
from pathlib import Path, PureWindowsPath
from typing import IO, cast

# Limits on the memory that a file can make us use. Each is well above the largest real file.
MOST_BYTES = 2**26  # of a text, or of one member of an archive, after decompression
MOST_UNPACKED = 2**28  # of a whole tar archive: also limits its headers, which tarfile reads without asking
MOST_ZIP = 2**24  # of a zip archive on disk: limits its table of contents
MOST_MEMBERS = 1000  # of an archive
MOST_LINES = 2**20  # of a file of sentence pairs

GZIP, XZ = b"\x1f\x8b", b"\xfd7zXZ\0"


class BrokenArchive(ValueError):
    """A file is damaged or has unexpected content; the message says what was found and what was expected."""


@contextmanager
def refusing_damage(what: str) -> Iterator[None]:
    """Turn any error in the block into a BrokenArchive: hostile bytes make parsers raise almost anything."""
    try:
        yield
    except BrokenArchive:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or repr(error)
        raise BrokenArchive(f"the {what} is damaged or truncated ({reason})") from error


class Bounded:
    """A file wrapper that reads or writes at most `most` bytes and raises BrokenArchive beyond that."""

    def __init__(self, file: BufferedIOBase | IO[bytes], most: int, what: str):
        self.file, self.most, self.left, self.what = file, most, most, what

    def read(self, size: int) -> bytes:
        return self._count(self.file.read(min(size, self.left + 1)))

    def write(self, content: bytes) -> int:
        return self.file.write(self._count(content))

    def flush(self) -> None:
        self.file.flush()

    def _count(self, content: bytes) -> bytes:
        self.left -= len(content)
        if self.left < 0:
            raise BrokenArchive(f"{self.what} has more than {self.most:,} bytes")
        return content


def read_all(file: BufferedIOBase | IO[bytes], what: str) -> bytes:
    """Read the rest of a file; raises BrokenArchive if it exceeds MOST_BYTES."""
    return Bounded(file, MOST_BYTES, what).read(MOST_BYTES + 1)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, as a hexadecimal string."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_member(archive: Path, member: str) -> bytes:
    """Read one member of a zip archive without extracting anything to disk.

    Raises BrokenArchive if the archive is damaged or too large, if any member is unsafe, or if the requested
    member is missing or too large.
    """
    with archive.open("rb") as file, refusing_damage("archive"):
        if archive.stat().st_size > MOST_ZIP:
            raise BrokenArchive(f"the archive has more than {MOST_ZIP:,} bytes")
        opened = zipfile.ZipFile(file)
        for info in opened.infolist():
            refuse_unsafe(info.filename, stat.S_ISLNK(info.external_attr >> 16))
        if member not in opened.namelist():
            raise BrokenArchive(f"the archive has no member {member!r}")
        info = opened.getinfo(member)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BrokenArchive(
                f"the member {member!r} uses a compression method that cannot be read in chunks"
            )
        with opened.open(info) as content:
            return read_all(content, f"the member {member!r}")


def read_members(archive: Path, members: Mapping[str, str]) -> dict[str, bytes]:
    """Read members of a tar archive (plain, gzip or xz) without extracting anything to disk.

    members: maps each name to its SHA-256. Returns the content by name.
    Raises BrokenArchive as `read_member` does, and if a checksum does not match.
    """
    found = {}
    with archive.open("rb") as file, refusing_damage("archive"):
        stream = Bounded(decompressed(file), MOST_UNPACKED, "the unpacked archive")
        with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|") as opened:
            for count, info in enumerate(opened, start=1):
                if count > MOST_MEMBERS:
                    raise BrokenArchive(f"the archive has more than {MOST_MEMBERS:,} members")
                refuse_unsafe(info.name, link=not (info.isfile() or info.isdir()))
                if info.name in members:
                    found[info.name] = read_checked(opened, info, members[info.name])
    if missing := [name for name in members if name not in found]:
        raise BrokenArchive(f"the archive has no member {missing[0]!r}")
    return found


def decompressed(file: BufferedReader) -> BufferedIOBase:
    """Decompress a gzip or xz file, recognized by its first bytes; any other file is returned as it is."""
    start = file.read(len(XZ))
    file.seek(0)
    if start.startswith(GZIP):
        return gzip.GzipFile(fileobj=file)
    return lzma.LZMAFile(file) if start == XZ else file


def read_checked(opened: tarfile.TarFile, info: tarfile.TarInfo, sha256: str) -> bytes:
    """Read a tar member; raises BrokenArchive if it is too large or its SHA-256 does not match."""
    if info.size > MOST_BYTES:
        raise BrokenArchive(f"the member {info.name!r} has {info.size:,} bytes, more than {MOST_BYTES:,}")
    file = opened.extractfile(info)
    if file is None:
        raise BrokenArchive(f"the member {info.name!r} is not a file")
    content = file.read()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise BrokenArchive(f"the member {info.name!r} has SHA-256 {found}, not {sha256}")
    return content


def unpacked(path: Path) -> bytes:
    """Read a file, decompressing gzip or xz; raises BrokenArchive if that fails."""
    with path.open("rb") as file, refusing_damage("file"):
        return read_all(decompressed(file), "the file")


def read_text(path: Path) -> str:
    """Read a text file, decompressing gzip or xz; raises BrokenArchive if it is not UTF-8."""
    return decode(unpacked(path))


def decode(content: bytes) -> str:
    """Decode UTF-8, dropping a byte-order mark; raises BrokenArchive if the bytes are not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BrokenArchive(f"the text is not UTF-8 ({error})") from error


def refuse_unsafe(name: str, link: bool) -> None:
    """Raise BrokenArchive for a link, or for a path that would leave the folder it is extracted to."""
    path = PureWindowsPath(name)  # understands drive letters and both kinds of slash
    if path.drive or path.root or ".." in path.parts or link:
        raise BrokenArchive(f"the archive member {name!r} points outside the archive")


def count_pairs(content: bytes) -> int:
    """Count the lines, each `sentence TAB sentence`; raises BrokenArchive if any line is not."""
    if content.count(b"\n") > MOST_LINES:
        raise BrokenArchive(f"the text has more than {MOST_LINES:,} lines")
    lines = decode(content).removesuffix("\n").split("\n")
    rows = (line.split("\t") for line in lines)
    good = sum(1 for row in rows if len(row) == 2 and row[0].strip() and row[1].strip())
    if good != len(lines):
        raise BrokenArchive(f"only {good:,} of {len(lines):,} lines are sentence pairs")
    return good

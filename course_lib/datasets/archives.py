"""The checks that an archive passes before a line of it is used."""

import gzip
import hashlib
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PureWindowsPath

MOST_BYTES = (
    2**26
)  # of one member of a tar archive, which could otherwise unpack to more than the memory holds


class BrokenArchive(ValueError):
    """A file that is not what its name promises; the message says what was found and what was expected."""


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_member(archive: Path, member: str) -> bytes:
    """The bytes of one member of a zip archive; nothing is unpacked to disk.

    Raises BrokenArchive for a truncated or damaged archive, an unsafe member anywhere, or a missing member.
    """
    with archive.open("rb") as file:  # what goes wrong after this is the fault of the content
        try:
            opened = zipfile.ZipFile(file)
            for info in opened.infolist():
                refuse_unsafe(info.filename, stat.S_ISLNK(info.external_attr >> 16))
            return opened.read(member)
        except KeyError:
            raise BrokenArchive(f"the archive holds no member {member!r}") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
            raise BrokenArchive(f"the archive is damaged or cut short ({error})") from error


def read_members(archive: Path, members: Mapping[str, str]) -> dict[str, bytes]:
    """The bytes of some members of a packed tar archive, by name; nothing is unpacked to disk.

    members: the SHA-256 of each. Raises BrokenArchive as `read_member` does, and where one has another.
    """
    found = {}
    with archive.open("rb") as file:
        try:
            with tarfile.open(fileobj=file, mode="r|*") as opened:
                for info in opened:
                    refuse_unsafe(info.name, link=not (info.isfile() or info.isdir()))
                    if info.name in members:
                        found[info.name] = read_checked(opened, info, members[info.name])
        except (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, OSError) as error:
            raise BrokenArchive(f"the archive is damaged or cut short ({error})") from error
    if missing := [name for name in members if name not in found]:
        raise BrokenArchive(f"the archive holds no member {missing[0]!r}")
    return found


def read_checked(opened: tarfile.TarFile, info: tarfile.TarInfo, sha256: str) -> bytes:
    """The bytes of a member; raises BrokenArchive where it is too large, or has another SHA-256."""
    if info.size > MOST_BYTES:
        raise BrokenArchive(f"the member {info.name!r} has {info.size:,} bytes, more than {MOST_BYTES:,}")
    content = opened.extractfile(info).read()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise BrokenArchive(f"the member {info.name!r} has SHA-256 {found}, not {sha256}")
    return content


def unpacked(path: Path) -> bytes:
    """The bytes of a file, unpacked where it is a gzip file; raises BrokenArchive where that fails."""
    content = path.read_bytes()
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise BrokenArchive(f"the gzip file is damaged or cut short ({error})") from error


def refuse_unsafe(name: str, link: bool) -> None:
    """Raise BrokenArchive for a member that is a link, or that would leave its folder if it were unpacked."""
    path = PureWindowsPath(name)  # knows drives, and both kinds of slash
    if path.drive or path.root or ".." in path.parts or link:
        raise BrokenArchive(f"the member {name!r} of the archive points outside of it")


def count_pairs(content: bytes) -> int:
    """How many lines are `sentence TAB sentence`, if all are; raises BrokenArchive otherwise."""
    try:
        lines = content.decode("utf-8-sig").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise BrokenArchive(f"the text is not UTF-8 ({error})") from error
    rows = (line.split("\t") for line in lines)
    good = sum(1 for row in rows if len(row) == 2 and row[0].strip() and row[1].strip())
    if good != len(lines):
        raise BrokenArchive(f"{good:,} of {len(lines):,} lines are pairs of sentences; all should be")
    return good

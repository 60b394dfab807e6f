"""The checks that an archive passes before a line of it is used."""

import gzip
import hashlib
import stat
import zipfile
import zlib
from pathlib import Path, PureWindowsPath


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
                refuse_unsafe(info)
            return opened.read(member)
        except KeyError:
            raise BrokenArchive(f"the archive holds no member {member!r}") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
            raise BrokenArchive(f"the archive is damaged or cut short ({error})") from error


def unpacked(path: Path) -> bytes:
    """The bytes of a file, unpacked where it is a gzip file; raises BrokenArchive where that fails."""
    content = path.read_bytes()
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise BrokenArchive(f"the gzip file is damaged or cut short ({error})") from error


def refuse_unsafe(info: zipfile.ZipInfo) -> None:
    """Raise BrokenArchive for a member that is a link, or that would leave its folder if it were unpacked."""
    path = PureWindowsPath(info.filename)  # knows drives, and both kinds of slash
    if path.drive or path.root or ".." in path.parts or stat.S_ISLNK(info.external_attr >> 16):
        raise BrokenArchive(f"the member {info.filename!r} of the archive points outside of it")


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

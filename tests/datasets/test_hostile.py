"""Malicious data files (zip bombs, false headers, random bytes): each causes a one-line error."""

import gzip
import lzma
import random
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.archives import tar_of, zip_of

from course_lib.datasets import BrokenArchive, archives
from course_lib.datasets.archives import count_pairs, read_member, read_members, read_text, unpacked

MOST = 2**20  # bytes that the tests allow
BOMB = bytes(32 * MOST)
MEMBER = "tiny/tiny.txt"


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MOST_BYTES", "MOST_UNPACKED", "MOST_ZIP"):
        monkeypatch.setattr(archives, limit, MOST)


def with_size(archive: bytes, size: int) -> bytes:
    """Change the size in both headers of a zip archive with one member."""
    changed = bytearray(archive)
    changed[22:26] = struct.pack("<I", size)
    directory = archive.index(b"PK\x01\x02")
    changed[directory + 24 : directory + 28] = struct.pack("<I", size)
    return bytes(changed)


def member(path: Path) -> bytes:
    return read_member(path, MEMBER)


def members(path: Path) -> dict[str, bytes]:
    return read_members(path, {MEMBER: "0" * 64})


def put(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "file"
    path.write_bytes(content)
    return path


BOMBS = {
    "zip": (member, lambda: zip_of({MEMBER: BOMB})),
    "zip of bz2": (member, lambda: zip_of({MEMBER: BOMB}, zipfile.ZIP_BZIP2)),
    "zip of lzma": (member, lambda: zip_of({MEMBER: BOMB}, zipfile.ZIP_LZMA)),
    "gzip": (unpacked, lambda: gzip.compress(BOMB, 1)),
    "many gzips": (unpacked, lambda: gzip.compress(bytes(MOST)) * 32),
    "xz": (unpacked, lambda: lzma.compress(BOMB, preset=0)),
    "plain": (unpacked, lambda: BOMB),
    "member of a tar": (members, lambda: gzip.compress(tar_of({MEMBER: BOMB}), 1)),
    "skipped member of a tar": (members, lambda: lzma.compress(tar_of({"other": BOMB}), preset=0)),
    "header of a tar": (members, lambda: gzip.compress(tar_of({"other": b""}, comment="0" * len(BOMB)), 1)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_it_fills_the_memory(name: str, tmp_path: Path) -> None:
    read, made = BOMBS[name]
    path = put(tmp_path, made())
    tracemalloc.start()
    with pytest.raises(BrokenArchive, match="bytes|cannot be read in chunks"):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * MOST < len(BOMB)


@pytest.mark.parametrize("size", [0, 3, 2**31, 2**32 - 2])
def test_what_a_header_says_of_a_members_size_is_not_trusted(size: int, tmp_path: Path) -> None:
    content = b"Go.\tVe.\n" * 9
    path = put(tmp_path, with_size(zip_of({MEMBER: content}), size))
    if size < len(content):
        with pytest.raises(BrokenArchive, match="damaged or truncated"):
            member(path)
    else:
        assert member(path) == content
    with pytest.raises(BrokenArchive, match="more than|damaged or truncated"):
        member(put(tmp_path, with_size(zip_of({MEMBER: BOMB}), size)))


def test_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_MEMBERS", 3)
    with pytest.raises(BrokenArchive, match="has more than 3 members"):
        members(put(tmp_path, tar_of(dict.fromkeys("abcd", b""))))
    monkeypatch.setattr(archives, "MOST_ZIP", 50)
    with pytest.raises(BrokenArchive, match="the archive has more than 50 bytes"):
        member(put(tmp_path, zip_of({MEMBER: b"Go.\tVe.\n"})))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_a_member_that_is_no_file_is_refused(kind: bytes, tmp_path: Path) -> None:
    for name in (MEMBER, "other"):
        with pytest.raises(BrokenArchive, match=f"'{name}' points outside the archive"):
            members(put(tmp_path, tar_of({name: b""}, kind=kind)))


@pytest.mark.parametrize("read", [unpacked, member, members])
@pytest.mark.parametrize(
    "content",
    [
        zip_of({MEMBER: b"Go.\tVe.\n" * 9}),
        zip_of({"tiny/tíny.txt": b"Go.\tVe.\n" * 9}),  # its name is marked as UTF-8
        gzip.compress(tar_of({MEMBER: b"Go."}, mtime="1.5", comment="a")),
        lzma.compress(tar_of({MEMBER: b"Go."})),
        tar_of({MEMBER: b"Go."}, size="3"),
    ],
    ids=["zip", "zip in UTF-8", "tar.gz", "tar.xz", "tar"],
)
def test_random_damage_is_read_or_refused(read: Callable, content: bytes, tmp_path: Path) -> None:
    """Whatever a few random bytes do to a file, no other error comes out, and it has one line."""
    rng = random.Random(0)
    for _ in range(40):
        changed = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(len(content))] = rng.randrange(256)
        try:
            read(put(tmp_path, bytes(changed)))
        except BrokenArchive as error:
            assert "\n" not in str(error)


def test_pairs_without_end_are_not_cut_into_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_LINES", 3)
    assert count_pairs(b"a\tb\n" * 3) == 3
    with pytest.raises(BrokenArchive, match="more than 3 lines"):
        count_pairs(b"\n" * 4)


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BrokenArchive, match="the text is not UTF-8"):
        read_text(put(tmp_path, gzip.compress("Vé.".encode("latin-1"))))
    assert read_text(put(tmp_path, gzip.compress("\ufeffVé.".encode()))) == "Vé."


def test_a_folder_is_not_read_as_a_member(tmp_path: Path) -> None:
    archive = tar_of({"folder": b""}, kind=tarfile.DIRTYPE)
    with pytest.raises(BrokenArchive, match="'folder' is not a file"):
        read_members(put(tmp_path, archive), {"folder": ""})

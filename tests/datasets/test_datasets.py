"""Locating, downloading and verifying data sets; offline, with a local web server."""

import contextlib
import dataclasses
import gzip
import hashlib
import io
import logging
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path

import pooch
import pytest
from helpers.archives import zip_of

from course_lib import datasets
from course_lib.cli import data
from course_lib.cli.environment import child_environment
from course_lib.datasets import BrokenArchive, DataSet, DataSetUnavailable, catalog, location

TEXT = "Go.\tVe.\nHi!\t¡Hola!\nWho is he?\t¿Quién es?\n".encode()
OTHER_TEXT = "Go.\tVe.\nHi!\t¡Hola!\nWho is she?\t¿Quién es?\n".encode()
LOADERS = (
    datasets.load_pairs,
    datasets.load_translation,
    datasets.load_text,
    datasets.load_labelled,
    datasets.load_images,
)
PAIRS = [("Go.", "Ve."), ("Hi!", "¡Hola!"), ("Who is he?", "¿Quién es?")]


ARCHIVE = zip_of({"tiny/": b"", "tiny/tiny.txt": TEXT})
TINY = DataSet(
    name="tiny",
    about="three pairs",
    license="none",
    source="English",
    target="Spanish",
    file="tiny/tiny.zip",
    member="tiny/tiny.txt",
    member_sha256=hashlib.sha256(TEXT).hexdigest(),
    pairs=3,
)
FIXED = dataclasses.replace(TINY, name="fixed", sha256=hashlib.sha256(ARCHIVE).hexdigest())


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> str:
    """A URL that refuses connections."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with contextlib.closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}/tiny.zip"


@pytest.fixture(autouse=True)
def small_sets(cache: Path, offer: Callable[..., None]) -> None:
    """Two small sets in the catalog, without URLs."""
    offer(TINY, FIXED)


def put(folder: Path, content: bytes = ARCHIVE) -> Path:
    path = folder / TINY.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() or path.name.startswith(".")]


# The catalog


def test_catalog() -> None:
    sets = {name: entry for name, entry in datasets.list_datasets().items() if name not in ("tiny", "fixed")}
    assert sets.keys() >= {
        "grammar",
        "spa-eng",
        "fra-eng",
        "reviews",
        "sst2",
        "digits",
        "mnist",
        "wikitext-2",
    }
    for name, entry in sets.items():
        assert entry.name == name and entry.about and entry.license and entry.source != entry.target
        assert len(entry.classes) == {"images": 10, "labelled": 2}.get(entry.kind, 0)
    files = [file for entry in sets.values() for file in entry.parts or (entry,)]
    for entry in filter(lambda file: file.file, files):
        assert len(set(entry.urls)) >= 2
        assert all(url.startswith("https://") for url in entry.urls)
        members = [digest for _, digest in entry.members]
        digests = list(filter(None, [entry.sha256, entry.member_sha256, entry.text_sha256, *members]))
        assert digests and all(len(digest) == 64 for digest in digests)


@pytest.mark.parametrize("use", [datasets.locate, datasets.find, *LOADERS])
def test_unknown_name_lists_the_known_ones(use) -> None:
    with pytest.raises(ValueError, match=r"unknown data set 'spa_eng'; known: .*grammar, spa-eng, fra-eng"):
        use("spa_eng")


@pytest.mark.parametrize(
    ("load", "name", "message"),
    [
        (datasets.load_translation, "timemachine", "is a text.*load_text"),
        (datasets.load_translation, "sst2", "is a set of labeled sentences, not of.*load_labelled"),
        (datasets.load_translation, "cifar10", "is a set of images, not of sentence pairs.*load_images"),
        (datasets.load_text, "spa-eng", "is a set of sentence pairs.*grammar, tinyshakespeare"),
        (datasets.load_text, "reviews", "is a set of labeled sentences, not a text"),
        (datasets.load_text, "mnist", "is a set of images, not a text"),
        (datasets.load_labelled, "grammar", "is not a set of labeled sentences; those are: reviews, sst2"),
        (datasets.load_images, "spa-eng", "is not a set of images; those are: digits, mnist, cifar10"),
    ],
)
def test_the_kinds_of_sets_are_told_apart(load, name, message) -> None:
    with pytest.raises(ValueError, match=f"'{name}' {message}"):
        load(name)


def test_at_most_counts_both_sides() -> None:
    short, long_source, long_target = ("a b", "c d"), ("a b c", "d"), ("a", "b c d")
    assert datasets.at_most(2, [short, long_source, long_target]) == [short]
    assert datasets.at_most(3, [short, long_source, long_target]) == [short, long_source, long_target]
    with pytest.raises(ValueError, match="max_words=0"):
        datasets.at_most(0, [short])


# Where files are looked for, in order


def test_course_data_comes_first(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert datasets.find("tiny") is None
    kept = put(cache)
    assert datasets.locate("tiny") == datasets.find("tiny") == kept
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "given"))
    assert datasets.locate("tiny") == kept
    given = put(tmp_path / "given")
    assert datasets.locate("tiny") == datasets.find("tiny") == given


def test_embedded_set_is_always_there() -> None:
    assert datasets.locate("grammar").is_dir()
    assert datasets.locate("digits") == datasets.find("digits") and datasets.locate("digits").is_file()


def test_default_cache_belongs_to_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COURSE_CACHE")
    assert location.cache_folder().is_absolute() and "course_lib" in str(location.cache_folder())


@pytest.mark.parametrize("name", ["tiny", "fixed"])
def test_download(name, server, cache, offer) -> None:
    server.files["/tiny.zip"] = ARCHIVE
    entry = dataclasses.replace(
        catalog.find_set(name), urls=(f"{server.url}/tiny.zip", f"{server.url}/second.zip")
    )
    offer(entry)
    assert datasets.load_pairs(name) == PAIRS
    assert datasets.load_pairs(name) == PAIRS
    assert server.asked == ["/tiny.zip"]  # the second time, the cache has it
    assert files_below(cache) == [cache / TINY.file]


def test_download_is_silent(server, cache, monkeypatch) -> None:
    """What pooch would announce on stderr would appear in a notebook's output."""
    said = []
    monkeypatch.setattr(pooch.get_logger(), "handlers", [handler := logging.Handler()])
    monkeypatch.setattr(handler, "emit", said.append)
    server.files["/tiny.zip"] = ARCHIVE
    pooch.get_logger().setLevel("INFO")
    location.download(dataclasses.replace(TINY, urls=(f"{server.url}/tiny.zip",)), cache / "a.zip")
    assert said == [] and pooch.get_logger().level == logging.INFO


@pytest.mark.parametrize(
    "fault", ["unreachable", "missing", "other file", "cut short", "broken-off", "not a zip", "empty"]
)
def test_second_address_is_used(fault, server, nowhere, cache, monkeypatch) -> None:
    server.files.update(
        {
            "/good.zip": ARCHIVE,
            "/other file.zip": zip_of({"tiny/tiny.txt": b"Go.\tVe.\n"}),
            "/cut short.zip": ARCHIVE[:-40],
            "/broken-off.zip": ARCHIVE,
            "/not a zip.zip": b"<html>sign in first</html>",
            "/empty.zip": b"",
        }
    )
    first = nowhere if fault == "unreachable" else f"{server.url}/{fault}.zip"
    for entry in (TINY, FIXED):
        location.download(dataclasses.replace(entry, urls=(first, f"{server.url}/good.zip")), cache / "a.zip")
        assert (cache / "a.zip").read_bytes() == ARCHIVE
        (cache / "a.zip").unlink()
    assert files_below(cache) == []


def test_an_endless_download_is_refused(server, cache, monkeypatch) -> None:
    server.files["/tiny.zip"] = bytes(2000)
    monkeypatch.setattr(location, "MOST_DOWNLOADED", 1000)
    with pytest.raises(DataSetUnavailable, match="tiny.zip: the file has more than 1,000 bytes"):
        location.download(dataclasses.replace(TINY, urls=(f"{server.url}/tiny.zip",)), cache / "a.zip")
    assert files_below(cache) == []


def test_an_interrupted_download_leaves_nothing(cache, monkeypatch) -> None:
    def cut(url: str, path: Path) -> None:
        path.write_bytes(ARCHIVE[:30])
        raise KeyboardInterrupt

    monkeypatch.setattr(location, "_fetch", cut)
    with pytest.raises(KeyboardInterrupt):
        location.download(dataclasses.replace(TINY, urls=("https://a.b/c",)), cache / "a.zip")
    assert files_below(cache) == []


def test_no_address_works(server, nowhere, cache, offer) -> None:
    server.files["/other.zip"] = other = zip_of({"tiny/tiny.txt": b"Go.\tVe.\n"})
    urls = (nowhere, f"{server.url}/missing.zip", f"{server.url}/other.zip")
    digests = f"has SHA-256 {hashlib.sha256(other).hexdigest()}, not {FIXED.sha256}"
    for entry, reason in ((TINY, "has 1 pairs, not 3"), (FIXED, digests)):
        offer(dataclasses.replace(entry, urls=urls))
        with pytest.raises(DataSetUnavailable) as caught:
            datasets.load_translation(entry.name)
        message = str(caught.value)
        assert entry.name in message and "COURSE_DATA" in message and "now it is not set" in message
        assert str(cache / TINY.file) in message and "go online" in message
        assert all(part in message for part in (nowhere, "404", reason))
    assert files_below(cache) == []


def test_error_says_what_course_data_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "given"))
    with pytest.raises(DataSetUnavailable, match="given, which does not exist"):
        datasets.locate("tiny")
    (tmp_path / "given").mkdir()
    with pytest.raises(DataSetUnavailable, match="given, which does not contain it"):
        datasets.locate("tiny")
    (tmp_path / "given").rmdir()
    (tmp_path / "given").touch()
    with pytest.raises(DataSetUnavailable, match="given, which is not a folder"):
        datasets.locate("tiny")


def test_a_missing_folder_is_said_to_be_missing_before_a_download(
    tmp_path: Path, server, cache: Path, monkeypatch: pytest.MonkeyPatch, caplog, offer
) -> None:
    server.files["/tiny.zip"] = ARCHIVE
    offer(dataclasses.replace(TINY, urls=(f"{server.url}/tiny.zip",)))
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "given"))
    datasets.locate("tiny")
    assert f"COURSE_DATA is {tmp_path / 'given'}, which does not exist; downloading to {cache}" in caplog.text


@pytest.mark.parametrize("variable", ["COURSE_DATA", "COURSE_CACHE"])
def test_tilde_is_the_folder_of_the_user(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))  # what Windows reads
    monkeypatch.setenv(variable, "~/given")
    assert datasets.find("tiny") is None
    path = put(tmp_path / "given")
    assert datasets.locate("tiny") == path
    assert child_environment()[variable] == str(tmp_path / "given")


def test_a_cache_that_cannot_be_made_or_written_to(tmp_path: Path, cache, server, monkeypatch, offer) -> None:
    def refuse(**where: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "file").write_text("")
    offer(dataclasses.replace(TINY, urls=(f"{server.url}/tiny.zip",)))
    for folder in (tmp_path / "file" / "cache", cache):
        monkeypatch.setenv("COURSE_CACHE", str(folder))
        if folder == cache:  # it exists, but is read-only, or the disk is full
            monkeypatch.setattr(location.tempfile, "TemporaryFile", refuse)
        with pytest.raises(
            DataSetUnavailable, match="cannot write to the cache folder .*Set COURSE_CACHE to a writable"
        ):
            datasets.locate("tiny")
    assert server.asked == [] and files_below(cache) == []


# Files that exist but are wrong


@pytest.mark.parametrize("place", ["COURSE_DATA", "cache"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (ARCHIVE[:-30], "damaged or truncated"),
        (b"", "damaged or truncated"),
        (zip_of({"elsewhere.txt": TEXT}), "no member 'tiny/tiny.txt'"),
        (
            zip_of({"tiny/tiny.txt": TEXT, "../evil.txt": b""}),
            r"'../evil.txt' points outside",
        ),
        (zip_of({"tiny/tiny.txt": TEXT, "a/../../evil.txt": b""}), "points outside"),
        (zip_of({"tiny/tiny.txt": TEXT, "/etc/evil.txt": b""}), "points outside"),
        (zip_of({"tiny/tiny.txt": TEXT, "C:/evil.txt": b""}), "points outside"),
        (zip_of({"tiny/tiny.txt": TEXT, "..\\evil.txt": b""}), "points outside"),
        (zip_of({"tiny/tiny.txt": b"Go.\tVe.\n"}), "has 1 pairs, not 3"),
        (zip_of({"tiny/tiny.txt": b"Go.\tVe.\nHi.\nNo.\tNo.\n"}), "only 2 of 3 lines are sentence pairs"),
        (
            zip_of({"tiny/tiny.txt": b"Go.\tVe.\nHi.\t \nNo.\tNo.\n"}),
            "only 2 of 3 lines are sentence pairs",
        ),
        (zip_of({"tiny/tiny.txt": "Go.\tVé.\n".encode("latin-1")}), "not UTF-8"),
    ],
)
def test_broken_file_is_refused(place, content, reason, tmp_path, cache, monkeypatch) -> None:
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "given"))
    path = put(tmp_path / "given" if place == "COURSE_DATA" else cache, content)
    with pytest.raises(BrokenArchive, match=reason) as caught:
        datasets.load_pairs("tiny")
    assert str(path) in str(caught.value) and "Replace this file" in str(caught.value)
    with pytest.raises(BrokenArchive, match="has SHA-256"):
        datasets.load_pairs("fixed")
    assert path.read_bytes() == content
    assert not list(tmp_path.rglob("evil.txt"))


def test_link_is_refused(cache) -> None:
    file = io.BytesIO(ARCHIVE)
    with zipfile.ZipFile(file, "a") as archive:
        link = zipfile.ZipInfo("tiny/link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    put(cache, file.getvalue())
    with pytest.raises(BrokenArchive, match="'tiny/link' points outside"):
        datasets.locate("tiny")


def test_every_damage_is_named(cache) -> None:
    """Truncated anywhere, or with any single byte changed, the archive is read correctly or refused."""
    cut = [ARCHIVE[:length] for length in range(len(ARCHIVE))]
    changed = [ARCHIVE[:i] + bytes([ARCHIVE[i] ^ 0xFF]) + ARCHIVE[i + 1 :] for i in range(len(ARCHIVE))]
    refused = 0
    for content in cut + changed:
        path = put(cache, content)
        try:
            assert TINY.check(path) == "SHA-256 of tiny/tiny.txt"
        except BrokenArchive:
            refused += 1
    assert refused > 0.6 * len(cut + changed)


def test_unknown_checksum_is_said_openly(cache, caplog) -> None:
    put(cache, zip_of({"tiny/tiny.txt": OTHER_TEXT}))
    assert datasets.load_pairs("tiny")[2] == ("Who is she?", "¿Quién es?")
    assert "3 well-formed pairs, although the SHA-256 of tiny/tiny.txt is unknown" in caplog.text
    caplog.clear()
    put(cache)
    assert datasets.load_pairs("tiny") == PAIRS  # read again because the file has changed
    assert caplog.text == ""


# Sets of several files

LINES = {
    f"{split}.{side}.gz": gzip.compress("".join(f"{word} {number}\n" for number in numbers).encode())
    for split, numbers in (("train", (1, 2, 3, 4)), ("val", (2,)), ("test", (5, 6)))
    for side, word in (("de", "Satz"), ("en", "sentence"))
}


@pytest.fixture
def several(offer, small) -> DataSet:
    """A set of six small files in the catalog."""
    about = {
        "name": "several",
        "about": "six files",
        "license": "none",
        "source": "German",
        "target": "English",
    }
    parts = tuple(DataSet(file=f"several/{name}", sha256="unknown", **about) for name in LINES)
    offer(DataSet(file="several", parts=parts, **about))
    small("several", LINES)
    return catalog.find_set("several")


def put_lines(*folders: Path) -> None:
    """Write the files into these folders in turn."""
    for number, (name, content) in enumerate(LINES.items()):
        folder = folders[number % len(folders)] / "several"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def test_a_set_of_several_files_is_downloaded_file_by_file(server, cache, several) -> None:
    data = datasets.load_translation("several")
    assert data.train == [(f"Satz {i}", f"sentence {i}") for i in (1, 3, 4)]
    assert data.left_out == data.validation == [("Satz 2", "sentence 2")]
    assert data.test == [("Satz 5", "sentence 5"), ("Satz 6", "sentence 6")]
    assert len(datasets.load_pairs("several")) == 7
    assert sorted(server.asked) == sorted(f"/{name}" for name in LINES)
    assert datasets.find("several") == cache / "several"
    assert several.check(*datasets.locate_files("several")) == "SHA-256 of each of its 6 files"


def test_all_files_of_a_set_must_be_there_and_be_whole(tmp_path, monkeypatch, server, several) -> None:
    server.files.clear()
    put_lines(tmp_path)
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    file = tmp_path / "several" / "val.en.gz"
    assert datasets.load_translation("several", max_words=2).test and datasets.find("several") == file.parent
    file.write_bytes(LINES["val.en.gz"][:-9])
    with pytest.raises(BrokenArchive, match="is not the data set 'several': the file has SHA-256"):
        datasets.load_translation("several")
    file.unlink()
    with pytest.raises(DataSetUnavailable, match="several/val.en.gz"):
        datasets.load_translation("several")


def test_the_files_of_a_set_may_lie_in_both_places(tmp_path, cache, monkeypatch, capsys, several) -> None:
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "given"))
    put_lines(tmp_path / "given", cache)
    assert len(datasets.load_pairs("several")) == 7
    assert data.verified("several")
    said = capsys.readouterr().out
    assert "verified by SHA-256 of each of its 6 files" in said
    assert f"{tmp_path / 'given' / 'several'} and {cache / 'several'} (0.0 MB)" in said
    assert said.splitlines()[1].strip() in data.described("several")


def test_unequal_texts_are_named(cache, offer, several) -> None:
    offer(dataclasses.replace(several, parts=(*several.parts[:3], several.parts[5], *several.parts[4:])))
    put_lines(cache)
    with pytest.raises(BrokenArchive, match="several/test.en.gz has 2 translations for 1 sentences"):
        datasets.load_pairs("several")


def test_a_data_folder_of_another_user_is_said_to_be_locked(tmp_path: Path, monkeypatch) -> None:
    def refuse(path, **more):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.listdir", refuse)
    assert location.state_of(tmp_path) == f"{tmp_path}, which cannot be read (Permission denied)"
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "given"))
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("os.stat", refuse)
    assert datasets.find("spa-eng") is None

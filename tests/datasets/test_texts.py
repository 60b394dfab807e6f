"""Texts: splits, files, and damaged files that are refused; offline."""

import dataclasses
import gzip
import hashlib

import pytest

from course_lib import datasets
from course_lib.datasets import BrokenArchive, load_text
from course_lib.datasets.splits import normalize

pytestmark = pytest.mark.usefixtures("cache")
PARTS = {part: f" = {part} = \n a <unk> word of {part} \n".encode() for part in ("train", "valid", "test")}
ONE = "".join(f"line {number}\n" for number in range(40)).encode()


def test_one_file_is_downloaded_and_split_nine_to_one(server, offer, cache):
    entry = datasets.find_set("tinyshakespeare")
    offer(dataclasses.replace(entry, sha256=hashlib.sha256(ONE).hexdigest(), urls=(f"{server.url}/one",)))
    server.files["/one"] = ONE
    text = load_text("tinyshakespeare")
    assert (text.train + text.validation).encode() == ONE and text.test == ""
    assert len(text.train) == int(0.9 * len(ONE))
    assert (cache / "tinyshakespeare" / "input.txt").read_bytes() == ONE


def test_several_files_are_downloaded(small, cache):
    small("wikitext-2", PARTS)
    assert datasets.find("wikitext-2") is None
    text = load_text("wikitext-2")
    assert [text.train, text.validation, text.test] == [part.decode() for part in PARTS.values()]
    assert datasets.find("wikitext-2") == datasets.locate("wikitext-2") == cache / "wikitext-2"


def test_course_data_may_hold_them_with_gzip(tmp_path, monkeypatch, small):
    small("wikitext-2", PARTS)
    folder = tmp_path / "given" / "wikitext-2"
    folder.mkdir(parents=True)
    for name, text in PARTS.items():
        (folder / f"{name}.txt.gz").write_bytes(gzip.compress(text))
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "given"))
    assert load_text("wikitext-2").validation.encode() == PARTS["valid"]
    files = datasets.locate_files("wikitext-2")
    assert datasets.find_set("wikitext-2").check(*files) == "SHA-256 of each of its 3 files"
    for content, message in ((gzip.compress(b"other"), "SHA-256"), (gzip.compress(ONE)[:-9], "truncated")):
        (folder / "test.txt.gz").write_bytes(content)
        with pytest.raises(BrokenArchive, match=f"test.txt.gz.*{message}"):
            load_text("wikitext-2")


def test_the_embedded_text_has_no_sentence_on_two_sides():
    text = load_text()
    parts = [text.train, text.validation, text.test]
    lines = [part.splitlines() for part in parts]
    assert [len(some) for some in lines[1:]] == [1000, 2000]
    sentences = [set(map(normalize, some)) for some in lines]
    assert len(set.union(*sentences)) == sum(map(len, lines))  # each once
    assert len(text.train) > 1_000_000 and all(part.endswith("\n") for part in parts)

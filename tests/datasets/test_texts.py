"""Texts: splits, files, and damaged files that are refused; offline."""

import dataclasses
import gzip
import hashlib
import os

import pytest

from course_lib import datasets
from course_lib.datasets import BrokenArchive, DataSetUnavailable, load_text
from course_lib.datasets.splits import normalize

pytestmark = pytest.mark.usefixtures("cache")
PARTS = {part: f" = {part} = \n a <unk> word of {part} \n".encode() for part in ("train", "valid", "test")}
REAL = os.environ.get("COURSE_DATA", "")  # before the fixture `cache` unsets it
ONE = "".join(f"line {number}\n" for number in range(40)).encode()


def small_wikitext(url=""):
    """WikiText-2 with files of two lines."""
    real = datasets.find_set("wikitext-2")
    parts = tuple(
        dataclasses.replace(part, text_sha256=hashlib.sha256(text).hexdigest(), urls=(f"{url}/{name}",))
        for part, (name, text) in zip(real.parts, PARTS.items(), strict=True)
    )
    return dataclasses.replace(real, parts=parts)


def small_shakespeare(url=""):
    real = datasets.find_set("tinyshakespeare")
    return dataclasses.replace(
        real, sha256=hashlib.sha256(ONE).hexdigest(), urls=(f"{url}/gone", f"{url}/one")
    )


def test_catalog_of_texts():
    for name in ("tinyshakespeare", "timemachine", "wikitext-2"):
        entry = datasets.find_set(name)
        assert entry.about and entry.license and not entry.target
        for part in entry.parts or (entry,):
            assert len(set(part.urls)) >= 2 and all(url.startswith("https://") for url in part.urls)
            assert len(part.sha256 or part.text_sha256) == 64


def test_one_file_is_downloaded_and_split_nine_to_one(server, offer, cache):
    offer(small_shakespeare(server.url))
    server.files["/one"] = ONE
    text = load_text("tinyshakespeare")
    assert (text.train + text.validation).encode() == ONE and text.test == ""
    assert len(text.train) == int(0.9 * len(ONE))
    assert server.asked == ["/gone", "/one"]
    assert (cache / "tinyshakespeare" / "input.txt").read_bytes() == ONE
    assert load_text("tinyshakespeare") == text and len(server.asked) == 2  # from the cache


def test_several_files_are_downloaded(server, offer, cache):
    offer(small_wikitext(server.url))
    server.files |= {f"/{name}": text for name, text in PARTS.items()}
    assert datasets.find("wikitext-2") is None
    text = load_text("wikitext-2")
    assert [text.train, text.validation, text.test] == [part.decode() for part in PARTS.values()]
    assert datasets.find("wikitext-2") == datasets.locate("wikitext-2") == cache / "wikitext-2"
    files = datasets.locate_files("wikitext-2")
    assert datasets.find_set("wikitext-2").check(*files) == "SHA-256 of each of its 3 files"


def test_course_data_may_hold_them_with_gzip(tmp_path, monkeypatch, offer):
    offer(small_wikitext())
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


def test_a_text_that_cannot_be_had_says_the_three_ways(server, offer):
    offer(small_wikitext(server.url))
    server.files["/train"] = b"something else"
    with pytest.raises(DataSetUnavailable, match=r"(?s)COURSE_DATA.*wikitext-2/train.txt.*cache.*online"):
        load_text("wikitext-2")


def test_texts_and_pairs_are_told_apart():
    with pytest.raises(ValueError, match="'spa-eng' is a set of sentence pairs.*grammar, tinyshakespeare"):
        load_text("spa-eng")
    with pytest.raises(ValueError, match="'timemachine' is a text.*load_text"):
        datasets.load_translation("timemachine")
    with pytest.raises(ValueError, match="unknown data set 'shakespeare'; known:.*tinyshakespeare"):
        load_text("shakespeare")


def test_the_embedded_text_has_no_sentence_on_two_sides():
    text = load_text()
    parts = [text.train, text.validation, text.test]
    lines = [part.splitlines() for part in parts]
    assert [len(some) for some in lines[1:]] == [1000, 2000]
    assert all(len(some) == len(set(some)) for some in lines)
    sentences = [set(map(normalize, some)) for some in lines]
    assert not sentences[0] & sentences[1] and not sentences[0] & sentences[2]
    assert not sentences[1] & sentences[2]
    assert len(text.train) > 1_000_000 and all(part.endswith("\n") for part in parts)
    assert text == load_text("grammar")


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("tinyshakespeare", (1_003_854, 111_540, 0)),
        ("timemachine", (161_081, 8_949, 8_949)),
        ("wikitext-2", (10_780_437, 1_120_192, 1_255_018)),
    ],
)
def test_sizes_of_the_real_texts(name, sizes, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", REAL)
    text = load_text(name)
    assert (len(text.train), len(text.validation), len(text.test)) == sizes

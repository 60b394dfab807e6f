"""The stored counts of real words: how they are made, and that they are those of the data set."""

from pathlib import Path

import pytest

from course_lib.chapters.ch06_translation import real_words
from course_lib.datasets import TranslationData, load_translation
from course_lib.text.bpe import ByteBPE

PAIRS = [("he eats", "él come"), ("she eats bread", "ella come pan"), ("she reads", "ella lee ella")]
DATA = TranslationData(
    name="tiny", source="English", target="Spanish", max_words=None,
    train=PAIRS, validation=[("she reads", "ella lee")], test=[("he drinks", "¿él bebe?")], left_out=[],
)  # fmt: skip


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> real_words.RealWords:
    monkeypatch.setattr(real_words, "NUMBERS", (1, None))
    monkeypatch.setattr(real_words, "MERGES", (0, 4))
    return real_words.measure(DATA)


def test_words_and_tokens_are_counted(tiny: real_words.RealWords) -> None:
    assert tiny.counts == {1: 3, 2: 2, 3: 1, 5: 1}  # ella, come, él, pan, lee
    assert tiny.once == pytest.approx(3 / 5)
    assert tiny.new == {1: (2, 1.0), 3: (5, 0.5)}  # a sentence is new if any of its words is
    assert tiny.lengths[0] == (len(b"ella lee") + len("¿él bebe?".encode())) / 2  # of held-out sentences
    assert tiny.lengths[4] < tiny.lengths[0]
    assert (tiny.words, tiny.characters) == ((2 + 4) / 2, (8 + 9) / 2)
    assert tiny.merges == tuple(ByteBPE.train([text for pair in PAIRS for text in pair], 4).merges)


def test_what_is_stored_is_what_is_read(
    tiny: real_words.RealWords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_words, "STORED", tmp_path / "words.json")
    monkeypatch.setattr(real_words, "load_translation", lambda name, max_words: DATA)
    real_words.main()
    assert real_words.stored.__wrapped__() == tiny


def test_the_stored_counts_are_sound() -> None:
    words = real_words.stored()
    assert list(words.counts) == list(real_words.RANKS)
    assert list(words.counts.values()) == sorted(words.counts.values(), reverse=True)
    assert list(words.lengths.values()) == sorted(words.lengths.values(), reverse=True)
    assert words.words < words.lengths[3000] < words.characters < words.lengths[0]
    assert len(ByteBPE(words.merges)) == 5 + 256 + 3000


@pytest.mark.real_data
def test_the_stored_counts_are_those_of_the_data_set() -> None:
    data = load_translation(real_words.DATA, max_words=real_words.MAX_WORDS)
    words = real_words.stored()
    counts = real_words.word_counts(pair[1] for pair in data.train)
    assert all(counts[rank - 1] == count for rank, count in words.counts.items())
    held_out = [pair[1] for pair in data.validation + data.test]
    assert real_words.new_words(data.train, held_out) == words.new

"""Byte-level BPE: equal to the package tokenizers, merge by merge, and exact round trips on any text."""

import random
import sys

import pytest

from course_lib.text.bpe import (
    BYTES,
    FIRST,
    ByteBPE,
    merge_pair,
    most_frequent_pair,
    split_words,
)
from course_lib.text.fast_bpe import as_characters, merges_of, train_with_tokenizers
from course_lib.text.tokenizers import BOS, EOS, PAD, SPECIAL_TOKENS, UNK

SENTENCES = [
    "I am eating an apple, and they are eating two pears.",
    "¿Qué estás comiendo? Mañana comeré una manzana, señora.",
    "the thing that they think is nothing",
    "banana bandana ananas aaaa aaaaa  aaaaaa\n\tend",
]
ANY_TEXT = [
    "",
    " ",
    "\n\n a",
    "犬が走る",
    "🍎🐕‍🦺",
    "مرحبا",
    "e\u0301 é",
    "\x00\u202e\ufeff\ue000",
    "_x__",
    "½²",
    "a\u00a0b",
]


def made_up(seed: int) -> list[str]:
    """Texts of few letters, so that pairs overlap and are often equally frequent."""
    draw = random.Random(seed)
    return ["".join(draw.choices("aab ñ", k=draw.randrange(1, 30))) for _ in range(60)]


@pytest.mark.parametrize("texts", [SENTENCES, *map(made_up, range(8))])
def test_it_learns_and_applies_the_merges_of_the_package_tokenizers(texts: list[str]) -> None:
    tokenizer = ByteBPE.train(texts, 60)
    other = train_with_tokenizers(texts, len(tokenizer) - FIRST - BYTES)
    vocabulary = {piece.decode("latin-1"): i for i, piece in enumerate(tokenizer.pieces)}
    assert vocabulary == other.get_vocab()
    assert tokenizer.merges[: len(learned := merges_of(other))] == learned
    for word in {word for text in [*texts, *made_up(99), *ANY_TEXT] for word in split_words(text)}:
        assert [i - FIRST for i in tokenizer.encode(word)] == other.encode(as_characters(word)).ids


@pytest.fixture(scope="module")
def tokenizer() -> ByteBPE:
    return ByteBPE.train(SENTENCES, 80)


@pytest.mark.parametrize("text", [*SENTENCES, *ANY_TEXT])
def test_any_text_comes_back_byte_for_byte(tokenizer: ByteBPE, text: str) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(FIRST <= i < len(tokenizer) for i in ids)


def test_random_unicode_comes_back(tokenizer: ByteBPE) -> None:
    draw = random.Random(0)
    valid = [*range(0xD800), *range(0xE000, sys.maxunicode + 1)]
    for _ in range(300):
        text = "".join(map(chr, draw.choices(valid, k=20)))
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_lone_surrogate_is_refused(tokenizer: ByteBPE) -> None:
    with pytest.raises(ValueError, match="lone surrogate, U\\+D83D"):
        tokenizer.encode("half \ud83d")
    with pytest.raises(ValueError, match="lone surrogate"):
        ByteBPE.train(["half \ud83d"], 3)


def test_every_character_is_in_exactly_one_word() -> None:
    for text in [*SENTENCES, *ANY_TEXT]:
        assert "".join(split_words(text)) == text
    assert split_words("I don't, do I?") == ["I", " don", "'", "t", ",", " do", " I", "?"]


def test_a_merge_never_crosses_words(tokenizer: ByteBPE) -> None:
    learned = [piece.decode(errors="replace") for piece in tokenizer.pieces[BYTES:]]
    assert learned and all(" " not in piece[1:] for piece in learned if piece.strip())


def test_without_merges_the_ids_are_the_bytes() -> None:
    assert ByteBPE().encode("aé") == [FIRST + byte for byte in (97, 0xC3, 0xA9)]
    assert len(ByteBPE()) == FIRST + BYTES


def test_special_tokens_come_first_and_no_text_makes_them(tokenizer: ByteBPE) -> None:
    assert [tokenizer[i] for i in range(FIRST)] == SPECIAL_TOKENS
    assert not {PAD, BOS, EOS, UNK} & set(tokenizer.encode("[PAD] [BOS] [EOS] [UNK]"))
    assert tokenizer.decode([BOS, *tokenizer.encode("an apple"), EOS, PAD]) == "an apple"


def test_a_part_of_a_character_is_shown_as_a_replacement(tokenizer: ByteBPE) -> None:
    ids = ByteBPE().encode("🍎")
    assert len(ids) == 4 and ByteBPE().decode(ids[:3]) == "�" and tokenizer[ids[0]] == "�"


def test_most_frequent_pair_counts_words_as_often_as_they_occur() -> None:
    assert most_frequent_pair([[1, 2, 3], [2, 3], [7, 8]], [1, 1, 3]) == (7, 8)
    assert most_frequent_pair([[3, 2], [1, 9]], [1, 1]) == (1, 9)  # equally frequent
    assert most_frequent_pair([[1], []], [5, 5]) is None


def test_merges_do_not_overlap() -> None:
    assert merge_pair([1, 1, 1, 2, 1, 1], (1, 1), 9) == [9, 1, 2, 9]
    assert merge_pair([2, 1], (1, 2), 9) == [2, 1]


def test_training_stops_when_nothing_is_left_to_merge() -> None:
    assert len(ByteBPE.train(["ab", "ab"], 50).merges) == 1
    assert ByteBPE.train([], 5).merges == []
    with pytest.raises(ValueError, match="merges=-1 must be at least 0"):
        ByteBPE.train(["ab"], -1)


def test_encode_batch_is_encode_for_each(tokenizer: ByteBPE) -> None:
    assert tokenizer.encode_batch(SENTENCES) == [tokenizer.encode(text) for text in SENTENCES]

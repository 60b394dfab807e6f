"""Texts are prepared for use as they were for training, and unknown characters are told."""

import sys
import unicodedata
import warnings

import pytest

from course_lib.text import ByteBPE, CharTokenizer, Tokenizer, WordTokenizer
from course_lib.text.preparation import INVISIBLE, clean, encode_clean, encode_pairs, plain, warn_of_unknown
from course_lib.text.tokenizers import UNK

TEXTS = ["The government is reading a book.", '"I don\'t know... maybe," she said - finally.']
KINDS = {
    "bpe": lambda: Tokenizer.train(TEXTS, 80),
    "words": lambda: Tokenizer.train(TEXTS, 80, kind="words"),
    "characters": lambda: CharTokenizer.train(TEXTS),
    "whole words": lambda: WordTokenizer.train(TEXTS),
    "bytes": lambda: ByteBPE.train(TEXTS, 20),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "code", [0xAD, 0x200B, 0xFEFF, 0x2060, 0x200D, 0x200E, 0xFE0F, 0x202E, 0x61C, 0, 0x7F]
)
def test_invisible_characters_change_nothing(kind: str, code: int, unchecked: None) -> None:
    tokenizer = KINDS[kind]()
    found = encode_clean(
        tokenizer, [f"{chr(code)}The govern{chr(code)}ment is  reading\u00a0a book.{chr(code)}\n"]
    )
    assert found == [tokenizer.encode(TEXTS[0])]


def test_what_is_left_out_is_invisible_and_what_is_invisible_is_left_out() -> None:
    """Format and control characters, but for the visible signs of some scripts."""
    for c in map(chr, range(sys.maxunicode + 1)):
        kind = unicodedata.category(c)
        if INVISIBLE.match(c):
            assert not c.isspace() and (kind in ("Cf", "Cc", "Cn", "Mn") or "FILLER" in unicodedata.name(c))
        elif kind == "Cc":
            assert c.isspace()
        elif kind == "Cf":
            assert any(
                word in unicodedata.name(c)
                for word in ("ARABIC", "SYRIAC", "KAITHI", "HIEROGLYPH", "SHORTHAND")
            )


@pytest.mark.parametrize("text", ["e\u200b\u0301", " é\u00ad ", "e\u0301", "\u202fé\u2009\r"])
def test_letters_and_accents_are_one_character(text: str) -> None:
    assert clean(text) == "é"
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_typographic_characters_become_plain_ones(kind: str) -> None:
    tokenizer = KINDS[kind]()
    typed = "“I don’t know… maybe,” she said – ﬁnally."
    assert plain(typed) == TEXTS[1]
    if kind != "bytes":  # nothing is unknown to it
        assert UNK in tokenizer.encode(typed)
        assert encode_clean(tokenizer, [typed]) == [tokenizer.encode(TEXTS[1])]


@pytest.mark.parametrize("train", [Tokenizer.train, CharTokenizer.train, WordTokenizer.train])
def test_known_typographic_characters_stay(train) -> None:
    texts = ["“a” – ‘b’… ½ ﬁ", "\"a\" - 'b'..."]
    tokenizer = train(texts)
    assert encode_clean(tokenizer, texts) == tokenizer.encode_batch(texts)
    assert encode_pairs(tokenizer, [(texts[0], texts[1])]) == [[ids] for ids in tokenizer.encode_batch(texts)]


def test_other_unknown_tokens_stay_unknown_and_are_named() -> None:
    tokenizer = KINDS["bpe"]()
    texts = ["a book.", "a “book” 犬 of 🐕", "犬"]
    rows = encode_clean(tokenizer, texts)
    assert [row.count(UNK) for row in rows] == [0, 2, 1]
    with pytest.warns(UserWarning, match="know all of '犬 🐕' .*2 of 3 texts.*'a “book” 犬 of 🐕'"):
        warn_of_unknown(tokenizer, texts, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_unknown(tokenizer, texts[:1], rows[:1])


def test_what_is_no_text_is_refused(unchecked: None) -> None:
    tokenizer = KINDS["bpe"]()
    for wrong in (5, b"a", ("a", "b"), ["a"]):
        with pytest.raises(TypeError, match="is not a text"):
            encode_clean(tokenizer, [wrong])
    with pytest.raises(ValueError, match="surrogate"):
        encode_clean(tokenizer, ["ab\ud83d"])


def test_a_text_in_place_of_several_is_refused(unchecked: None) -> None:
    tokenizer = KINDS["bpe"]()
    with pytest.raises(ValueError, match="texts is the text 'book'"):
        encode_clean(tokenizer, "book")
    with pytest.raises(ValueError, match="pairs.* is the text 'ab'"):
        encode_pairs(tokenizer, ["ab", "cd"])

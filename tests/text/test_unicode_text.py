"""A lone surrogate is named, wherever a text comes in."""

import pytest

from course_lib.text.tokenizers import CharTokenizer, Tokenizer, WordTokenizer
from course_lib.text.unicode_text import check_text

HALF = "ab\ud83d"  # the first half of an emoji
SAID = r"Character 3 of the text is a lone surrogate, U\+D83D: half of a character\."


@pytest.mark.parametrize("text", ["", "ab", "\U0001f600", "\ue000\uffff\0"])
def test_whole_characters_pass(text: str) -> None:
    check_text(text)


def test_a_lone_surrogate_is_named() -> None:
    with pytest.raises(ValueError, match=SAID):
        check_text(HALF)


@pytest.mark.parametrize("kind", [Tokenizer, CharTokenizer, WordTokenizer])
def test_no_tokenizer_takes_it(kind: type) -> None:
    tokenizer = kind.train(["ab abc"])
    assert tokenizer.encode("ab")
    with pytest.raises(ValueError, match=SAID):
        tokenizer.encode(HALF)
    with pytest.raises(ValueError, match=SAID):
        tokenizer.encode_batch(["ab", HALF])
    with pytest.raises(ValueError, match="surrogate"):
        kind.train([HALF])


def test_what_is_no_text_stays_an_error_of_its_own() -> None:
    with pytest.raises(TypeError):
        Tokenizer.train(["ab"]).encode_batch([5])

"""A lone surrogate is named, wherever a text comes in."""

from functools import partial

import pytest

from course_lib.text.bpe import ByteBPE
from course_lib.text.tokenizers import CharTokenizer, Tokenizer, WordTokenizer
from course_lib.text.unicode_text import check_text

HALF = "ab\ud83d"  # the first half of an emoji
SAID = r"Character 3 of the text is a lone surrogate, U\+D83D: half of a character\."


@pytest.mark.parametrize("text", ["", "ab", "\U0001f600", "\ue000\uffff\0"])
def test_whole_characters_pass(text: str) -> None:
    check_text(text)


@pytest.mark.parametrize("kind", [Tokenizer, CharTokenizer, WordTokenizer, ByteBPE])
def test_no_tokenizer_takes_it(kind: type) -> None:
    train = partial(kind.train, merges=3) if kind is ByteBPE else kind.train
    tokenizer = train(["ab abc"])
    assert tokenizer.encode("ab")
    with pytest.raises(ValueError, match=SAID):
        tokenizer.encode(HALF)
    with pytest.raises(ValueError, match=SAID):
        tokenizer.encode_batch(["ab", HALF])
    with pytest.raises(ValueError, match="surrogate"):
        train([HALF])

"""The merges of `ByteBPE`, learned by the package tokenizers, which is written in Rust."""

import json
from collections.abc import Iterable, Sequence
from itertools import chain

import tokenizers as hf

from course_lib.text.bpe import BYTES, FIRST, ByteBPE, Pair, split_words
from course_lib.text.tokenizers import SPECIAL_TOKENS
from course_lib.text.unicode_text import refuse_text

PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
OTHER = [byte for byte in range(BYTES) if byte not in PRINTABLE]
SHOWN = {byte: chr(byte) for byte in PRINTABLE} | {byte: chr(BYTES + n) for n, byte in enumerate(OTHER)}
"""The character that the package writes for each byte, as GPT-2 does."""

SPACE, LETTER = r"\s\x1c-\x1f", r"\p{L}\p{N}_"  # what Python's \s and \w are
WORD = rf" ?[{LETTER}]+| ?[^{SPACE}{LETTER}]+|[{SPACE}]+(?![^{SPACE}])|[{SPACE}]+"  # that of bpe.py


def train_with_tokenizers(texts: Iterable[str], merges: int) -> hf.Tokenizer:
    """A tokenizer of the package with the same merges, for words written by `as_characters`.

    It learns until it has `merges` tokens besides the bytes; two merges that make the same token count once.
    """
    refuse_text(texts=texts)
    tokenizer = hf.Tokenizer(hf.models.BPE())
    alphabet = [chr(i) for i in range(BYTES)]
    trainer = hf.trainers.BpeTrainer(
        vocab_size=BYTES + merges, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator((as_characters(w) for text in texts for w in split_words(text)), trainer)
    return tokenizer


def byte_level(texts: Iterable[str], vocab: int) -> hf.Tokenizer:
    """Byte-level BPE in the package tokenizers, with at most `vocab` tokens and the same ids as `ByteBPE`.

    Raises ValueError if there is no room for the special tokens and the bytes, and if the texts are empty.
    """
    if vocab < FIRST + BYTES:
        raise ValueError(f"vocab={vocab} is too small: special tokens and bytes are {FIRST + BYTES} tokens")
    texts = (text for text in texts if text)
    if (first := next(texts, None)) is None:
        raise ValueError("the texts are empty: there is no token to learn")
    return with_merges(merges_of(train_with_tokenizers(chain([first], texts), vocab - FIRST - BYTES)))


def with_merges(merges: Sequence[Pair]) -> hf.Tokenizer:
    """The tokenizer of the package tokenizers with the merges of a `ByteBPE`, and its ids."""
    pieces = ByteBPE(merges).pieces
    shown = ["".join(SHOWN[byte] for byte in piece) for piece in pieces]
    ids = {token: i for i, token in enumerate([*SPECIAL_TOKENS, *shown])}
    tokenizer = hf.Tokenizer(hf.models.BPE(ids, [(shown[a], shown[b]) for a, b in merges]))
    tokenizer.add_special_tokens(SPECIAL_TOKENS)
    word = hf.pre_tokenizers.Split(hf.Regex(WORD), "isolated")
    as_bytes = hf.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = hf.pre_tokenizers.Sequence([word, as_bytes])
    tokenizer.decoder = hf.decoders.ByteLevel()
    return tokenizer


def merges_of(tokenizer: hf.Tokenizer) -> list[Pair]:
    """The merges of a tokenizer by `train_with_tokenizers`, as pairs of ids."""
    ids = tokenizer.get_vocab()
    return [(ids[a], ids[b]) for a, b in json.loads(tokenizer.to_str())["model"]["merges"]]


def as_characters(word: str) -> str:
    """The word with each of its bytes as the character that has the byte's value as its number."""
    return word.encode().decode("latin-1")

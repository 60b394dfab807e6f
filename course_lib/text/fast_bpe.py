"""The merges of `ByteBPE`, learned by the package tokenizers, which is written in Rust."""

import json
from collections.abc import Iterable

import tokenizers as hf

from course_lib.text.bpe import BYTES, Pair, split_words
from course_lib.text.unicode_text import refuse_text


def train_with_tokenizers(texts: Iterable[str], merges: int) -> hf.Tokenizer:
    """A tokenizer of the package tokenizers with the same merges, for words written by `as_characters`.

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


def merges_of(tokenizer: hf.Tokenizer) -> list[Pair]:
    """The merges of a tokenizer by `train_with_tokenizers`, as pairs of ids."""
    ids = tokenizer.get_vocab()
    return [(ids[a], ids[b]) for a, b in json.loads(tokenizer.to_str())["model"]["merges"]]


def as_characters(word: str) -> str:
    """The word with each of its bytes as the character that has the byte's value as its number."""
    return word.encode().decode("latin-1")

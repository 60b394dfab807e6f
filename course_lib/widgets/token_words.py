"""Tokens as the model explorer shows them, for any tokenizer, also those of `transformers`."""

from collections.abc import Sequence
from typing import Any

from tokenizers import decoders

from course_lib.models.gpt import GPT
from course_lib.text.tokenizers import EOS, Tokenizer, Vocabulary
from course_lib.widgets.heatmap import label


class HuggingFaceTokenizer(Tokenizer):
    """A tokenizer of `transformers`, such as GPT-2's, with the methods of the course's tokenizers.

    end: the id that ends a text, or None.
    """

    def __init__(self, tokenizer: Any):
        self.own, self.tokenizer = tokenizer, tokenizer.backend_tokenizer
        self.end: int | None = tokenizer.eos_token_id

    def __len__(self) -> int:
        return len(self.own)

    def __getitem__(self, i: int) -> str:
        return self.own.convert_ids_to_tokens(i)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without special tokens."""
        return self.own.encode(text, add_special_tokens=False)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids."""
        return self.own.decode(ids)


def end_of(model: GPT, tokenizer: Vocabulary) -> int | None:
    """The id that ends a text of this model: EOS, unless its vocabulary is not one of the course's."""
    return EOS if model.padding is not None else getattr(tokenizer, "end", None)


def on_bytes(tokenizer: Vocabulary) -> bool:
    """Whether the tokens are pieces of UTF-8, as in GPT-2."""
    return isinstance(getattr(getattr(tokenizer, "tokenizer", None), "decoder", None), decoders.ByteLevel)


def shown(tokenizer: Vocabulary, i: int) -> str:
    """A token on one line; ▁ at its beginning is the space before a word.

    >>> from course_lib.text import Tokenizer
    >>> tokenizer = Tokenizer.train(["a red hat"] * 9, vocab=300, kind="bytes")
    >>> [shown(tokenizer, i) for i in tokenizer.encode("a hat\\né")]
    ['a', '▁hat', '↵', 'Ã', '©']
    """
    token = tokenizer.decode([i]) if on_bytes(tokenizer) else tokenizer[i]
    if not token or "\ufffd" in token:  # a special token, or a part of a character
        return tokenizer[i]
    return label("▁" + token[1:] if token[0] == " " and token.strip() else token)

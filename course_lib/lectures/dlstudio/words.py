"""Word-level vocabulary of the lecture's system: SOS first, EOS last and as padding."""

import re
from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

SOS, EOS = range(2)


def words_of(sentence: str) -> list[str]:
    """Lowercase words of a sentence without punctuation except apostrophes, as in the lecture's corpus."""
    return re.findall(r"[\w']+", sentence.lower())


class Vocabulary:
    """Vocabulary: SOS (0), EOS (1), then the words of these sentences in alphabetical order.

    Source: Kak slides 79-82; there is no padding token and no token for unknown words.
    """

    def __init__(self, sentences: Iterable[str]):
        self.words = ["SOS", "EOS", *sorted({word for text in sentences for word in words_of(text)})]
        self.ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def holds(self, sentence: str) -> bool:
        """Whether the vocabulary contains all words of a sentence."""
        return all(word in self.ids for word in words_of(sentence))

    def encode(self, sentences: Sequence[str], tokens: int) -> Int[Tensor, "batch tokens"]:
        """Ids of the sentences: SOS, the words, then EOS up to length `tokens`.

        Raises ValueError for an unknown word and for a sentence of more than tokens - 2 words.
        """
        ids = torch.full((len(sentences), tokens), EOS)
        for row, text in zip(ids, sentences, strict=True):
            words = words_of(text)
            if len(words) > tokens - 2:
                raise ValueError(f"{len(words)} words, SOS and EOS do not fit into tokens={tokens}: {text!r}")
            if unknown := [word for word in words if word not in self.ids]:
                raise ValueError(f"{unknown} not in the vocabulary of {len(self)} words: {text!r}")
            row[: len(words) + 1] = torch.tensor([SOS, *(self.ids[word] for word in words)])
        return ids

    def decode(self, ids: Int[Tensor, " tokens"]) -> list[str]:
        """Words after slot 0, up to the first EOS."""
        written = ids[1:].tolist()
        end = written.index(EOS) if EOS in written else len(written)
        return [self.words[i] for i in written[:end]]

    def spell(self, ids: Int[Tensor, " tokens"]) -> str:
        """All tokens as text, as on the slides: "EOS es tu profesor EOS EOS …"."""
        return " ".join(self.words[i] for i in ids.tolist())


def real_words(ids: Int[Tensor, "batch tokens"]) -> Bool[Tensor, "batch tokens"]:
    """Mask of non-padding tokens: True up to and including the first EOS."""
    end = ids == EOS
    return end.cumsum(-1) - end.long() == 0

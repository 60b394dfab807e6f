"""Byte-pair encoding (BPE) on bytes, in plain Python: train, encode, decode.

Chapter 6d derives it. Training counts every pair again after each merge, which is slow on large corpora;
`train_with_tokenizers` in fast_bpe.py finds the same merges with the package tokenizers, written in Rust.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from pathlib import Path

from course_lib.text.tokenizers import SPECIAL_TOKENS, check_id, read_json
from course_lib.text.unicode_text import check_text, refuse_text
from course_lib.utils.files import atomic_path

Pair = tuple[int, int]
WORD = re.compile(r" ?\w+| ?[^\w\s]+|\s+(?!\S)|\s+")  # every character is in exactly one match
BYTES, FIRST = 256, len(SPECIAL_TOKENS)
GONE = -1  # in place of an id: no token begins here


def most_frequent_pair(words: Sequence[Sequence[int]], counts: Sequence[int]) -> Pair | None:
    """The most frequent pair of neighboring ids; among equally frequent ones, the smallest.

    words: the distinct words as ids. counts: how often each of them occurs.
    Returns None if no word has two ids.
    """
    found: Counter[Pair] = Counter()
    for word, count in zip(words, counts, strict=True):
        for pair in pairwise(word):
            found[pair] += count
    return min(found, key=lambda pair: (-found[pair], pair), default=None)


def merge_pair(ids: Sequence[int], pair: Pair, new: int) -> list[int]:
    """Replace each occurrence of `pair`, from left to right, by the id `new`.

    >>> merge_pair([7, 8, 9, 7, 8], (7, 8), new=300)
    [300, 9, 300]
    """
    merged, i = [], 0
    while i < len(ids):
        found = tuple(ids[i : i + 2]) == pair
        merged.append(new if found else ids[i])
        i += 2 if found else 1
    return merged


class ByteBPE:
    """Byte-pair encoding tokenizer that starts from the 256 bytes, so that no text is unknown.

    The special tokens come first, as in `Tokenizer`; then the bytes; then one token per merge.
    merges: pairs of ids in the order of learning; they do not count the special tokens: bytes are 0 to 255.
    Source: Sennrich et al. 2016 (byte-pair encoding); Radford et al. 2019, section 2.2 (on bytes).

    >>> tokenizer = ByteBPE.train(["low lower lowest"], merges=2)
    >>> [tokenizer[i] for i in tokenizer.encode("lower")]
    ['low', 'e', 'r']
    """

    def __init__(self, merges: Iterable[Pair] = ()):
        self.pieces = [bytes([i]) for i in range(BYTES)]
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}
        self.merges: list[Pair] = []
        self.rules: dict[Pair, tuple[int, int]] = {}  # of each pair its rank and what it becomes
        self.encoded: dict[str, list[int]] = {}  # words met before
        for pair in merges:
            for i in pair:
                check_id(i, len(self.pieces))
            self._add(pair)

    def _add(self, pair: Pair) -> int:
        """Append a merge; return the id of its token, an old one if these bytes are a token already."""
        piece = self.pieces[pair[0]] + self.pieces[pair[1]]
        if piece not in self.ids:
            self.ids[piece] = len(self.pieces)
            self.pieces.append(piece)
        self.merges.append(pair)
        self.rules[pair] = len(self.merges), self.ids[piece]
        return self.ids[piece]

    @classmethod
    def train(cls, texts: Iterable[str], merges: int) -> "ByteBPE":
        """Learn at most `merges` merges: each joins the most frequent pair of neighbors within words.

        Raises ValueError for a single text, a negative number and a lone surrogate.
        """
        refuse_text(texts=texts)
        if merges < 0:
            raise ValueError(f"merges={merges} must be at least 0")
        counted = Counter(word for text in texts for word in split_words(text))
        words, counts = [list(word.encode()) for word in counted], list(counted.values())
        tokenizer = cls()
        while len(tokenizer.merges) < merges and (pair := most_frequent_pair(words, counts)):
            new = tokenizer._add(pair)
            words = [merge_pair(word, pair, new) if pair[0] in word else word for word in words]
        return tokenizer

    def __len__(self) -> int:
        return FIRST + len(self.pieces)

    def __getitem__(self, i: int) -> str:
        """The token with this id; a part of a character is shown as �. Raises IndexError for other ids."""
        check_id(i, len(self))
        return SPECIAL_TOKENS[i] if i < FIRST else self.pieces[i - FIRST].decode(errors="replace")

    def encode(self, text: str) -> list[int]:
        """The ids of a text. Raises ValueError for a lone surrogate."""
        words = split_words(text)
        for word in words:
            if word not in self.encoded:
                self.encoded[word] = self._encode_word(word.encode())
        return [FIRST + i for word in words for i in self.encoded[word]]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text. Raises ValueError for a single text."""
        refuse_text(texts=texts)
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these ids, without special tokens; bytes that are no character become �.

        Raises IndexError for an id outside the vocabulary.
        """
        for i in (ids := list(ids)):
            check_id(i, len(self))
        return b"".join(self.pieces[i - FIRST] for i in ids if i >= FIRST).decode(errors="replace")

    def save(self, path: str | Path) -> None:
        """Write the merges as JSON."""
        with atomic_path(path) as temporary:
            temporary.write_text(json.dumps({"kind": "bytes", "merges": self.merges}), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "ByteBPE":
        """Read a file by `save`. Raises ValueError if it holds something else."""
        content = read_json(path)
        try:
            return cls((a, b) for a, b in content["merges"])
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(f"{path} holds no merges of bytes: {error}") from error

    def _encode_word(self, word: bytes) -> list[int]:
        """Make the earliest merge that applies, the leftmost first, until none does."""
        ids = [*word, GONE]  # a linked list: merging writes into the left place and skips the right one
        before, after = [*range(-1, len(word))], [*range(1, len(ids) + 1)]
        found = [(self.rules[p][0], i, p) for i, p in enumerate(pairwise(word)) if p in self.rules]
        heapify(found)
        while found:
            _, i, pair = heappop(found)
            if (ids[i], ids[j := after[i]]) != pair:
                continue  # an earlier merge took one of the two
            ids[i], ids[j] = self.rules[pair][1], GONE
            after[i], before[after[j]] = after[j], i
            for left, right in ((before[i], i), (i, after[i])):
                if (new := (ids[left], ids[right])) in self.rules:
                    heappush(found, (self.rules[new][0], left, new))
        return [i for i in ids if i != GONE]


def split_words(text: str) -> list[str]:
    """Words and runs of punctuation marks, each with the space before it; the rest of several spaces apart.

    A combining mark, as of Unicode NFD or Hindi vowels, is no part of a word. Both as in GPT-2.
    Raises ValueError for a lone surrogate.
    """
    check_text(text)
    return WORD.findall(text)

"""Text to ids and back: a shared vocabulary, control tokens, padding, batches of similar length."""

import hashlib
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from jaxtyping import Int
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor

from course_lib.files import atomic_path

PAD, BOS, EOS, UNK, CLS = range(5)
CONTROL = ["[PAD]", "[BOS]", "[EOS]", "[UNK]", "[CLS]"]
UNKNOWN_SHOWN = "⁇"


class Tokens:
    """A vocabulary learnt from text: subwords by byte-pair encoding, or whole words.

    The control tokens come first: PAD 0, BOS 1, EOS 2, UNK 3, CLS 4. Text never produces them, but for UNK:
    a text that spells "[PAD]" is a text about brackets.
    Source: Sennrich et al. 2016 (byte-pair encoding).
    """

    def __init__(self, tokenizer: Tokenizer):
        self.tokenizer = tokenizer
        self.tokenizer.encode_special_tokens = True

    @classmethod
    def train(cls, texts: Iterable[str], vocab: int = 6000, kind: str = "bpe") -> "Tokens":
        """Learn at most `vocab` tokens, control tokens included.

        bpe: subwords, the first one of a word carrying the blank before it; UNK is a character never seen.
        words: the most frequent words and punctuation marks, in lower case; UNK is every other word.
        Raises ValueError for an unknown `kind`, for a `vocab` without room, and where the texts hold nothing.
        """
        if kind not in RECIPES:
            raise ValueError(f"kind={kind!r} is none of {sorted(RECIPES)}")
        if vocab <= len(CONTROL):
            raise ValueError(f"vocab={vocab} leaves no room beside the {len(CONTROL)} control tokens")
        tokenizer, trainer = RECIPES[kind](vocab)
        tokenizer.train_from_iterator(texts, trainer)
        if tokenizer.get_vocab_size() <= len(CONTROL):
            raise ValueError("the texts are empty: there is no token to learn")
        return cls(tokenizer)

    def __len__(self) -> int:
        return self.tokenizer.get_vocab_size()

    def __getitem__(self, i: int) -> str:
        """The token with this id; ▁ stands for a blank."""
        return self.tokenizer.id_to_token(i)

    @property
    def fingerprint(self) -> str:
        """A sum over all tokens in their order: two vocabularies that share it mean the same by an id."""
        listed = "\n".join(self[i] for i in range(len(self)))
        return hashlib.sha256(listed.encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        return [encoding.ids for encoding in self.tokenizer.encode_batch_fast(list(texts))]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some ids, control tokens left out, UNK shown as ⁇."""
        pieces = [UNKNOWN_SHOWN if i == UNK else self[i] for i in ids if i not in (PAD, BOS, EOS, CLS)]
        decoder = self.tokenizer.decoder
        return decoder.decode(pieces) if decoder else " ".join(pieces)

    def save(self, path: str | Path) -> None:
        """Write the vocabulary as JSON."""
        with atomic_path(path) as temporary:
            self.tokenizer.save(str(temporary))

    @classmethod
    def load(cls, path: str | Path) -> "Tokens":
        """Read what `save` wrote; ValueError where the file is not such a vocabulary."""
        try:
            tokenizer = Tokenizer.from_str(Path(path).read_text(encoding="utf-8"))
        except OSError:
            raise
        except Exception as error:  # the tokenizers library raises bare exceptions
            raise ValueError(f"{path} is not a vocabulary: {error}") from error
        first = [tokenizer.id_to_token(i) for i in range(len(CONTROL))]
        if first != CONTROL:
            raise ValueError(f"{path} begins with {first}, not with the control tokens {CONTROL}")
        return cls(tokenizer)


def bpe(vocab: int) -> tuple[Tokenizer, trainers.Trainer]:
    tokenizer = Tokenizer(models.BPE(unk_token=CONTROL[UNK]))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    )
    # a subword stays within one word, one mark, or one ending such as 's
    piece = Regex(r"▁?\w+|'\w+|▁?[^\w\s▁]|▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(prepend_scheme="always"), pre_tokenizers.Split(piece, "isolated")]
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    return tokenizer, trainers.BpeTrainer(vocab_size=vocab, special_tokens=CONTROL, show_progress=False)


def words(vocab: int) -> tuple[Tokenizer, trainers.Trainer]:
    tokenizer = Tokenizer(models.WordLevel(unk_token=CONTROL[UNK]))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(r"\w+|[^\w\s]"), "isolated")]
    )
    return tokenizer, trainers.WordLevelTrainer(vocab_size=vocab, special_tokens=CONTROL, show_progress=False)


RECIPES = {"bpe": bpe, "words": words}


def pad(sequences: Sequence[Sequence[int]], to: int | None = None) -> Int[Tensor, "batch tokens"]:
    """Sequences of ids as one tensor, padded on the right to the longest, or to `to` tokens.

    Raises ValueError where a sequence is longer than `to`, or where there is none.
    """
    if not sequences:
        raise ValueError("an empty batch cannot be padded")
    longest = max(map(len, sequences))
    width = longest if to is None else to
    if longest > width:
        raise ValueError(f"a sequence of {longest} tokens does not fit into {width}")
    return torch.tensor([[*ids, *[PAD] * (width - len(ids))] for ids in sequences], dtype=torch.long)


def buckets(lengths: Sequence[tuple[int, ...]], batch: int, seed: int, pool: int = 100) -> list[list[int]]:
    """The numbers 0 … n−1 in batches of similar length, in an order that depends on `seed` alone.

    Shuffled, cut into pools of `pool` batches, sorted by `lengths` within a pool, cut into batches, and these
    shuffled: little padding, and yet other batches in every epoch.
    """
    order = list(range(len(lengths)))
    rng = random.Random(seed)
    rng.shuffle(order)
    batches = []
    for start in range(0, len(order), pool * batch):
        near = sorted(order[start : start + pool * batch], key=lambda i: lengths[i])
        batches += [near[i : i + batch] for i in range(0, len(near), batch)]
    rng.shuffle(batches)
    return batches

"""Tokenizers: byte-pair encoding, words, characters. Text to ids and back."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import tokenizers as hf
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers

from course_lib.text.unicode_text import check_text, refuse_text
from course_lib.utils.files import atomic_path

PAD, BOS, EOS, UNK, CLS = range(5)
SPECIAL_TOKENS = ["[PAD]", "[BOS]", "[EOS]", "[UNK]", "[CLS]"]
UNKNOWN_SHOWN = "⁇"


class Tokenizer:
    """Byte-pair encoding (BPE) tokenizer, or a tokenizer of whole words.

    The special tokens come first: PAD 0, BOS 1, EOS 2, UNK 3, CLS 4. Encoding a text never produces them,
    except for UNK: the text "[PAD]" is encoded as ordinary characters. A "▁" (U+2581) in a text is a
    space, as in SentencePiece, because the tokens are written with it.
    Source: Sennrich et al. 2016 (byte-pair encoding).

    >>> tokenizer = Tokenizer.train(["low lower lowest"] * 10, vocab=20)
    >>> [tokenizer[i] for i in tokenizer.encode("low slower")]
    ['▁low', '▁', 's', 'lo', 'w', 'e', 'r']
    >>> tokenizer.decode([BOS, *tokenizer.encode("low slower"), EOS])
    'low slower'
    >>> on_bytes = Tokenizer.train(["low lower lowest"], vocab=270, kind="bytes")
    >>> on_bytes.decode(on_bytes.encode(" slow\\tλ\\r\\n"))  # characters that it was not trained on
    ' slow\\tλ\\r\\n'
    """

    def __init__(self, tokenizer: hf.Tokenizer):
        self.tokenizer = tokenizer
        self.tokenizer.encode_special_tokens = True

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copies, unpickled ones too, get the one setting that the package tokenizers leaves behind."""
        self.__dict__.update(state)
        self.tokenizer.encode_special_tokens = True

    @classmethod
    def train(cls, texts: Iterable[str], vocab: int = 6000, kind: str = "bpe") -> "Tokenizer":
        """Learn a vocabulary of at most `vocab` tokens, special tokens included.

        kind: "bpe" learns subwords; the first subword of a word includes the space before it, and UNK is a
        character not in the texts. It normalizes a text: Unicode NFC, one space for any white space, none at
        the ends. "bytes" learns subwords on bytes, as `ByteBPE` does: decoding inverts encoding exactly, for
        every text, and nothing is UNK. "words" takes the most frequent words and punctuation marks, in lower
        case; every other word is UNK.
        Raises ValueError for an unknown `kind`, a single text, a `vocab` without room for the special tokens
        and, with "bpe", for every character of the texts, and if the texts are empty.
        """
        refuse_text(texts=texts)
        if kind not in (*RECIPES, "bytes"):
            raise ValueError(f"kind={kind!r} is none of {sorted([*RECIPES, 'bytes'])}")
        if vocab <= len(SPECIAL_TOKENS):
            raise ValueError(f"vocab={vocab} leaves no room after the {len(SPECIAL_TOKENS)} special tokens")
        if kind == "bytes":
            from course_lib.text.fast_bpe import byte_level  # which imports this module

            return cls(byte_level(texts, vocab))
        tokenizer, trainer = RECIPES[kind](vocab)
        tokenizer.train_from_iterator(texts, trainer)
        if tokenizer.get_vocab_size() <= len(SPECIAL_TOKENS):
            raise ValueError("the texts are empty: there is no token to learn")
        if (needed := tokenizer.get_vocab_size()) > vocab:
            raise ValueError(f"vocab={vocab} is too small: special tokens and characters are {needed} tokens")
        return cls(tokenizer)

    def __len__(self) -> int:
        return self.tokenizer.get_vocab_size()

    def __getitem__(self, i: int) -> str:
        """The token with this id; ▁ is a space. Raises IndexError if the vocabulary has no such id."""
        token = self.tokenizer.id_to_token(i) if 0 <= i < 2**32 else None
        if token is None:
            raise IndexError(f"id {i} is none of the {len(self)} ids of the vocabulary")
        return token

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all tokens in order: tokenizers with the same fingerprint use the same ids."""
        return fingerprint_of(self[i] for i in range(len(self)))

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text. Raises ValueError for a lone surrogate."""
        refuse_text(texts=texts)
        for text in (texts := list(texts)):
            check_text(text)  # the package takes a tuple for a pair of texts
        return [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids, without special tokens; UNK becomes ⁇."""
        pieces = [UNKNOWN_SHOWN if i == UNK else self[i] for i in ids if i not in (PAD, BOS, EOS, CLS)]
        decoder = self.tokenizer.decoder
        return decoder.decode(pieces) if decoder else " ".join(pieces)

    def save(self, path: str | Path) -> None:
        """Write the vocabulary as JSON."""
        with atomic_path(path) as temporary:
            self.tokenizer.save(str(temporary))

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        """Read a file by `save`. Raises ValueError if it holds something else."""
        try:
            tokenizer = hf.Tokenizer.from_str(Path(path).read_text(encoding="utf-8"))
        except OSError:
            raise
        except Exception as error:  # the library raises plain `Exception`s
            raise ValueError(f"{path} is not a vocabulary: {error}") from error
        first = [tokenizer.id_to_token(i) for i in range(len(SPECIAL_TOKENS))]
        if first != SPECIAL_TOKENS:
            raise ValueError(f"{path} begins with {first}, not with the special tokens {SPECIAL_TOKENS}")
        return cls(tokenizer)


def bpe(vocab: int) -> tuple[hf.Tokenizer, trainers.Trainer]:
    tokenizer = hf.Tokenizer(models.BPE(unk_token=SPECIAL_TOKENS[UNK]))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    )
    # a subword never crosses the border of a word, a punctuation mark, or an ending such as 's
    piece = Regex(r"▁?\w+|'\w+|▁?[^\w\s▁]|▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(prepend_scheme="always"), pre_tokenizers.Split(piece, "isolated")]
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    return tokenizer, trainers.BpeTrainer(
        vocab_size=vocab, special_tokens=SPECIAL_TOKENS, show_progress=False
    )


def words(vocab: int) -> tuple[hf.Tokenizer, trainers.Trainer]:
    tokenizer = hf.Tokenizer(models.WordLevel(unk_token=SPECIAL_TOKENS[UNK]))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(r"\w+|[^\w\s]"), "isolated")]
    )
    return tokenizer, trainers.WordLevelTrainer(
        vocab_size=vocab, special_tokens=SPECIAL_TOKENS, show_progress=False
    )


RECIPES = {"bpe": bpe, "words": words}


END_OF_LINE = "<eos>"


class CharTokenizer:
    """Character tokenizer: each character is a token. Decoding inverts encoding exactly.

    The special tokens come first, as in `Tokenizer`; UNK is a character not in the training texts.

    >>> tokenizer = CharTokenizer.train(["abc"])
    >>> tokenizer.encode("cab")
    [7, 5, 6]
    >>> tokenizer.decode(tokenizer.encode("cat"))  # "t" is unknown
    'ca⁇'
    """

    kind = "characters"

    def __init__(self, pieces: Sequence[str]):
        self.pieces = [*SPECIAL_TOKENS, *pieces]
        self.ids = {piece: i for i, piece in enumerate(pieces, len(SPECIAL_TOKENS))}

    @classmethod
    def train(cls, texts: Iterable[str]) -> "CharTokenizer":
        """Collect the tokens of these texts.

        Raises ValueError for a single text, empty texts and lone surrogates.
        """
        refuse_text(texts=texts)
        pieces = sorted({piece for text in texts for piece in cls.split(text)})
        check_text("".join(pieces))
        if not pieces:
            raise ValueError("the texts are empty: there is no token to learn")
        return cls(pieces)

    @staticmethod
    def split(text: str) -> list[str]:
        return list(text)

    @staticmethod
    def join(pieces: Sequence[str]) -> str:
        return "".join(pieces)

    def __len__(self) -> int:
        return len(self.pieces)

    def __getitem__(self, i: int) -> str:
        """The token with this id. Raises IndexError as `Tokenizer` does."""
        check_id(i, len(self))
        return self.pieces[i]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all tokens in order, as for `Tokenizer`."""
        return fingerprint_of(self.pieces)

    def encode(self, text: str) -> list[int]:
        """The ids of a text. Raises ValueError for a lone surrogate."""
        check_text(text)
        return [self.ids.get(piece, UNK) for piece in self.split(text)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text. Raises ValueError for a single text."""
        refuse_text(texts=texts)
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids, without special tokens; UNK becomes ⁇."""
        shown = (i for i in ids if i not in (PAD, BOS, EOS, CLS))
        return self.join([UNKNOWN_SHOWN if i == UNK else self[i] for i in shown])

    def save(self, path: str | Path) -> None:
        """Write the vocabulary as JSON."""
        content = {"kind": self.kind, "pieces": self.pieces[len(SPECIAL_TOKENS) :]}
        with atomic_path(path) as temporary:
            temporary.write_text(json.dumps(content, indent=0, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "CharTokenizer":
        """Read a file by `save`. Raises ValueError if it holds something else."""
        content = read_json(path)
        if content.get("kind") != cls.kind or not isinstance(content.get("pieces"), list):
            raise ValueError(f"{path} is not a vocabulary of {cls.kind}")
        return cls(content["pieces"])


class WordTokenizer(CharTokenizer):
    """Word tokenizer: splits at whitespace; the end of a line is a token too, as in WikiText.

    Decoding returns the words and lines, but not the amount of whitespace between them.

    >>> tokenizer = WordTokenizer.train(["to be or not to be"])
    >>> tokenizer.encode("to be")
    [8, 5]
    """

    kind = "words"

    @staticmethod
    def split(text: str) -> list[str]:
        return text.replace("\n", f" {END_OF_LINE} ").split()

    @staticmethod
    def join(pieces: Sequence[str]) -> str:
        return " ".join(pieces).replace(f"{END_OF_LINE} ", "\n").replace(END_OF_LINE, "\n")


Vocabulary = Tokenizer | CharTokenizer


def check_id(i: int, tokens: int) -> None:
    """Raise IndexError for an id outside a vocabulary; negative ones do not count from the end."""
    if not 0 <= i < tokens:
        raise IndexError(f"id {i} is none of the {tokens} ids of the vocabulary")


def fingerprint_of(tokens: Iterable[str]) -> str:
    """SHA-256 of these tokens in order."""
    return hashlib.sha256("\n".join(tokens).encode()).hexdigest()


def load_tokenizer(path: str | Path) -> Vocabulary:
    """Read the tokenizer in a file, of whichever class but `ByteBPE`. Raises ValueError if it holds none.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     CharTokenizer.train(["abc"]).save(f"{folder}/tokens.json")
    ...     load_tokenizer(f"{folder}/tokens.json").encode("cab")
    [7, 5, 6]
    """
    kind = read_json(path).get("kind")
    for one in (CharTokenizer, WordTokenizer):
        if one.kind == kind:
            return one.load(path)
    return Tokenizer.load(path)


def read_json(path: str | Path) -> dict:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a vocabulary: {error}") from error
    return content if isinstance(content, dict) else {}

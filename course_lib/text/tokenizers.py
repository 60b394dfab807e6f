"""Tokenizers: byte-pair encoding, words, characters. Text to ids and back."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import tokenizers as hf
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers

from course_lib.text.unicode_text import check_text
from course_lib.utils.files import atomic_path

PAD, BOS, EOS, UNK, CLS = range(5)
SPECIAL_TOKENS = ["[PAD]", "[BOS]", "[EOS]", "[UNK]", "[CLS]"]
UNKNOWN_SHOWN = "⁇"


class Tokenizer:
    """Byte-pair encoding (BPE) tokenizer, or a tokenizer of whole words.

    The special tokens come first: PAD 0, BOS 1, EOS 2, UNK 3, CLS 4. Encoding a text never produces them,
    except for UNK: the text "[PAD]" is encoded as ordinary characters.
    Source: Sennrich et al. 2016 (byte-pair encoding).
    """

    def __init__(self, tokenizer: hf.Tokenizer):
        self.tokenizer = tokenizer
        self.tokenizer.encode_special_tokens = True

    @classmethod
    def train(cls, texts: Iterable[str], vocab: int = 6000, kind: str = "bpe") -> "Tokenizer":
        """Learn a vocabulary of at most `vocab` tokens, special tokens included.

        kind: "bpe" learns subwords; the first subword of a word includes the space before it, and UNK is a
        character not in the texts. "words" takes the most frequent words and punctuation marks, in lower
        case; every other word is UNK.
        Raises ValueError for an unknown `kind`, for a `vocab` that is too small, and if the texts are empty.
        """
        if kind not in RECIPES:
            raise ValueError(f"kind={kind!r} is none of {sorted(RECIPES)}")
        if vocab <= len(SPECIAL_TOKENS):
            raise ValueError(f"vocab={vocab} leaves no room after the {len(SPECIAL_TOKENS)} special tokens")
        tokenizer, trainer = RECIPES[kind](vocab)
        tokenizer.train_from_iterator(texts, trainer)
        if tokenizer.get_vocab_size() <= len(SPECIAL_TOKENS):
            raise ValueError("the texts are empty: there is no token to learn")
        return cls(tokenizer)

    def __len__(self) -> int:
        return self.tokenizer.get_vocab_size()

    def __getitem__(self, i: int) -> str:
        """The token with this id; ▁ is a space. Raises IndexError if the vocabulary has no such id."""
        token = self.tokenizer.id_to_token(i)
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
        try:
            return [encoding.ids for encoding in self.tokenizer.encode_batch_fast(list(texts))]
        except TypeError:  # it does not say what is wrong
            for text in texts:
                check_text(text)
            raise

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
    """

    kind = "characters"

    def __init__(self, pieces: Sequence[str]):
        self.pieces = [*SPECIAL_TOKENS, *pieces]
        self.ids = {piece: i for i, piece in enumerate(pieces, len(SPECIAL_TOKENS))}

    @classmethod
    def train(cls, texts: Iterable[str]) -> "CharTokenizer":
        """Collect the tokens of these texts. Raises ValueError for empty texts and lone surrogates."""
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
        """The token with this id."""
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
        """The ids of each text."""
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
    """

    kind = "words"

    @staticmethod
    def split(text: str) -> list[str]:
        return text.replace("\n", f" {END_OF_LINE} ").split()

    @staticmethod
    def join(pieces: Sequence[str]) -> str:
        return " ".join(pieces).replace(f"{END_OF_LINE} ", "\n").replace(END_OF_LINE, "\n")


Vocabulary = Tokenizer | CharTokenizer


def fingerprint_of(tokens: Iterable[str]) -> str:
    """SHA-256 of these tokens in order."""
    return hashlib.sha256("\n".join(tokens).encode()).hexdigest()


def load_tokenizer(path: str | Path) -> Vocabulary:
    """Read the tokenizer in a file, of whichever class. Raises ValueError if the file holds none."""
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

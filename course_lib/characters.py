"""Vocabularies without learning: the characters of a text, or the words between its blanks."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from course_lib.files import atomic_path
from course_lib.tokens import BOS, CLS, CONTROL, EOS, PAD, UNK, UNKNOWN_SHOWN, Tokens

END_OF_LINE = "<eos>"


class Characters:
    """Each character of some text is a token; decoding gives back exactly what was encoded.

    The control tokens come first, as in `Tokens`; UNK is a character that the text has not.
    """

    kind = "characters"

    def __init__(self, pieces: Sequence[str]):
        self.pieces = [*CONTROL, *pieces]
        self.ids = {piece: i for i, piece in enumerate(pieces, len(CONTROL))}

    @classmethod
    def train(cls, texts: Iterable[str]) -> "Characters":
        """The tokens of these texts, sorted. Raises ValueError where the texts hold nothing."""
        pieces = sorted({piece for text in texts for piece in cls.split(text)})
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

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return [self.ids.get(piece, UNK) for piece in self.split(text)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some ids, control tokens left out, UNK shown as ⁇."""
        shown = (i for i in ids if i not in (PAD, BOS, EOS, CLS))
        return self.join([UNKNOWN_SHOWN if i == UNK else self[i] for i in shown])

    def save(self, path: str | Path) -> None:
        """Write the vocabulary as JSON."""
        content = {"kind": self.kind, "pieces": self.pieces[len(CONTROL) :]}
        with atomic_path(path) as temporary:
            temporary.write_text(json.dumps(content, indent=0, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Characters":
        """Read what `save` wrote; ValueError where the file is not such a vocabulary."""
        content = read_json(path)
        if content.get("kind") != cls.kind or not isinstance(content.get("pieces"), list):
            raise ValueError(f"{path} is not a vocabulary of {cls.kind}")
        return cls(content["pieces"])


class Words(Characters):
    """Each word between blanks is a token, and each end of a line is one: the form of WikiText.

    Decoding gives back the words and lines, not the number of blanks between them.
    """

    kind = "words between blanks"

    @staticmethod
    def split(text: str) -> list[str]:
        return text.replace("\n", f" {END_OF_LINE} ").split()

    @staticmethod
    def join(pieces: Sequence[str]) -> str:
        return " ".join(pieces).replace(f"{END_OF_LINE} ", "\n").replace(END_OF_LINE, "\n")


Vocabulary = Tokens | Characters


def load_vocabulary(path: str | Path) -> Vocabulary:
    """Read what the `save` of any vocabulary wrote; ValueError where the file is none."""
    kind = read_json(path).get("kind")
    return {Characters.kind: Characters, Words.kind: Words}.get(kind, Tokens).load(path)


def read_json(path: str | Path) -> dict:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not a vocabulary: {error}") from error
    return content if isinstance(content, dict) else {}

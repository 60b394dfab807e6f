"""Checks of texts: can they be encoded, and is there one text where several are expected?"""

from typing import Any


def check_text(text: str) -> None:
    """Raise TypeError for what is no text, and ValueError for a lone surrogate, half of a character.

    Python allows a lone surrogate in a string, and a browser can send one, for example if half of an emoji is
    deleted; it cannot be encoded.
    """
    if not isinstance(text, str):
        raise TypeError(f"{text!r:.60} is not a text but of type {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"U+{ord(text[error.start]):04X}"
        raise ValueError(
            f"Character {error.start + 1} of the text is a lone surrogate, {half}: half of a character."
        ) from None


def refuse_texts(**sequences: Any) -> None:
    """`refuse_text` for sequences of sequences, such as pairs, and for each member."""
    refuse_text(**sequences)
    for name, value in sequences.items():
        for i, one in enumerate(value):
            if isinstance(one, str | bytes):
                refuse_text(**{f"{name}[{i}]": one})


def refuse_text(**sequences: Any) -> None:
    """Raise ValueError for a text in place of a sequence, naming it: Python would take it letter by letter.

    >>> refuse_text(sentences=["Hello"])
    """
    for name, value in sequences.items():
        if isinstance(value, str | bytes):
            raise ValueError(f"{name} is the text {value!r:.60}; split it, or put it into a list")

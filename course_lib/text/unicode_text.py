"""Unicode: check that a text can be encoded."""


def check_text(text: str) -> None:
    """Raise ValueError for a lone surrogate: half of a character, which cannot be encoded.

    Python allows one in a string, and a browser can send one, for example if half of an emoji is deleted.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"U+{ord(text[error.start]):04X}"
        raise ValueError(
            f"Character {error.start + 1} of the text is a lone surrogate, {half}: half of a character."
        ) from None

"""Preparation of texts for a model: the same for the texts it learns from and for those it is given later."""

import re
import unicodedata
import warnings
from collections.abc import Sequence

from course_lib.text.tokenizers import UNK, Vocabulary
from course_lib.text.unicode_text import check_text, refuse_text, refuse_texts

# Characters without a picture: control characters but for whitespace, and the Default_Ignorable_Code_Point of
# the Unicode Standard, such as the soft hyphen, zero-width spaces and joiners, and the byte-order mark.
INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
PLAIN = str.maketrans(
    dict.fromkeys("‘’‚‛′´`ʹʻʼˈ", "'") | dict.fromkeys("“”„‟″«»", '"') | dict.fromkeys("‐‑‒–—―−", "-")
)


def clean(text: str) -> str:
    """Text cleaning: no invisible characters, Unicode NFC, single plain spaces.

    The typographic ’ “ ” … – stay: some training texts have them, and `encode_clean` replaces unknown ones.
    Raises TypeError for what is no text, and ValueError for a lone surrogate.

    >>> clean("a\\u00a0 wonder\\u00adful  day")
    'a wonderful day'
    """
    check_text(text)
    return " ".join(unicodedata.normalize("NFC", INVISIBLE.sub("", text)).split())


def plain(text: str) -> str:
    """The text with plain quotation marks, hyphens and dots, and in Unicode NFKC: no ligatures.

    >>> plain("“I don’t know… maybe,” she said – ﬁnally.")
    '"I don\\'t know... maybe," she said - finally.'
    """
    return clean(unicodedata.normalize("NFKC", text.translate(PLAIN)))


def encode_clean(tokenizer: Vocabulary, texts: Sequence[str]) -> list[list[int]]:
    """The ids of cleaned texts. Models of sentences learn from them, and read them when used.

    A text with tokens that the tokenizer does not know is encoded as `plain` text if fewer of those are
    unknown. No training text of a tokenizer has any, so this changes only what it meets later.
    Raises ValueError for a single text, and as `clean` does.

    >>> from course_lib.text import Tokenizer
    >>> tokenizer = Tokenizer.train(['"a" b-c'], vocab=20)
    >>> encode_clean(tokenizer, ["“a” b–c", "\\ufeffa"]) == tokenizer.encode_batch(['"a" b-c', "a"])
    True
    """
    refuse_text(texts=texts)
    texts = [clean(text) for text in texts]
    rows = tokenizer.encode_batch(texts)
    for n, ids in enumerate(rows):
        if UNK in ids:
            rows[n] = min(ids, tokenizer.encode(plain(texts[n])), key=lambda row: row.count(UNK))
    return rows


def encode_pairs(tokenizer: Vocabulary, pairs: Sequence[tuple[str, str]]) -> list[list[list[int]]]:
    """The ids of all sources, then those of all targets. Raises as `encode_clean` does."""
    refuse_texts(pairs=pairs)
    return [encode_clean(tokenizer, [pair[side] for pair in pairs]) for side in (0, 1)]


def warn_of_unknown(tokenizer: Vocabulary, texts: Sequence[str], rows: Sequence[Sequence[int]]) -> None:
    """Warn, in one line, if tokens of these texts are unknown: the model cannot tell them apart."""
    having = [text for text, ids in zip(texts, rows, strict=True) if UNK in ids]
    if having:
        words = [word for word in clean(having[0]).split() if UNK in encode_clean(tokenizer, [word])[0]]
        where = f"in {len(having)} of {len(texts)} texts, the first time in {having[0]!r:.60}"
        warnings.warn(f"the tokenizer does not know all of {' '.join(words)!r:.60} ({where})", stacklevel=3)

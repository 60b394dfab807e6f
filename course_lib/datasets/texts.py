"""From a data set's name to texts for training, validation and test."""

from dataclasses import dataclass
from itertools import pairwise

from course_lib.datasets.archives import unpacked
from course_lib.datasets.pairs import load_translation
from course_lib.datasets.places import locate_file
from course_lib.datasets.sets import catalogue, find_set

DIVIDED = {"tinyshakespeare": (0.9, 1.0), "timemachine": (0.9, 0.95)}  # where validation and test begin
EMBEDDED = "grammar"


@dataclass(frozen=True, kw_only=True)
class TextData:
    """Texts for training, validation and test, of one origin."""

    name: str
    train: str
    validation: str
    test: str


def load_text(name: str = EMBEDDED) -> TextData:
    """The named text, divided in three.

    grammar: the English sentences of the course's own grammar, each once, one on a line; divided as
    `load_translation` does it, so that no sentence stands on two sides.
    tinyshakespeare: the last tenth is for validation, as in nanoGPT, and there is no test text.
    timemachine: nine tenths, then a twentieth for validation, then one for the test.
    wikitext-2: divided by its publisher.
    Raises ValueError for an unknown name and for sentence pairs; otherwise as `locate` does.
    """
    entry = find_set(name)
    if name == EMBEDDED:
        return english(name)
    if entry.kind != "text":
        texts = [EMBEDDED, *(other for other, entry in catalogue().items() if entry.kind == "text")]
        what = {"pairs": "sentence pairs", "labelled": "labelled sentences"}.get(entry.kind, entry.kind)
        raise ValueError(f"{name!r} is a set of {what}, and not a text; texts: {', '.join(texts)}")
    files = [unpacked(locate_file(part)).decode("utf-8") for part in entry.parts or (entry,)]
    train, validation, test = divided(files[0], DIVIDED[name]) if len(files) == 1 else files
    return TextData(name=name, train=train, validation=validation, test=test)


def english(name: str) -> TextData:
    pairs = load_translation(name)
    parts = {"train": pairs.train, "validation": pairs.validation, "test": pairs.test}
    lines = {part: dict.fromkeys(source for source, _ in some) for part, some in parts.items()}
    return TextData(
        name=name, **{part: "".join(f"{line}\n" for line in some) for part, some in lines.items()}
    )


def divided(text: str, shares: tuple[float, float]) -> list[str]:
    """The text cut at these shares of its length."""
    cuts = [0, *(int(share * len(text)) for share in shares), len(text)]
    return [text[a:b] for a, b in pairwise(cuts)]

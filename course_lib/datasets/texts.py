"""Language modeling data: texts, split into training, validation and test sets."""

from dataclasses import dataclass
from itertools import pairwise

from course_lib.datasets.archives import read_text
from course_lib.datasets.catalog import find_set, list_datasets
from course_lib.datasets.location import locate_file
from course_lib.datasets.pairs import load_translation
from course_lib.datasets.text_files import PathLike, TextFiles, own_path

SPLIT_AT = {"tinyshakespeare": (0.9, 1.0), "timemachine": (0.9, 0.95)}  # where validation and test begin
EMBEDDED = "grammar"


@dataclass(frozen=True, kw_only=True)
class TextData:
    """Texts for training, validation and testing, from one source."""

    name: str
    train: str
    validation: str
    test: str


def load_text(name: PathLike = EMBEDDED) -> TextData:
    """Load a text by the name of its data set, or from your own files; the split is always the same.

    grammar: the English sentences of the course's own grammar, each once, one per line; split as by
    `load_translation`, so that no sentence is in two of the sets.
    tinyshakespeare: 90% training, 10% validation, as in nanoGPT; no test text.
    timemachine: 90% training, 5% validation, 5% test.
    wikitext-2: the publisher's split.
    A path of a file or folder: as `TextFiles`, which does not hold the text in memory as this does.
    Raises ValueError for an unknown name or a set that is not a text, and otherwise as `locate` does.

    >>> text = load_text("grammar")
    >>> text.train.splitlines()[:2]
    ['Is he too handsome?', 'You are a carpenter.']

    Your own file:

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "poem.txt").write_text("a line of a poem\\n" * 100)
    ...     text = load_text(folder + "/poem.txt")
    >>> len(text.train), len(text.validation), len(text.test)
    (1530, 85, 85)
    """
    if path := own_path(name):
        text = TextFiles(path)
        parts = {part: "".join(getattr(text, part)) for part in ("train", "validation", "test")}
        return TextData(name=text.name, **parts)
    name = str(name)
    entry = find_set(name)
    if name == EMBEDDED:
        return grammar_text(name)
    if entry.kind != "text":
        texts = [EMBEDDED, *(other for other, entry in list_datasets().items() if entry.kind == "text")]
        what = {"pairs": "sentence pairs", "labelled": "labeled sentences"}.get(entry.kind, entry.kind)
        raise ValueError(f"{name!r} is a set of {what}, not a text; texts are: {', '.join(texts)}")
    files = [read_text(locate_file(part)) for part in entry.parts or (entry,)]
    train, validation, test = split_text(files[0], SPLIT_AT[name]) if len(files) == 1 else files
    return TextData(name=name, train=train, validation=validation, test=test)


def grammar_text(name: str) -> TextData:
    """The distinct English sentences of a set of pairs, one per line."""
    pairs = load_translation(name)
    parts = {"train": pairs.train, "validation": pairs.validation, "test": pairs.test}
    lines = {part: dict.fromkeys(source for source, _ in some) for part, some in parts.items()}
    return TextData(
        name=name, **{part: "".join(f"{line}\n" for line in some) for part, some in lines.items()}
    )


def split_text(text: str, fractions: tuple[float, float]) -> list[str]:
    """Split a text at these fractions of its length."""
    cuts = [0, *(int(fraction * len(text)) for fraction in fractions), len(text)]
    return [text[a:b] for a, b in pairwise(cuts)]

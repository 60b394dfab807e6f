"""Text classification data: labeled sentences, split into training, validation and test sets."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from course_lib.datasets.archives import BrokenArchive, read_text
from course_lib.datasets.catalog import DataSet, find_set, list_datasets
from course_lib.datasets.labels import check_labels, check_number
from course_lib.datasets.location import locate_file
from course_lib.datasets.splits import normalize
from course_lib.datasets.text_files import PathLike, own_path
from course_lib.text.preparation import clean
from course_lib.text.unicode_text import refuse_text

EMBEDDED = "reviews"
Labelled = tuple[str, int]


@dataclass(frozen=True)
class LabelledSplit:
    """Sentences with labels, each the index of a class.

    Raises ValueError if there are no sentences, or if there is not one label per sentence.

    >>> split = LabelledSplit(["I like it.", "I hate it."], labels=[1, 0])
    >>> len(split), list(split)
    (2, [('I like it.', 1), ('I hate it.', 0)])
    """

    sentences: list[str]
    labels: list[int]

    def __post_init__(self) -> None:
        refuse_text(sentences=self.sentences)
        check_number("sentences", len(self.sentences), len(self.labels))

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Labelled]:
        return zip(self.sentences, self.labels, strict=True)

    def __getitem__(self, which: slice) -> "LabelledSplit":
        return LabelledSplit(self.sentences[which], self.labels[which])


@dataclass(frozen=True, kw_only=True)
class LabelledData:
    """Labeled sentences split into training, validation and test sets; classes: the names of labels 0, 1, …

    Raises ValueError if a label is not the index of a class.
    """

    name: str
    classes: tuple[str, ...]
    train: LabelledSplit
    validation: LabelledSplit
    test: LabelledSplit

    def __post_init__(self) -> None:
        for split in (self.train, self.validation, self.test):
            check_labels(split.labels, len(self.classes), self.name)


def load_labelled(name: PathLike = EMBEDDED) -> LabelledData:
    """Load labeled sentences by the name of their set, or from your own file; the split is always the same.

    reviews: 2000 test and 1000 validation sentences; sentences with the same words, in any order, are in the
    same set.
    sst2: the publisher's split, without training sentences that are also held out.
    A path of a file: as `load_labeled_texts`.
    Raises ValueError for an unknown name or a set without labels, and otherwise as `locate` does.

    >>> data = load_labelled("reviews")
    >>> data.test.sentences[0], data.classes[data.test.labels[0]]
    ('Although the breakfast was rather cold, the porter was helpful.', 'positive')
    """
    if path := own_path(name):
        from course_lib.datasets.own_data import load_labeled_texts

        return load_labeled_texts(path)
    name = str(name)
    entry = find_set(name)
    if entry.kind != "labelled":
        sets = [other for other, entry in list_datasets().items() if entry.kind == "labelled"]
        raise ValueError(f"{name!r} is not a set of labeled sentences; those are: {', '.join(sets)}")
    if name == EMBEDDED:
        from course_lib.datasets.grammar.reviews import reviews

        train, validation, test = split_by_words(reviews())
    else:
        train, validation, test = (read(part, len(entry.classes)) for part in entry.parts)
        held_out = {normalize(sentence) for sentence, _ in (*validation, *test)}
        train = [(sentence, label) for sentence, label in train if normalize(sentence) not in held_out]
    parts = {"train": train, "validation": validation, "test": test}
    splits = {part: LabelledSplit(*map(list, zip(*some, strict=True))) for part, some in parts.items()}
    return LabelledData(name=name, classes=entry.classes, **splits)


def read(part: DataSet, classes: int) -> list[Labelled]:
    """Read a verified file of lines `sentence TAB label`; raises BrokenArchive if a line has another form."""
    lines = read_text(locate_file(part)).removesuffix("\n").split("\n")
    rows = [line.split("\t") for line in lines]
    labels = {str(label) for label in range(classes)}
    for number, row in enumerate(rows, start=1):
        if len(row) != 2 or not row[0].strip() or row[1] not in labels:
            known = ", ".join(sorted(labels))
            raise BrokenArchive(
                f"{part.file}, line {number} is not a sentence with one of the labels {known}: {row!r:.80}"
            )
    return [(clean(sentence), int(label)) for sentence, label in rows]


def split_by_words(
    labelled: Sequence[Labelled], validation: int = 1000, test: int = 2000
) -> tuple[list[Labelled], list[Labelled], list[Labelled]]:
    """Train/validation/test split grouped by bag of words: sentences with the same words are in the same set.

    Groups, sorted by the SHA-256 of their words, fill the test set, then the validation set; the rest are for
    training. A group that no longer fits is passed on whole.
    Raises ValueError if nothing is left for training.
    """
    if len(labelled) <= validation + test:
        raise ValueError(f"{len(labelled)} sentences are too few for validation={validation} and test={test}")
    groups: dict[str, list[Labelled]] = {}
    for sentence, label in labelled:
        groups.setdefault(words_of(sentence), []).append((sentence, label))
    parts: tuple[list[Labelled], ...] = ([], [], [])
    rooms = (test, validation, len(labelled))
    for words in sorted(groups, key=lambda words: hashlib.sha256(words.encode()).hexdigest()):
        fits = (
            part for part, room in zip(parts, rooms, strict=True) if len(part) + len(groups[words]) <= room
        )
        next(fits).extend(groups[words])
    return parts[2], parts[1], parts[0]


def words_of(sentence: str) -> str:
    """Bag of words: the normalized words of a sentence, sorted, so that their order does not matter."""
    return " ".join(sorted(normalize(sentence).split()))

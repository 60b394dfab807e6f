"""From a data set's name to sentences with labels, divided for training, validation and test."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from course_lib.datasets.archives import BrokenArchive, unpacked
from course_lib.datasets.entry import DataSet
from course_lib.datasets.labels import check_labels, check_number
from course_lib.datasets.pairs import clean
from course_lib.datasets.places import locate_file
from course_lib.datasets.sets import catalogue, find_set
from course_lib.datasets.splits import normalise

EMBEDDED = "reviews"
Labelled = tuple[str, int]


@dataclass(frozen=True)
class LabelledSplit:
    """Sentences, and of each the number of its class.

    Raises ValueError where there are no sentences, and where there are not as many labels.
    """

    sentences: list[str]
    labels: list[int]

    def __post_init__(self) -> None:
        check_number("sentences", len(self.sentences), len(self.labels))

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Labelled]:
        return zip(self.sentences, self.labels, strict=True)

    def __getitem__(self, which: slice) -> "LabelledSplit":
        return LabelledSplit(self.sentences[which], self.labels[which])


@dataclass(frozen=True, kw_only=True)
class LabelledData:
    """Sentences for training, validation and test, of one origin; classes: the names of the labels 0, 1, …

    Raises ValueError for labels that no class belongs to.
    """

    name: str
    classes: tuple[str, ...]
    train: LabelledSplit
    validation: LabelledSplit
    test: LabelledSplit

    def __post_init__(self) -> None:
        for split in (self.train, self.validation, self.test):
            check_labels(split.labels, len(self.classes), self.name)


def load_labelled(name: str = EMBEDDED) -> LabelledData:
    """The named sentences, divided in three, always in the same way.

    reviews: 1000 sentences are for validation, 2000 for the test; sentences of the same words, in whatever
    order, are on one side.
    sst2: divided by its publisher; training sentences that are held out as well are left out.
    Raises ValueError for an unknown name and for a set without labels; otherwise as `locate` does.
    """
    entry = find_set(name)
    if entry.kind != "labelled":
        sets = [other for other, entry in catalogue().items() if entry.kind == "labelled"]
        raise ValueError(f"{name!r} is not a set of labelled sentences; there are {', '.join(sets)}")
    if name == EMBEDDED:
        from course_lib.grammar.reviews import reviews

        train, validation, test = divided(reviews())
    else:
        train, validation, test = (read(part, len(entry.classes)) for part in entry.parts)
        held_out = {normalise(sentence) for sentence, _ in (*validation, *test)}
        train = [(sentence, label) for sentence, label in train if normalise(sentence) not in held_out]
    parts = {"train": train, "validation": validation, "test": test}
    splits = {part: LabelledSplit(*map(list, zip(*some, strict=True))) for part, some in parts.items()}
    return LabelledData(name=name, classes=entry.classes, **splits)


def read(part: DataSet, classes: int) -> list[Labelled]:
    """The lines `sentence TAB label` of a checked file; raises BrokenArchive where one has another form."""
    lines = unpacked(locate_file(part)).decode("utf-8").removesuffix("\n").split("\n")
    rows = [line.split("\t") for line in lines]
    labels = {str(label) for label in range(classes)}
    for number, row in enumerate(rows, start=1):
        if len(row) != 2 or not row[0].strip() or row[1] not in labels:
            known = ", ".join(sorted(labels))
            raise BrokenArchive(
                f"{part.file}, line {number} is no sentence with one of the labels {known}: {row!r}"
            )
    return [(clean(sentence), int(label)) for sentence, label in rows]


def divided(
    labelled: Sequence[Labelled], validation: int = 1000, test: int = 2000
) -> tuple[list[Labelled], list[Labelled], list[Labelled]]:
    """Training, validation and test sentences; those of the same words are on one side.

    The groups of the same words, in the order of a SHA-256 sum of them, go where there is room: to the test,
    then to validation, and the rest to training.
    Raises ValueError where nothing is left for training.
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
    """The words of a sentence in alphabetical order: the same for every order of them."""
    return " ".join(sorted(normalise(sentence).split()))

"""Translation data: cleaned sentence pairs, split into training, validation and test sets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from course_lib.datasets.archives import BrokenArchive, decode, read_member, read_text
from course_lib.datasets.catalog import DataSet, find_set
from course_lib.datasets.location import locate, locate_file
from course_lib.datasets.splits import (
    MOST_PAIRS,
    Pair,
    Splits,
    connected_groups,
    normalize,
    pair_id,
    split_pairs,
)
from course_lib.datasets.text_files import PathLike, own_path, require
from course_lib.text.preparation import clean
from course_lib.text.unicode_text import refuse_texts

NOT_PAIRS = {
    "text": "a text, not a set of sentence pairs: use load_text",
    "images": "a set of images, not of sentence pairs: use load_images",
    "labelled": "a set of labeled sentences, not of sentence pairs: use load_labelled",
}


@dataclass(frozen=True, kw_only=True)
class TranslationData:
    """Sentence pairs (source, target) split into training, validation and test sets.

    max_words: the maximum length of a sentence, or None for no limit.
    left_out: pairs that share a sentence with a held-out pair, and so are in none of the three.
    """

    name: str
    source: str
    target: str
    max_words: int | None
    train: list[Pair]
    validation: list[Pair]
    test: list[Pair]
    left_out: list[Pair]


def load_translation(
    name: PathLike | Sequence[PathLike],
    *,
    max_words: int | None = None,
    test: int = 2000,
    validation: int = 1000,
) -> TranslationData:
    """Load translation pairs by the name of their set, or from your own files; the split is always the same.

    max_words: drops the pairs with a longer sentence. Each `max_words` has its own split, so test a model
    with the `max_words` that it was trained with.
    name: also a path, or two, as in `read_pairs`.
    test, validation: numbers of pairs to hold out; ignored if the publisher splits the set (multi30k). Of
    your own pairs, at most a tenth of the groups each.
    Raises ValueError for an unknown name, a set without pairs or too few pairs; otherwise as `locate` does.

    >>> data = load_translation("grammar")
    >>> data.test[0], len(data.test)
    (('On Tuesdays the cat runs fast.', 'Los martes el gato corre rápido.'), 2000)

    Your own file, with a source and a target in each line:

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     rows = [f"number {n}\\tnúmero {n}\\n" for n in range(40)]
    ...     _ = Path(folder, "pairs.tsv").write_text("".join(rows), encoding="utf-8")
    ...     data = load_translation(folder + "/pairs.tsv")
    >>> len(data.train), len(data.validation), len(data.test)
    (32, 4, 4)
    """
    if (paths := own_paths(name)) is not None:
        pairs = limit_words(max_words, load_pairs(name))
        held_out = number_held_out(paths, pairs, max_words)
        splits = split_pairs(pairs, test=min(test, held_out), validation=min(validation, held_out))
        sides = [path.suffix[1:] for path in paths] if len(paths) == 2 else ["source", "target"]
        name = " ".join(path.name for path in paths)
        entry = DataSet(name=name, about="", license="", source=sides[0], target=sides[1])
    elif (entry := find_set(str(name))).target and entry.parts:
        splits = published_splits(*(limit_words(max_words, pairs) for pairs in _read_parts(entry)))
    else:
        splits = split_pairs(limit_words(max_words, load_pairs(name)), test=test, validation=validation)
    about = {"name": entry.name, "source": entry.source, "target": entry.target}
    return TranslationData(max_words=max_words, **about, **vars(splits))


def own_paths(name: PathLike | Sequence[PathLike]) -> list[Path] | None:
    """The path of your own pairs, or both; None for the name of a data set. Raises ValueError for neither."""
    if not isinstance(name, str | Path):
        return [require(path) for path in name]
    return [path] if (path := own_path(name)) else None


def number_held_out(paths: list[Path], pairs: list[Pair], max_words: int | None = None) -> int:
    """A tenth of the groups of pairs that share a sentence. Raises ValueError if there are fewer than 3."""
    groups = [group for group in connected_groups({p: pair_id(p) for p in pairs}) if len(group) <= MOST_PAIRS]
    if len(groups) < 3:
        limit = f" of at most {max_words} words" if max_words else ""
        raise ValueError(
            f"{paths[0]}: {len(pairs)} pairs{limit}, of which {len(groups)} share no sentence, are too few "
            "for training, validation and test"
        )
    return max(1, len(groups) // 10)


def load_pairs(name: PathLike | Sequence[PathLike]) -> list[Pair]:
    """All cleaned pairs of a data set, or of your own files, in file order, including duplicates.

    name: of a data set, or a path, or two, as in `read_pairs`. Raises as `load_translation` does.

    >>> load_pairs("grammar")[0]
    ('I recommended five books.', 'Recomendé cinco libros.')
    """
    if (paths := own_paths(name)) is not None:
        from course_lib.datasets.own_data import read_pairs

        return [(clean(a), clean(b)) for a, b in read_pairs(paths[0] if len(paths) == 1 else paths)]
    name = str(name)
    entry = find_set(name)
    if entry.kind != "pairs":
        raise ValueError(f"{name!r} is {NOT_PAIRS[entry.kind]}")
    if entry.parts:
        return [pair for part in _read_parts(entry) for pair in part]
    path = locate(name)
    if not entry.file:
        from course_lib.datasets import grammar

        return list(grammar.pairs())
    changed = path.stat()
    return list(_read(path, entry.member, changed.st_mtime_ns, changed.st_size))


def published_splits(train: list[Pair], validation: list[Pair], test: list[Pair]) -> Splits:
    """The publisher's split, without training pairs that share a sentence with a held-out pair."""
    held_out = [{normalize(pair[side]) for pair in (*validation, *test)} for side in (0, 1)]
    kept: list[Pair] = []
    left_out: list[Pair] = []
    for pair in train:
        shared = any(normalize(pair[side]) in held_out[side] for side in (0, 1))
        (left_out if shared else kept).append(pair)
    return Splits(kept, validation, test, left_out)


def limit_words(max_words: int | None, pairs: list[Pair]) -> list[Pair]:
    """`at_most`, or all pairs if `max_words` is None."""
    return pairs if max_words is None else at_most(max_words, pairs)


def at_most(words: int, pairs: Iterable[Pair]) -> list[Pair]:
    """Keep the pairs whose sentences both have at most `words` words, separated by spaces.

    Raises ValueError if `words` is less than 1, and for texts in place of pairs.

    >>> at_most(2, [("Go on.", "Sigue."), ("I am not here.", "No estoy.")])
    [('Go on.', 'Sigue.')]
    """
    if words < 1:
        raise ValueError(f"max_words={words} must be at least 1")
    refuse_texts(pairs=(pairs := list(pairs)))
    return [pair for pair in pairs if all(len(sentence.split()) <= words for sentence in pair)]


@lru_cache(maxsize=4)
def _read(path: Path, member: str, changed_ns: int, size: int) -> tuple[Pair, ...]:
    """Read the pairs of a verified file; time and size are arguments so that a changed file is read again."""
    lines = decode(read_member(path, member)).removesuffix("\n").split("\n")
    pairs = (line.split("\t") for line in lines)
    return tuple((clean(source), clean(target)) for source, target in pairs)


def _read_parts(entry: DataSet) -> list[list[Pair]]:
    """Read the training, validation and test pairs of a set with one file per language and split."""
    texts = [read_text(locate_file(part)).removesuffix("\n") for part in entry.parts]
    lines = [[clean(line) for line in text.split("\n")] for text in texts]
    for part, source, target in zip(entry.parts[1::2], lines[::2], lines[1::2], strict=True):
        if len(source) != len(target):
            raise BrokenArchive(f"{part.file} has {len(target):,} translations for {len(source):,} sentences")
    return [list(zip(*sides, strict=True)) for sides in zip(lines[::2], lines[1::2], strict=True)]

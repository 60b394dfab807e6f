"""Your own data: sentence pairs and labeled texts from files, with splits that do not leak.

Every fault is one line that names the file, the line where there is one, and what would be right. What is the
same is in the same set: texts with the same words; pairs are grouped as in `split_pairs`. Texts for language
models are in text_files.py, images in own_images.py.
"""

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from course_lib.datasets.classification import LabelledData, LabelledSplit, words_of
from course_lib.datasets.splits import Pair
from course_lib.datasets.text_files import PathLike, files_in, json_lines, lines_of, require
from course_lib.text.preparation import clean

TABLES = (".tsv", ".csv", ".txt", ".jsonl")
HELD_OUT = 10  # one in so many groups is for testing, and one for validation
COLUMNS = {  # names that a header may have, by what the column holds
    "source": ("source", "src", "input", "question", "prompt", "instruction"),
    "target": ("target", "tgt", "trg", "translation", "output", "answer", "response"),
    "text": ("text", "sentence", "review", "content", "document"),
    "label": ("label", "class", "category", "sentiment", "target"),
}
LANGUAGES = set(
    "en de es fr it pt nl ru uk pl cs sv da fi el tr ar he hi zh ja ko english german spanish french italian "
    "portuguese dutch russian ukrainian polish czech turkish arabic hindi chinese japanese korean".split()
)


def table(file: Path) -> Iterator[tuple[int, list[str]]]:
    """The number and the cells of each line of a table that is not blank.

    .csv: commas, semicolons or tabs, with quotes as spreadsheets write them. Others: tabs; quotation marks
    belong to the text, except where a spreadsheet has put a cell with doubled ones into quotes.
    Raises ValueError if lines have different numbers of cells.
    """
    lines = lines_of(file)
    if file.suffix.lower() == ".csv":
        first = re.sub('"[^"]*"', "", next(line for line in lines_of(file) if line.strip()))
        mark = max(",;\t", key=first.count)
        reader = csv.reader((line + "\n" for line in lines), delimiter=mark, strict=True)
        rows: Iterator[tuple[int, list[str]]] = numbered(file, reader)
    else:
        rows = enumerate(([unquoted(cell) for cell in line.split("\t")] for line in lines), start=1)
    width = 0
    for number, row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if width and len(row) != width:
            raise ValueError(f"{file}, line {number} has {plural(len(row))}, and the lines before it {width}")
        width = len(row)
        yield number, row


def plural(columns: int) -> str:
    return "1 column" if columns == 1 else f"{columns} columns"


def numbered(file: Path, reader: Any) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV reader with the number of their last line."""
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"{file}, line {reader.line_num} is not CSV: {error}") from None


def unquoted(cell: str) -> str:
    """A cell without the quotes of a spreadsheet."""
    quoted = len(cell) > 3 and cell[0] == cell[-1] == '"' and '""' in cell[1:-1]
    return cell[1:-1].replace('""', '"') if quoted else cell


def columns(file: Path, wanted: tuple[str, str]) -> tuple[list[int], list[list[str]]]:
    """Two columns of a table: the number of each line, and the cells.

    A header is recognized by its words. Without one, there are two columns, or those of Tatoeba: two and a
    license, or two sentences with a number before each. Raises ValueError for any other number, for a table
    without rows, and if a cell is empty.
    """
    if file.suffix.lower() == ".jsonl":
        objects = list(json_lines(file))
        for number, one in objects:
            if missing := [name for name in wanted if not isinstance(one.get(name), str | int)]:
                raise ValueError(f'{file}, line {number} has no "{missing[0]}"')
        numbers = [number for number, _ in objects]
        rows = [[str(one[name]) for name in wanted] for _, one in objects]
    else:
        if not (found := list(table(file))):
            raise ValueError(f"{file} is empty (nothing but blank cells)")
        numbers, rows = map(list, zip(*found, strict=True))
        chosen, header = choose(file, rows, wanted)
        rows = [[row[i] for i in chosen] for row in rows[header:]]
        numbers = numbers[header:]
    if not rows:
        raise ValueError(f"{file} has no rows below its header")
    check_filled(file, numbers, rows, wanted)
    return numbers, rows


def check_filled(
    file: PathLike, numbers: Sequence[int], rows: Sequence[Sequence[str]], names: Sequence[str]
) -> None:
    """Raise ValueError if a cell is empty, naming the first such line."""
    empty = [(n, names[row.index(next(c for c in row if not c.strip()))])
             for n, row in zip(numbers, rows, strict=True) if not all(c.strip() for c in row)]  # fmt: skip
    if empty:
        more = f" (so is a cell in {len(empty) - 1:,} more lines)" if len(empty) > 1 else ""
        raise ValueError(f"{file}, line {empty[0][0]}: the {empty[0][1]} is empty{more}")


def choose(file: Path, rows: list[list[str]], wanted: tuple[str, str]) -> tuple[tuple[int, int], int]:
    """Which two columns are wanted, and the number of lines of the header, 0 or 1.

    A header is recognized by its words. Without one, there are two columns, or those of Tatoeba: two and a
    license, or two sentences with a number before each.
    """
    head = [cell.strip().lower() for cell in rows[0]]
    named = [next((i for i, cell in enumerate(head) if cell in COLUMNS[name]), None) for name in wanted]
    if None not in named and named[0] != named[1]:
        return (named[0], named[1]), 1  # type: ignore[return-value]
    header = int(len(rows) > 1 and len(head) == 2 and wanted[0] == "source" and LANGUAGES.issuperset(head))
    body = rows[header:]
    if len(head) == 3 and wanted[0] == "source" and all(row[2].startswith("CC-BY") for row in body):
        return (0, 1), header
    if len(head) == 4 and all(row[0].isdecimal() and row[2].isdecimal() for row in body):
        return (1, 3), header
    if len(head) != 2:
        raise ValueError(
            f"{file} has {plural(len(head))}, not two: give each line a "
            f"{wanted[0]} and a {wanted[1]}, or the table a header with these words"
        )
    kinds = [len({row[i] for row in body}) for i in (0, 1)]
    labels_first = wanted[0] == "text" and kinds[0] < kinds[1]
    return ((1, 0) if labels_first else (0, 1)), header


def read_pairs(path: PathLike | Sequence[PathLike]) -> list[Pair]:
    """Sentence pairs from a table, or from two files or a folder of two files with a sentence per line.

    Tables: .tsv, .csv, .txt (with tabs) or .jsonl, also as Tatoeba and manythings.org write them.
    A folder, as of OPUS and Moses: two files with the same name and different endings; x.de-en.de is the
    source of x.de-en.en, and otherwise the alphabet decides.
    Raises ValueError for an empty side, different numbers of lines, and as `TextFiles` does.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "pairs.tsv").write_text("Go.\\tVe.\\nRun!\\t¡Corre!\\n", encoding="utf-8")
    ...     read_pairs(folder + "/pairs.tsv")
    [('Go.', 'Ve.'), ('Run!', '¡Corre!')]
    """
    if not isinstance(path, str | Path):
        return aligned(*map(require, path))
    path = require(path)
    if path.is_dir():
        return aligned(*sides(path))
    if path.suffix.lower() not in TABLES:
        raise ValueError(f"{path} does not end in {', '.join(TABLES)}; for two files, give both")
    return [(source, target) for source, target in columns(path, ("source", "target"))[1]]


def sides(folder: Path) -> tuple[Path, Path]:
    """The two files of a folder whose names differ in the ending alone, source first."""
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and file.suffix not in ("", ".ids")]
    stems = Counter(file.stem for file in files)
    found = [file for file in files if stems[file.stem] == 2]
    if len(found) != 2:
        raise ValueError(f"{folder} does not hold two files such as corpus.en and corpus.de, and only those")
    order = re.findall(r"\w+", found[0].stem)
    a, b = sorted(found, key=lambda file: file.suffix[1:] in order and order.index(file.suffix[1:]))
    return a, b


def aligned(source: Path, target: Path, *more: Path) -> list[Pair]:
    """The pairs of two files with a sentence per line; lines that are blank in both are left out."""
    if more:
        raise ValueError(f"{2 + len(more)} files are too many: pairs are in one file or in two")
    both = [list(lines_of(file)) for file in (source, target)]
    if len(both[0]) != len(both[1]):
        counts = f"{source} has {len(both[0]):,} lines and {target} {len(both[1]):,}"
        raise ValueError(f"{counts}: line n of one must be the translation of line n of the other")
    rows = list(zip(*both, strict=True))
    numbers = [n for n, row in enumerate(rows, start=1) if "".join(row).strip()]
    kept = [rows[n - 1] for n in numbers]
    check_filled(f"{source} and {target}", numbers, kept, ("source", "target"))
    return kept


def labeled_rows(path: PathLike) -> tuple[list[str], list[str]]:
    """The texts and the labels of a table: .csv, .tsv, .txt (with tabs) or .jsonl.

    Raises ValueError unless there are at least two classes, and as `read_pairs` does.
    """
    file = require(path)
    if file.is_dir():
        raise ValueError(f"{file} is a folder; give a table with a text and a label in each line")
    files_in(file, TABLES)
    _, rows = columns(file, ("text", "label"))
    texts, labels = ([row[i].strip() for row in rows] for i in (0, 1))
    if len(set(labels)) > max(2, len(labels) // 2):
        raise ValueError(
            f"{file}: {len(set(labels)):,} different labels for {len(labels):,} texts are no classes"
        )
    check_classes(file, labels)
    return texts, labels


def check_classes(path: PathLike, labels: Sequence[str]) -> None:
    """Raise ValueError if all labels are the same."""
    if len(set(labels)) < 2:
        raise ValueError(f"{path} has one class only, {labels[0]!r}: there is nothing to tell apart")


def grouped_split(
    path: PathLike, keys: Sequence[str], labels: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, list[int]]]:
    """Train/validation/test split, stratified and grouped: the classes, and the indices of each set.

    Examples with the same key are in the same set. A tenth of the groups of each class is for testing, and a
    tenth for validation, but at least one. Raises ValueError if a class has fewer than three groups.
    """
    side: dict[str, str] = {}
    of_class: dict[str, list[str]] = {label: [] for label in labels}
    for key, label in dict(zip(reversed(keys), reversed(labels), strict=True)).items():
        of_class[label].append(key)
    for label, groups in of_class.items():
        if len(groups) < 3:
            raise ValueError(
                f"{path}: class {label!r} has {len(groups)} different examples, fewer than three"
            )
        groups.sort(key=lambda key: hashlib.sha256(key.encode()).digest())
        share = max(1, len(groups) // HELD_OUT)
        side |= dict.fromkeys(groups[:share], "test")
        side |= dict.fromkeys(groups[share : 2 * share], "validation")
    parts: dict[str, list[int]] = {"train": [], "validation": [], "test": []}
    for i, key in enumerate(keys):
        parts[side.get(key, "train")].append(i)
    return tuple(sorted(set(labels))), parts


def load_labeled_texts(path: PathLike) -> LabelledData:
    """Labeled texts from a table, split into training, validation and test sets.

    path: a .csv, .tsv, .txt (with tabs) or .jsonl file with a text and a label in each line; a header that
    names them may come first. Texts with the same words, in any order, are in the same set; a tenth of each
    class is for testing, and a tenth for validation.
    Raises ValueError unless there are at least two classes with three different texts each.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> rows = [f"{n} {word} films,{word}" for n in range(12) for word in ("good", "bad")]
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "reviews.csv").write_text(chr(10).join(["text,label", *rows]))
    ...     data = load_labeled_texts(folder + "/reviews.csv")
    >>> data.classes, len(data.train), len(data.test)
    (('bad', 'good'), 20, 2)
    """
    texts, names = labeled_rows(path)
    texts = [clean(text) for text in texts]
    classes, parts = grouped_split(path, [words_of(text) for text in texts], names)
    splits = {
        part: LabelledSplit([texts[i] for i in chosen], [classes.index(names[i]) for i in chosen])
        for part, chosen in parts.items()
    }
    return LabelledData(name=Path(path).name, classes=classes, **splits)

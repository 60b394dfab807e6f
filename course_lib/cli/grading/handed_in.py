"""What a class handed in, whose it is, and who on the roster handed in nothing."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WORK = (
    ".py", ".html", ".pdf", ".zip", ".tar", ".gz", ".tgz", ".xz", ".7z", ".rar", ".txt", ".json", ".doc",
    ".docx", ".odt", ".pages", ".url", ".webloc", ".gdoc", ".png", ".jpg", ".jpeg", ".icloud",
)  # fmt: skip
RESULTS = {
    "grades.csv",
    "totals.csv",
    "grades.html",
}  # of this command, perhaps written into the class folder
SYSTEM = {"__MACOSX", "desktop.ini", "Thumbs.db"}  # nobody has handed them in
NOTHING = "nothing handed in"
NEEDS_YOU = "needs you"


@dataclass(frozen=True)
class HandedIn:
    """A notebook that a student has handed in; where `path` is None, `instead` says why there is none."""

    student: str
    path: Path | None
    instead: str = ""

    @property
    def name(self) -> str:
        return self.path.name if self.path else ""


def find(folder: Path, roster: Path | None = None) -> list[HandedIn]:
    """All notebooks: `folder/NAME.ipynb`, and any depth below `folder/NAME/`; NAME is the student's.

    A student without a notebook is listed as well, once. Hidden files and folders are left out, as are the
    roster and this command's results; folders that are links are not followed: a student may have made them.
    """
    found: list[HandedIn] = []
    for entry in sorted(shown(folder), key=lambda entry: (entry.is_dir(), entry.name)):
        if is_folder(entry):
            found += of_student(entry)
        elif is_notebook(entry):
            found.append(HandedIn(entry.stem, entry))
        elif (
            entry.suffix.lower() in WORK
            and entry.name not in RESULTS
            and not (roster and entry.samefile(roster))
        ):
            found.append(without_notebook(entry.stem, [entry.name]))
    with_notebooks = {one.student for one in found if one.path}
    return [one for one in found if one.path or one.student not in with_notebooks]


def of_student(folder: Path) -> list[HandedIn]:
    """What is in a student's folder; nothing if it holds this command's results."""
    try:
        files = list(visible(folder))
    except OSError as problem:
        why = f"{NEEDS_YOU}: the folder cannot be read ({problem.strerror})"
        return [HandedIn(folder.name, None, why)]
    notebooks = [HandedIn(folder.name, file) for file in files if is_notebook(file)]
    names = [file.name for file in files]
    return notebooks or (
        [] if names and RESULTS.issuperset(names) else [without_notebook(folder.name, names)]
    )


def visible(folder: Path) -> Iterator[Path]:
    """The files in a folder, and then those below it, in order, without the hidden ones."""
    entries = sorted(shown(folder))
    yield from (entry for entry in entries if not is_folder(entry))
    for entry in filter(is_folder, entries):
        yield from visible(entry)


def shown(folder: Path) -> Iterator[Path]:
    """What is in a folder, without what the system put there. iCloud hides files that are not downloaded."""
    for entry in folder.iterdir():
        hidden = entry.name.startswith(".") and entry.suffix != ".icloud"
        if not hidden and entry.name not in SYSTEM:
            yield entry


def is_folder(entry: Path) -> bool:
    return entry.is_dir() and not entry.is_symlink()


def is_notebook(entry: Path) -> bool:
    return entry.suffix.lower() == ".ipynb"


def without_notebook(student: str, files: list[str]) -> HandedIn:
    """A student who handed in other files, or none."""
    some = ", ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    return HandedIn(student, None, f"{NEEDS_YOU}: no notebook, only {some}" if files else NOTHING)


def read_roster(file: Path) -> list[tuple[str, ...]]:
    """The students of a class: the filled cells of each row of a CSV file, or the lines of a text.

    A first row that holds the word "student", "name" or "identifier" is its head. Raises ValueError for none.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"--roster {file}: the file is not text in UTF-8") from None
    rows = [tuple(cell.strip() for cell in row if cell.strip()) for row in csv.reader(text.splitlines())]
    if rows and {"student", "name", "identifier"} & {cell.lower() for cell in rows[0]}:
        rows = rows[1:]
    if not any(rows):
        raise ValueError(f"--roster {file}: no names; write one student in each line, named like the folders")
    return [row for row in rows if row]


def with_roster(found: list[HandedIn], roster: list[tuple[str, ...]]) -> tuple[list[HandedIn], list[str]]:
    """What was handed in, and a row for each student on the roster who is missing; names that are not on it.

    A student is any cell of a row, in any case, or a folder whose name ends with a hyphen and that cell: so
    GitHub Classroom names it.
    """
    students = {one.student for one in found}
    known = {name for name in students for row in roster if any(map(names(name).__contains__, lowered(row)))}
    missing = [row[0] for row in roster if not any(names(name) & lowered(row) for name in students)]
    return [*found, *(HandedIn(name, None, NOTHING) for name in missing)], sorted(students - known)


def lowered(row: tuple[str, ...]) -> set[str]:
    return {cell.casefold() for cell in row}


def names(folder: str) -> set[str]:
    """All students that a folder's name may mean: `week-3-ana` for itself, `3-ana` and `ana`."""
    words = folder.casefold().split("-")
    return {"-".join(words[start:]) for start in range(len(words))}

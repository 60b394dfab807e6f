"""What a class handed in, whose it is, and who on the roster handed in nothing."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
TABLES = (".csv", ".xlsx", ".ods")  # beside the hand-ins: a roster or a gradebook, nobody's work
RESULTS = {"grades.csv", "totals.csv", "grades.html"}  # of this command, perhaps in the class folder
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
        elif entry.is_dir():
            found.append(HandedIn(entry.name, None, f"{NEEDS_YOU}: a link to a folder; copy the folder here"))
        elif not (is_yours(entry) or (roster and entry.samefile(roster))):
            found.append(without_notebook(student_of(entry), [entry.name]))
    with_notebooks = {one.student for one in found if one.path}
    return [one for one in found if one.path or one.student not in with_notebooks]


def left_out(folder: Path) -> list[str]:
    """The names of files beside the hand-ins that `find` takes for the instructor's own."""
    files = (entry for entry in shown(folder) if not entry.is_dir() and not is_notebook(entry))
    return sorted(entry.name for entry in files if is_yours(entry) and entry.name not in RESULTS)


def is_yours(entry: Path) -> bool:
    """Whether a file beside the hand-ins is the instructor's: a result, a table, or a README."""
    return entry.name in RESULTS or entry.suffix.lower() in TABLES or entry.stem.lower() == "readme"


def student_of(entry: Path) -> str:
    """The student's name in that of a file: `ana` of `ana.zip`, `ana.tar.gz`, and `.ana.ipynb.icloud`."""
    stem = Path(entry.name.removeprefix(".")).stem
    return Path(stem).stem if Path(stem).suffix.lower() in (".ipynb", ".tar") else stem


def of_student(folder: Path) -> list[HandedIn]:
    """What is in a student's folder; nothing if it holds this command's results."""
    try:
        files = list(visible(folder))
    except OSError as problem:
        why = f"{NEEDS_YOU}: the folder cannot be read ({problem.strerror})"
        return [HandedIn(folder.name, None, why)]
    names = [file.name for file in files]
    if names and RESULTS.issuperset(names):
        return []
    notebooks = [HandedIn(folder.name, file) for file in files if is_notebook(file)]
    return notebooks or [without_notebook(folder.name, names)]


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
    """A student who handed in other files, with what to do about the first of them, or who handed in none."""
    if not files:
        return HandedIn(student, None, NOTHING)
    some = ", ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    return HandedIn(student, None, f"{NEEDS_YOU}: no notebook, only {some}; {what_to_do(files)}")


def what_to_do(files: list[str]) -> str:
    """How these files become a notebook that can be graded."""
    endings = [Path(name).suffix.lower() for name in files]
    renamed = [Path(name).stem for name in files if Path(name).stem.lower().endswith(".ipynb")]
    if ".icloud" in endings:
        return "download it from iCloud"
    if set(endings) & set(ARCHIVES):
        return "unpack the archive into a folder with the student's name"
    return f"rename it to {renamed[0]}" if renamed else "ask for the .ipynb file"


def read_roster(file: Path) -> list[tuple[str, ...]]:
    """The students: the filled cells of each row of a CSV file, without its head, or the lines of a text."""
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
    """What was handed in, with a row for each missing student; and the names that are not on the roster.

    A student is any cell of a row, in any case, or a folder whose name ends with a hyphen and that cell: so
    GitHub Classroom names it.
    """
    students = {one.student for one in found}
    cells = [{cell.casefold() for cell in row} for row in roster]
    known = {name for name in students if any(names(name) & row for row in cells)}
    called = set().union(*map(names, students))
    missing = [row[0] for row, own in zip(roster, cells, strict=True) if not called & own]
    return [*found, *(HandedIn(name, None, NOTHING) for name in missing)], sorted(students - known)


def names(folder: str) -> set[str]:
    """All students that a folder's name may mean: `week-3-ana` for itself, `3-ana` and `ana`."""
    words = folder.casefold().split("-")
    return {"-".join(words[start:]) for start in range(len(words))}

"""The start page of `lab`: the chapters in order, with the exercises that are passed.

Standard library only.
"""

import json
import re
from pathlib import Path
from urllib.parse import quote

from course_lib.utils.files import atomic_path
from course_lib.utils.progress import OPEN, PASSED, answered, location, passed

FILE = "START.md"  # beside the notebooks, ignored by git
EXERCISE = re.compile(r"""\bcheck\(\s*["'](\w+\.\w+)["']""")
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
GOING_DEEPER = re.compile(r"\d\d[a-z]_|A\d_")  # names of notebooks that the thread of the course can spare


def write(folder: Path) -> Path:
    """Write the start page for the notebooks in this folder; returns its path."""
    with atomic_path(folder / FILE) as room:
        room.write_text(page(folder), encoding="utf-8")
    return folder / FILE


def page(folder: Path) -> str:
    """The start page as Markdown: a table with one row per notebook."""
    rows = [row(path) for path in sorted(folder.glob("*.ipynb"))]
    kept = f"your progress is {location()}"
    return "\n".join(
        [
            "# Welcome to the Transformer course",
            "",
            "Work through the chapters in order: each one builds on those above it. Indented rows go",
            f"deeper and can wait. Click a chapter to open it. {PASSED} marks an exercise that you have",
            f"passed, {OPEN} one that you have not. `lab` updates this page when it starts.",
            'To read your saved answers, run `progress(show="01")` in the notebook of chapter 1.',
            "",
            "| | exercises | |",
            "|---|---|---|",
            *rows,
            "",
            "  \n".join(f"{line[0].upper()}{line[1:]}." for line in filter(None, [answered(), kept])),
            "",
        ]
    )


def row(path: Path) -> str:
    """The table row of a notebook: title, a mark per exercise, and their count."""
    text = source(path)
    found = TITLE.search(text)
    title = (found[1] if found else path.stem).replace("|", r"\|")
    indent = "&emsp;" if GOING_DEEPER.match(path.name) else ""
    exercises = list(dict.fromkeys(EXERCISE.findall(text)))
    done = passed().intersection(exercises)
    marks = "".join(PASSED if one in done else OPEN for one in exercises)
    count = f"{len(done)} of {len(exercises)}" if exercises else ""
    return f"| {indent}[{title}]({quote(path.name)}) | {marks} | {count} |"


def source(path: Path) -> str:
    """The text and code of a notebook; empty if the file is not one."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return "\n".join("".join(cell["source"]) for cell in cells)
    except (OSError, ValueError, LookupError, TypeError):
        return ""

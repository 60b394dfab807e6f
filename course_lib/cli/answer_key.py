"""An instructor's key to the notebooks, and an exam with other numbers."""

import re
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from torch import Tensor

from course_lib.cli import notebook_io
from course_lib.cli.lint import EXERCISE
from course_lib.exercises import Exercise, catalogue
from course_lib.exercises.comparing import call, difference
from course_lib.exercises.redrawn import redrawn

FOLDED = re.compile(r"<details>\s*<summary>(.*?)</summary>(.*?)</details>", re.DOTALL)
GIVEN = re.compile(r"answer|solution", re.IGNORECASE)
MOST = 16  # numbers in the arguments of a question, and in its answer
PLAIN = (Tensor, int, float, str, list, tuple)
EXAM = """# Exam questions, seed {seed}

Each question names an exercise of the course and gives its function other numbers.
What does a correct answer return?
"""


def key(notebooks: Path) -> str:
    """All solutions and answers of the chapters, in order, as Markdown."""
    paths = sorted(notebooks.glob("[0-9A][0-9]*_*.ipynb"))
    parts = [part for path in paths for part in answers(notebook_io.read(path))]
    return "\n\n".join(["# Key", *parts]) + "\n"


def answers(nb: NotebookNode) -> list[str]:
    """The folded solutions and answers of a notebook, each below its exercise or question."""
    found, place = [], ""
    for cell in nb.cells:
        if cell.cell_type == "code":
            place = next((f"{chapter}.{name}" for chapter, name in EXERCISE.findall(cell.source)), place)
            continue
        if title := re.match(r"# (.+)", cell.source):
            found.append(f"## {title[1]}")
        for summary, text in FOLDED.findall(cell.source):
            if GIVEN.search(summary):
                before = re.sub(FOLDED, "", cell.source).strip().splitlines()
                heading = place if "olution" in summary else before[0] if before else place
                found.append(f"### {heading.lstrip('# ')}: {summary.strip()}\n\n{text.strip()}")
    return found


def exam(seed: int) -> tuple[str, str]:
    """Questions for paper, and their answers for the key, as Markdown."""
    questions, solved, kept = [EXAM.format(seed=seed)], [f"\n## Exam, seed {seed}\n"], []
    for exercise in catalogue().values():
        found = question(redrawn(exercise, seed), exercise)
        if found is None:
            kept.append(exercise.id)
            continue
        questions.append(f"{len(questions)}. `{exercise.id}`: {found[0]}")
        solved.append(f"{len(solved)}. `{exercise.id}`: `{found[1]}`")
    solved.append(f"\nWithout a question, since their numbers stay or are too many: {', '.join(kept)}.")
    return "\n".join(questions) + "\n", "\n".join(solved) + "\n"


def question(exercise: Exercise, public: Exercise) -> tuple[str, str] | None:
    """The first new input of an exercise that fits on paper, as a call, and what its solution returns."""
    code = exercise.reference.__code__
    names = code.co_varnames[: code.co_argcount]
    for arguments, known in zip(exercise.inputs, public.inputs, strict=True):
        if arguments is known or difference(arguments, known, 0.0) is None:
            continue
        result = call(exercise.reference, arguments, exercise.run)
        short = result.error is None and size(result.value) <= MOST and size(arguments) <= MOST
        if short and all(isinstance(one, PLAIN) for one in arguments):
            given = zip(names, map(written, arguments), strict=False)
            return ", ".join(f"`{name} = {one}`" for name, one in given), written(result.value)
    return None


def size(value: Any) -> int:
    """How many numbers a value has; a large number for what cannot be written."""
    if isinstance(value, Tensor):
        return value.numel()
    if isinstance(value, list | tuple):
        return sum(map(size, value))
    return 1 if isinstance(value, PLAIN) else MOST + 1


def written(value: Any) -> str:
    """A value to read and type, with four digits."""
    if isinstance(value, Tensor):
        return written(value.tolist())
    if isinstance(value, list | tuple):
        left, right = "[]" if isinstance(value, list) else "()"
        return left + ", ".join(map(written, value)) + right
    return f"{value:.4g}" if isinstance(value, float) else repr(value)

"""The student's process: runs the cells of one notebook and reports what its answers return.

Nothing that it reports is a verdict. It sends the *values* of the student's functions, one line of JSON per
answer, and the grading process compares them with its own references. So a notebook that prints "passed",
replaces `check` or prints extra lines gains nothing: to pass, it must send the right values.
"""

import builtins
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

from course_lib.cli.grading import flags
from course_lib.utils.chapters import CHAPTER

CHECKED = re.compile(rf"""\bcheck\(\s*["']({CHAPTER}\.\w+)["']""")
WATCHED = [  # modules whose functions no notebook has a reason to replace
    "builtins",
    *(f"course_lib.exercises{name}" for name in ("", ".checking", ".comparing", ".exercise", ".progress")),
]


def main(path: str, chapter: str, seed: str, memory: str, processes: str) -> None:
    """Run a notebook, if it is of this chapter, and report; "" is any chapter, no seed, or no limit."""
    report = reporter()
    limit(int(memory), int(processes) if processes else None)
    try:
        cells = code_cells(Path(path))
    except Exception as problem:
        report({"unreadable": f"{type(problem).__name__}: {problem}"[:300]})
        return
    asked = [CHECKED.findall(re.sub(r"(?m)^[ \t]*#.*", "", cell)) for cell in cells]
    found = main_chapter(CHECKED.findall("\n".join(cells)))
    report({"chapter": found})
    if found and (not chapter or chapter == found):
        report({"flags": flags.found(cells, solution_names([one for ids in asked for one in ids]))})
        run_cells(cells, asked, report, seed)
    report({"finished": True})


def reporter() -> Callable[[dict], None]:
    """A function that writes a line of JSON to standard output, which from now on leads nowhere else."""
    file = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)

    def report(message: dict) -> None:
        file.write(json.dumps(message) + "\n")
        file.flush()

    return report


def limit(memory: int, processes: int | None) -> None:
    """Limit this process and its children, as far as the system can; the watching process does the rest."""
    try:
        import resource
    except ImportError:  # Windows
        return
    wanted = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": 2**30, "RLIMIT_DATA": memory, "RLIMIT_NPROC": processes}
    for name, most in wanted.items():
        if most is not None and hasattr(resource, name):
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))


def code_cells(path: Path) -> list[str]:
    """The sources of the code cells. Raises ValueError if the file is not a notebook of format 4."""
    notebook = json.loads(path.read_text(encoding="utf-8-sig"))  # some editors on Windows write a mark
    if not isinstance(notebook, dict) or notebook.get("nbformat") != 4:
        raise ValueError("not a notebook of format 4")
    if not isinstance(notebook.get("cells"), list):
        raise ValueError("no list of cells")
    sources = [
        cell.get("source", "")
        for cell in notebook["cells"]
        if isinstance(cell, dict) and cell.get("cell_type") == "code"
    ]
    return ["".join(map(str, one)) if isinstance(one, list) else str(one) for one in sources]


def main_chapter(ids: list[str]) -> str:
    """The chapter that most of the exercises belong to; "" if there are none."""
    chapters = [one.partition(".")[0] for one in ids]
    return max(chapters, key=chapters.count, default="")


def run_cells(
    cells: list[str], asked: list[list[str]], report: Callable[[dict], None], seed: str = ""
) -> None:
    """Run all cells, those after an error as well, and report each answer when it is checked."""
    from course_lib.cli.grading.messages import plain

    answered: set[str] = set()

    def answer(message: dict) -> None:
        answered.add(message["id"])
        report(message)

    shell = new_shell(answer, seed)
    before = fingerprint()
    report({"started": True})
    for source, ids in zip(cells, asked, strict=True):
        done = shell.run_cell(source)
        problem = done.error_before_exec or done.error_in_exec
        if problem is not None:
            for one in sorted(set(ids) - answered):
                report({"id": one, "raised": plain(f"{type(problem).__name__}: {problem}")})
            if is_full(problem):  # whatever runs next might wait for memory until the time is over
                report({"full": True})
                return
    if changed := [name for name, value in fingerprint().items() if before.get(name) is not value]:
        report({"replaced": changed[:20]})


def is_full(problem: BaseException) -> bool:
    """Whether a cell ended because the memory is used up, and not for one tensor that never fitted."""
    if not isinstance(problem, MemoryError) and "can't allocate memory" not in str(problem):
        return False
    try:
        import resource

        used = re.search(r"VmData:\s+(\d+)", Path("/proc/self/status").read_text())
        return used is None or 1024 * int(used[1]) > resource.getrlimit(resource.RLIMIT_DATA)[0] / 2
    except (ImportError, OSError):
        return True


def solution_names(ids: list[str]) -> dict[str, set[str]]:
    """By exercise: the names that its solution uses, which an answer may use as well."""
    from course_lib.exercises import chapters, of_chapter

    own = {one.partition(".")[0] for one in ids}
    known = {id_: one for chapter in chapters() if chapter in own for id_, one in of_chapter(chapter).items()}
    return {one: names_in(known[one].reference.__code__) for one in ids if one in known}


def names_in(code: CodeType) -> set[str]:
    """The global names and attributes in some code, and in the functions within it."""
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*map(names_in, inner))


def new_shell(answer: Callable[[dict], None], seed: str) -> Any:
    """An IPython shell in which `check` calls the answer, and passes on what it returns."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    from course_lib import exercises
    from course_lib.cli.grading.messages import encoded_attempt
    from course_lib.exercises.checking import attempt
    from course_lib.exercises.redrawn import redrawn

    def check(exercise_id: str, given: Any) -> None:
        exercise = exercises.find(exercise_id)
        exercise = redrawn(exercise, int(seed)) if seed else exercise
        answer({"id": exercise_id, "attempt": encoded_attempt(attempt(exercise, given))})

    exercises.check = check
    # What lies beside the notebook can be imported, but it shadows nothing of this installation.
    sys.path.append(os.getcwd())
    return InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))


def fingerprint() -> dict[str, Any]:
    """The functions and classes of the watched modules by name, to notice that one was replaced."""
    return {
        f"{module}.{name}": value
        for module in WATCHED
        for name, value in vars(sys.modules.get(module, builtins)).items()
        if callable(value) and name != "_"
    }

"""Runs one handed-in notebook and judges its answers, here, against the checks of this installation."""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import psutil

from course_lib.cli.environment import ROOT
from course_lib.cli.grading import isolation
from course_lib.cli.grading.flags import LONGEST
from course_lib.cli.grading.flags import MOST as MOST_FLAGS
from course_lib.cli.grading.handed_in import HandedIn
from course_lib.cli.grading.isolation import Level
from course_lib.cli.grading.messages import Malformed, decoded_attempt, parsed
from course_lib.cli.grading.student import code_cells
from course_lib.exercises import Exercise, Verdict, catalogue
from course_lib.exercises.checking import Attempt, judge
from course_lib.exercises.redrawn import redrawn

LARGEST = 20e6  # bytes of a notebook
PROCESSES = 64  # that one notebook may have at a time
FREE = 512  # processes and threads that the user may start besides, before starting one fails
TRIES = 5  # attempts judged for each exercise, the last ones: a notebook may check an answer in a loop
BEGIN = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from course_lib.cli.grading.student import main; main(*sys.argv[1:])"
)
_known = cache(catalogue)
_watching: set[subprocess.Popen] = set()


@dataclass(frozen=True)
class Limits:
    """Limits for each notebook."""

    seconds: float
    memory: int  # bytes
    threads: int = 1
    chapter: str = ""  # the only one to grade
    hidden: str = ""  # a folder that it must not see, as far as the system can
    seed: int | None = None  # of the inputs to judge on, instead of those of the notebook's checks


@dataclass
class Graded:
    """What became of a notebook."""

    handed_in: HandedIn
    chapter: str = ""
    status: str = "finished"  # or what ended it
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    raised: dict[str, str] = field(default_factory=dict)  # by exercise, the error of its cell or function
    flags: list[str] = field(default_factory=list)  # lines to read
    skipped: bool = False  # of another chapter than the one to grade

    def state(self, exercise: Exercise) -> str:
        """One exercise's state, as the table shows it."""
        verdict, problem = self.verdicts.get(exercise.id), self.raised.get(exercise.id)
        if problem and (verdict is None or verdict.state == "wrong"):
            return f"error: {problem}"
        if verdict:
            return f"mistake: {verdict.mistake}" if verdict.state == "mistake" else verdict.state
        return "not tried" if self.status.startswith(("finished", "tampered")) else "not reached"


def graded(handed_in: HandedIn, limits: Limits) -> Graded:
    """Run one notebook in separate processes and judge its answers. Costs at most its limits."""
    result = Graded(handed_in)
    if handed_in.path is None:
        result.status = handed_in.instead
    elif handed_in.path.is_symlink():
        result.status = "unreadable: a link, not a file"
    elif handed_in.path.stat().st_size > LARGEST:
        result.status = f"unreadable: larger than {LARGEST / 1e6:.0f} MB"
    else:
        with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as folder:
            copy = Path(folder, "work", "notebook.ipynb")
            copy.parent.mkdir()
            try:
                shutil.copyfile(handed_in.path, copy)
            except OSError as problem:
                if problem.errno in (errno.ENOSPC, errno.EDQUOT):  # not the student's fault
                    raise
                result.status = f"unreadable: {problem.strerror or problem}"
                return result
            for fonts in Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
                shutil.copy(fonts, folder)  # Matplotlib takes seconds to make this list
            read(result, lines(plan(copy, limits)), limits)
    return result


def plan(notebook: Path, limits: Limits) -> dict[str, Any]:
    """What the watching process is told: the command, its folder and environment, and its limits."""
    allowed, own = isolation.level(), str(notebook.parents[1])
    words = [sys.executable, "-I", "-c", BEGIN, str(ROOT), notebook.name, limits.chapter]
    words.append("" if limits.seed is None else str(limits.seed))
    # More than the limit that the watching process looks after: it is the first to see what fills up slowly.
    most = [str(2 * limits.memory), str(process_limit() or "")]
    return {
        "command": [*isolation.before(allowed, own, limits.hidden), *words, *most],
        "folder": str(notebook.parent),
        "environment": isolation.environment("/tmp" if allowed is Level.FILES else own, limits.threads),
        "seconds": limits.seconds,
        "memory": limits.memory,
        "processes": PROCESSES,
    }


def process_limit() -> int | None:
    """How many processes and threads this user may have; None where the system has no such limit."""
    if not hasattr(os, "getuid"):
        return None
    own = [p for p in psutil.process_iter(["uids", "num_threads"]) if p.info["uids"]]
    return FREE + sum(p.info["num_threads"] or 1 for p in own if p.info["uids"].real == os.getuid())


def lines(plan: dict[str, Any]) -> Iterator[bytes]:
    """The lines of the watching process; it ends when this is closed."""
    watch = Path(__file__).with_name("watch.py")
    command = [sys.executable, "-I", str(watch), json.dumps(plan)]
    variables = {name: value for name, value in os.environ.items() if name in ("PATH", "SYSTEMROOT")}
    process = subprocess.Popen(
        command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    _watching.add(process)
    try:
        yield from process.stdout
    finally:
        _watching.discard(process)
        process.stdin.close()
        process.stdout.close()
        process.wait()


def stop() -> None:
    """End all runs, as after an interruption."""
    for process in tuple(_watching):
        process.stdin.close()


def read(result: Graded, received: Iterator[bytes], limits: Limits) -> None:
    """Read the messages of one run, judge the answers in them, and fill in `result`."""
    attempts: dict[str, list[Attempt]] = {}
    finished, problem, ended = False, "", {"reason": "crashed", "code": None, "started": True}
    for line in received:
        if line.startswith(b"E "):
            ended = json.loads(line[2:])
        elif not problem:
            try:
                finished = take(result, attempts, parsed(line[2:])) or finished
            except Malformed as error:
                problem = f"tampered: its process sent what no check sends ({error})"
    for exercise_id, made in attempts.items():
        verdicts = [verdict(private(exercise_id, limits.seed), one) for one in made]
        passed = (one for one in verdicts if one.state == "passed")
        result.verdicts[exercise_id] = next(passed, verdicts[-1])
        if error := next((one.error for one in made[-1].results if one.error), None):
            result.raised[exercise_id] = f"{type(error).__name__}: {error}"
    result.skipped = bool(limits.chapter) and result.chapter != limits.chapter and finished
    result.status = final_status(result, finished, problem, ended)


def take(result: Graded, attempts: dict[str, list[Attempt]], message: dict[str, Any]) -> bool:
    """Take in one message; returns whether it is the last. Raises Malformed."""
    if "id" in message:
        exercise = _known().get(str(message["id"]))
        if exercise is None:
            raise Malformed("an unknown exercise")
        if "raised" in message:
            result.raised[exercise.id] = str(message["raised"])[:300]
        else:
            made = decoded_attempt(message.get("attempt"), len(exercise.inputs))
            attempts[exercise.id] = [*attempts.get(exercise.id, []), made][-TRIES:]
    elif "chapter" in message:
        chapter, known = str(message["chapter"]), {one.partition(".")[0] for one in _known()}
        result.chapter = result.chapter or (chapter if chapter in known else "")
    elif "unreadable" in message:
        result.status = f"unreadable: {message['unreadable']}"
    elif "full" in message:
        result.status = "memory limit"
    elif "flags" in message:
        own = course_lines(result.chapter)
        found = [f"{reason}: {line}" for reason, line in flags_in(message) if line not in own]
        result.flags = [*result.flags, *found][:MOST_FLAGS]  # its own come first: sent before any cell runs
    elif "replaced" in message:
        names = message["replaced"] if isinstance(message["replaced"], list) else ["something"]
        result.status = f"tampered: it replaced {', '.join(map(str, names))}"[:300]
    elif not {"started", "finished"} & set(message):
        raise Malformed("an unknown message")
    return "finished" in message or "unreadable" in message


def flags_in(message: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines to read in a message. Raises Malformed."""
    try:
        return [(str(reason)[:300], str(line)[:300]) for reason, line in message["flags"][:MOST_FLAGS]]
    except (TypeError, ValueError, KeyError):
        raise Malformed("flags of another form") from None


@cache
def course_lines(chapter: str) -> frozenset[str]:
    """The lines of code in the course's own notebook of a chapter, stripped; none if it is not here."""
    paths = (ROOT / "notebooks").glob(f"{chapter or '?'}_*.ipynb")
    lines = "\n".join(cell for path in paths for cell in code_cells(path)).splitlines()
    return frozenset(line.strip()[:LONGEST] for line in lines)


@cache
def private(exercise_id: str, seed: int | None) -> Exercise:
    """The exercise with the inputs of a seed, or those of its check."""
    exercise = _known()[exercise_id]
    return exercise if seed is None else redrawn(exercise, seed)


def final_status(result: Graded, finished: bool, problem: str, ended: dict[str, Any]) -> str:
    """How a run ended, in words."""
    if ended["reason"]:
        return ended["reason"]
    if problem:
        return problem
    if not finished:
        return f"crashed (exit code {ended['code']})" if ended["started"] else "did not start"
    if result.status == "finished" and not result.chapter:
        return "no exercises"
    return result.status


def verdict(exercise: Exercise, made: Attempt) -> Verdict:
    """The verdict on one attempt. Values that were made to break the comparison are wrong."""
    try:
        return judge(exercise, made)
    except Exception as error:  # whatever a hostile value does to the comparison is this notebook's own loss
        return Verdict("wrong", f"{exercise.id}: cannot be compared ({type(error).__name__}).")

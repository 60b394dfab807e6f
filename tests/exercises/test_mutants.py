"""Each exercise refuses the mutants of its solution, except those that are listed with a reason."""

import csv
import io
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import pytest
from helpers.solutions import NOTEBOOKS, asked, room_of
from mutation.answers import key, listed, mutants

from course_lib.exercises import Exercise, catalogue
from course_lib.exercises.checking import attempt
from course_lib.exercises.comparing import alike, call, calls

EXERCISES = catalogue()
ASKED = {name: notebook for notebook in NOTEBOOKS for name, _, _ in asked(notebook)}
SECONDS = 2  # of computing: a mutant may loop forever


class TooSlow(BaseException):
    """A mutant does not come to an end."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


expected = cache(calls)  # of the reference


def accepted(exercise: Exercise, answer: object) -> bool:
    """What `grade` says, without a search for the mistake, and no further than the first wrong result."""
    right = expected(exercise, exercise.reference)
    if not callable(answer):
        made = attempt(exercise, answer)
        return made.state == "tried" and alike(made.results[0], right[0], exercise.tolerance)
    results = (call(answer, arguments, exercise.run) for arguments in exercise.inputs)
    pairs = zip(results, right, strict=True)
    return all(alike(mine, its, exercise.tolerance) and not mine.changed for mine, its in pairs)


def survives(exercise: Exercise, source: str, answer: str, room: dict) -> bool:
    room = dict(room)
    try:
        with limit(SECONDS), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            exec(source, room)
            return accepted(exercise, eval(answer, room))
    except (Exception, TooSlow):
        return False


@cache
def surviving(notebook: Path) -> dict[str, list[tuple[str, ...]]]:
    """Per exercise of a notebook, the mutants of its solution that pass."""
    found: dict[str, list[tuple[str, ...]]] = {}
    with room_of(notebook) as room:
        for name, answer, solution in asked(notebook):
            found[name] = [
                key(fault)
                for fault in mutants(solution, name)
                if survives(EXERCISES[name], fault.source, answer, room)
            ]
            exec(solution, room)  # later solutions may call it
    return found


def as_table(rows: list[tuple[str, ...]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer signals")
@pytest.mark.parametrize("notebook", sorted(set(ASKED.values())), ids=lambda path: path.stem)
def test_no_mutant_of_a_solution_passes(notebook: Path) -> None:
    passing = [one for several in surviving(notebook).values() for one in several]
    new = [one for one in passing if one not in listed()]
    assert not new, f"accepted though changed (needs an input, or a row in survivors.csv):\n{as_table(new)}"
    here = {name for name, place in ASKED.items() if place == notebook}
    gone = [one for one, why in listed().items() if one[0] in here and one not in passing and why != "open"]
    assert not gone, f"rows of survivors.csv that no longer survive:\n{as_table(gone)}"


def test_every_survivor_has_an_exercise_and_a_reason() -> None:
    assert all(name in EXERCISES and reason for (name, *_), reason in listed().items())


def test_the_last_line_of_defense_notices_a_wrong_and_a_missing_mutant() -> None:
    exercise, room = EXERCISES["00.reach"], {}
    assert survives(exercise, "f = lambda w, k: w ** k", "f", room)
    assert not survives(exercise, "f = lambda w, k: w * k", "f", room)
    assert not survives(exercise, "f = lambda w, k: [0 for _ in iter(int, 1)]", "f", room)

"""Exercises with checks that name the mistake: `check("01.temperature", my_function)`."""

import importlib
import pkgutil
import re
from typing import Any

from course_lib.exercises.checking import Verdict, judge
from course_lib.exercises.exercise import Exercise, Mistake
from course_lib.exercises.record import page, remember

__all__ = ["Exercise", "Mistake", "Verdict", "catalogue", "check", "judge", "progress"]


def check(exercise_id: str, answer: Any) -> None:
    """Print what became of an answer: passed, not tried yet, or what is wrong with it and why.

    A passed exercise is remembered, for `progress`.

    answer: the learner's function, or the value where the exercise asks for one.
    Raises ValueError for an exercise that does not exist.
    """
    number = exercise_id.partition(".")[0]
    exercises = _of_chapter(f"ch{number}") if f"ch{number}" in _chapters() else catalogue()
    if exercise_id not in exercises:
        raise ValueError(f"there is no exercise {exercise_id!r}; there are {', '.join(exercises)}")
    verdict = judge(exercises[exercise_id], answer)
    print(verdict.text)
    if verdict.state == "passed":
        remember(exercise_id)


def progress() -> None:
    """Print which exercises are passed, chapter by chapter, and where this is remembered (see `record`)."""
    print(page(catalogue()))


def catalogue() -> dict[str, Exercise]:
    """All exercises by their id, in the order of the chapters."""
    return {key: exercise for chapter in _chapters() for key, exercise in _of_chapter(chapter).items()}


def _chapters() -> list[str]:
    """The modules of the chapters, such as `ch01`."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name for name in names if re.fullmatch(r"ch\d\d[a-z]?", name))


def _of_chapter(chapter: str) -> dict[str, Exercise]:
    module = importlib.import_module(f"{__name__}.{chapter}")
    return {exercise.id: exercise for exercise in module.EXERCISES}

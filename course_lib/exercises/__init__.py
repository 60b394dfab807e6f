"""Exercises whose checks name the mistake: `check("01.temperature", my_function)`."""

import inspect
import linecache
import math
import re
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import nn

from course_lib.exercises.checking import Verdict, grade
from course_lib.exercises.exercise import Exercise, Mistake
from course_lib.exercises.questions import conclude, my_prediction, quiz, recall
from course_lib.exercises.table import read_exercises
from course_lib.utils import progress as saved
from course_lib.utils.device import on_colab

__all__ = [
    "Exercise",
    "Mistake",
    "Verdict",
    "answer_or_reference",
    "catalogue",
    "check",
    "conclude",
    "find",
    "grade",
    "my_pieces",
    "my_prediction",
    "progress",
    "quiz",
    "recall",
]

CHAPTERS = Path(__file__).parents[1] / "chapters"
ENDING = "_exercises.md"
AT_HAND = {"torch": torch, "nn": nn, "F": nn.functional, "math": math}


def check(exercise_id: str, answer: Any) -> None:
    """Grade an answer and print the verdict: passed, not tried yet, or what is wrong and why.

    A passed exercise is saved for `progress`, with the answer.

    answer: the student's function, or a value if the exercise asks for one.
    Raises ValueError for an unknown exercise id.
    """
    verdict = grade(find(exercise_id), answer)
    print(verdict.text)
    if verdict.state == "passed":
        saved.remember(exercise_id, answer=source(answer))


def find(exercise_id: str) -> Exercise:
    """The exercise with this id. Raises ValueError, naming those of its chapter, if there is none."""
    chapter = exercise_id.partition(".")[0].lower()
    there = [number for number in chapters() if number.lower() == chapter]
    exercises = of_chapter(*there) if there else catalogue()
    if exercise_id not in exercises:
        raise ValueError(f"no exercise {exercise_id!r}; choose one of {', '.join(exercises)}")
    return exercises[exercise_id]


def answer_or_reference(exercise_id: str, answer: Any) -> Any:
    """The answer if it passes, otherwise the reference, so that a notebook can continue with either.

    Raises ValueError for an unknown exercise id.
    """
    exercise = find(exercise_id)
    return answer if grade(exercise, answer).state == "passed" else exercise.reference


def my_pieces(*exercise_ids: str) -> tuple[Callable[..., Any], ...]:
    """The functions that you wrote for these exercises, in any notebook; the references for the others.

    A saved answer is checked again: one that is passed ends, and takes its arguments in the given order.
    Prints a line for each: whose it is, and why if it is not yours.
    Raises ValueError for an unknown exercise id, and for an exercise whose answer is a value.

    >>> (softmax,) = my_pieces("01.softmax")
    ≈ 01.softmax: ours, because yours is not passed yet
    """
    exercises = [find(one) for one in exercise_ids]
    for exercise in exercises:
        if exercise.inputs == ((),):
            raise ValueError(f"{exercise.id} asks for a value; my_pieces returns functions")
    return tuple(map(_piece, exercises))


def _piece(exercise: Exercise) -> Callable[..., Any]:
    """The saved answer if it passes, otherwise the reference."""
    found = saved.entries().get(exercise.id, {"state": "", "answer": ""})
    if found["state"] != "passed":
        why = "yours is not passed yet"
    elif not found["answer"].strip():
        why = "only the result of yours is saved, not the code: run its check again"
    else:
        try:
            answer = function_in(found["answer"], exercise.id)
        except ValueError as error:
            why = f"the saved code of yours does not run: {error}"
        else:
            verdict = grade(exercise, answer)
            if verdict.state == "passed":
                print(f"≈ {exercise.id}: yours")
                return answer
            reason = verdict.mistake or " ".join(verdict.text.splitlines()[1:]) or "it is not finished"
            why = f"the saved code of yours fails: {reason}"
    print("≈", textwrap.shorten(f"{exercise.id}: ours, because {why}", 200, placeholder=" …"))
    return exercise.reference


def function_in(source: str, name: str) -> Callable[..., Any]:
    """The function that a saved answer defines; PyTorch as `torch`, `nn` and `F`, and `math` are at hand.

    name: what errors call the place of the code; they show its lines.
    Raises ValueError for text that is not Python, that fails, or that defines no function.

    >>> function_in("def double(x):\\n    return 2 * x", "01.double")(21)
    42
    """
    place, names = f"<answer to {name}>", dict(AT_HAND)
    linecache.cache[place] = len(source), None, source.splitlines(keepends=True), place
    try:
        exec(compile(source, place, "exec", dont_inherit=True), names)
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None
    found = [one for key, one in names.items() if callable(one) and key not in AT_HAND]
    if not found:
        raise ValueError("it defines no function")
    return found[-1]


def source(answer: Any) -> str:
    """An answer as text: the code of a function, where Python still has it, or a value."""
    if not callable(answer):
        return repr(answer)
    try:
        return textwrap.dedent(inspect.getsource(answer))
    except (OSError, TypeError):
        return ""


def progress(export: str | None = None, load: str | None = None, show: str | None = None) -> None:
    """Print the passed exercises, chapter by chapter, and where the progress is saved.

    export: instead, write all progress and answers to this file, or add them to it, to take them to another
        computer; on Colab, the browser downloads it.
    load: first, add the progress in a file that was exported elsewhere.
    show: instead, print the answer with which an exercise was passed, such as "01.softmax", or all that is
        saved of a chapter, such as "01".
    Raises ValueError, of which a notebook shows one line, for what is no file or no exercise, for a file that
    holds no progress, and where nothing is saved.
    """
    if show is not None:
        return print(answers(re.sub(r"^(\d)(?!\d)", r"0\1", str(show))))  # 1 and "1b" mean 01 and 01b
    if export is not None:
        file, count = saved.export(export)
        print(f"Your progress is in {file} (entries: {count}).")
        print(f'On the other computer: progress(load="{file.name}")')
        return download(str(file)) if on_colab() else None
    if load is not None:
        print(f"{saved.load(load)} entries read from {load}")
    print(saved.summary(catalogue()))


def answers(which: str) -> str:
    """The saved answer to an exercise, or all that is saved of a chapter.

    Raises ProgressError if nothing is.
    """
    found = saved.entries()
    if which in found:
        return found[which]["answer"].rstrip() or "Only the result is saved, not the answer."
    keys = sorted(key for key in found if key.startswith(f"{which}."))
    if keys:
        return "\n\n".join(f"{key} ({found[key]['state']})\n{answers(key)}" for key in keys)
    if which in chapters() or re.search(r"\.(\d|prediction|conclusion)$", which):
        raise saved.ProgressError(f"show: nothing is saved of {which} yet")
    if which in catalogue():
        raise saved.ProgressError(f"show: {which} is not passed yet, so no answer is saved")
    raise saved.ProgressError(
        f'show: {which!r} is no chapter, such as "01", and no exercise, such as "01.softmax"'
    )


def download(path: str) -> None:
    """Have the browser download a file from Colab's machine."""
    from google.colab import files

    files.download(path)


def catalogue() -> dict[str, Exercise]:
    """All exercises by id, in chapter order."""
    return {key: exercise for chapter in chapters() for key, exercise in of_chapter(chapter).items()}


def chapters() -> list[str]:
    """The chapters that have exercises, such as `06b`."""
    return sorted(file.name.removesuffix(ENDING) for file in CHAPTERS.glob(f"ch*/*{ENDING}"))


def file_of(chapter: str) -> Path:
    """The file with the exercises of a chapter. Raises FileNotFoundError if it has none."""
    found = list(CHAPTERS.glob(f"ch*/{chapter}{ENDING}"))
    if len(found) != 1:
        raise FileNotFoundError(f"no file {chapter}{ENDING} in a folder of {CHAPTERS}")
    return found[0]


@cache
def of_chapter(chapter: str) -> dict[str, Exercise]:
    """The exercises of a chapter, by id."""
    return {exercise.id: exercise for exercise in read_exercises(file_of(chapter))}

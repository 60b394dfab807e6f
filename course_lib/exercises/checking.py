"""Grading of an answer: passed, not tried yet, a known mistake, or else the smallest counterexample."""

import dis
import inspect
import linecache
import math
import numbers
import sys
import textwrap
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from torch import Tensor

from course_lib.exercises.comparing import NOT_TRIED, CallResult, alike, call, calls, describe, difference
from course_lib.exercises.exercise import Exercise, Mistake, value
from course_lib.exercises.hints import part, pattern, place, sizes
from course_lib.exercises.repairing import repaired

WIDTH = 88
STUB = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}  # all that a body of `...` compiles to


@dataclass(frozen=True)
class Verdict:
    """Verdict on an answer.

    state: the result. text: the message for the student. mistake: the name of the known mistake, if any.
    """

    state: Literal["passed", "not tried", "mistake", "wrong"]
    text: str
    mistake: str | None = None


@dataclass(frozen=True, eq=False)
class Attempt:
    """What an answer did when it was called on the inputs of its exercise.

    results: one per input. state: "not a function" if the exercise asks for one and got a value.
    """

    state: Literal["tried", "not tried", "not a function"]
    results: tuple[CallResult, ...] = ()


def grade(exercise: Exercise, answer: Any) -> Verdict:
    """Grade an answer: compare it with the reference of its exercise and with each known mistake."""
    return judge(exercise, attempt(exercise, answer), answer)


def attempt(exercise: Exercise, answer: Any) -> Attempt:
    """Call an answer on all inputs of its exercise. Needs neither the reference nor the mistakes."""
    if answer is ... or answer is None:
        return Attempt("not tried")
    if not callable(answer):
        if exercise.inputs != ((),):
            return Attempt("not a function")
        answer = value(answer)
    results = tuple(calls(exercise, answer))
    return Attempt("not tried" if _is_stub(answer, results[0]) else "tried", results)


def judge(exercise: Exercise, made: Attempt, answer: Any = None) -> Verdict:
    """Compare an attempt with the reference and with each known mistake, without calling the answer.

    answer: the student's function, if it is in this process; its source line is shown with an error.
    """
    if made.state == "not tried":
        return _not_tried(exercise)
    if made.state == "not a function":
        return _wrong(
            exercise,
            f"This exercise asks for a function. Pass it by name: check({exercise.id!r}, my_function).",
        )
    results, expected = made.results, _expected(exercise, exercise.reference)
    agrees = [alike(mine, right, exercise.tolerance) for mine, right in zip(results, expected, strict=True)]
    if not all(agrees):
        if mistake := recognize(exercise, results):
            return _mistaken(exercise, mistake)
        first = agrees.index(False)
        hint = _hint(exercise, results, expected, answer, first)
        return _counterexample(exercise, first, results[first], expected[first], answer, hint)
    if any(result.changed for result in results):
        return _wrong(
            exercise,
            "The numbers are right, but your function changes its arguments in place (as +=, exp_() and "
            "append do), which overwrites the caller's data. Create a new tensor or list instead.",
        )
    count = len(results)
    text = f"{exercise.id}: passed" + (f" ({count} inputs)." if count > 1 else ".")
    return Verdict("passed", f"{text}\n{_fill(exercise.now)}" if exercise.now else text)


def recognize(exercise: Exercise, results: Sequence[CallResult]) -> Mistake | None:
    """The known mistake that gives the same results on every input, if there is one."""
    for mistake in exercise.mistakes:
        for wrong in mistake.wrong:
            pairs = zip(results, _expected(exercise, wrong), strict=True)
            if all(alike(mine, theirs, exercise.tolerance) for mine, theirs in pairs):
                return mistake
    return None


_expected = cache(calls)  # of the reference or a known mistake: once, however many answers are graded


def _is_stub(answer: Callable, result: CallResult) -> bool:
    """Whether the answer still has the `...` of the stub."""
    if result.error:
        return _hits_ellipsis(result.error)
    if result.value is ...:
        return True
    code = getattr(answer, "__code__", None)
    return (
        result.value is None
        and code is not None
        and {step.opname for step in dis.get_instructions(code)} <= STUB
    )


def _hits_ellipsis(error: Exception) -> bool:
    """Whether the error comes from computing with a `...` that was left in the code."""
    return isinstance(error, TypeError | AttributeError) and "ellipsis" in str(error)


def _hint(
    exercise: Exercise, results: Sequence[CallResult], expected: list[CallResult], answer: Any, first: int
) -> str | None:
    """What can be said about an unknown wrong answer that is wrong for the first time on this input."""
    error, tolerance = results[first].error, exercise.tolerance
    if exercise.inputs == ((),) or results[first].value is None and not error:
        return None
    if " ^: " in str(error):
        return "In Python, a power is written **; ^ is the exclusive or of whole numbers."
    if isinstance(error, NameError) and error.name in sys.stdlib_module_names:
        return f"`{error.name}` is a module of Python: add `import {error.name}`."
    pairs = [(mine.value, right.value) for mine, right in zip(results, expected, strict=True)]
    raised = any(one.error for one in (*results, *expected))
    if not raised and (found := pattern(pairs, tolerance)):
        return found
    change = repaired(exercise, answer, expected, first)
    if error:
        works = first and not _hits_ellipsis(error)
        said = "It works on the inputs before this one: does it depend on a size or a number of axes?"
        return change or (said if works else None)
    vague = part(pairs, tolerance)
    if vague or change:
        return " ".join(filter(None, (vague, change)))
    return place(pairs, tolerance) or _noticed(exercise, answer, first) or sizes(exercise, pairs)


def _noticed(exercise: Exercise, answer: Any, number: int) -> str | None:
    """What can be said about an answer that is wrong on this input, without comparing its results."""
    if not hasattr(answer, "__code__"):
        return None
    arguments = exercise.inputs[number]
    once, again = (call(answer, arguments, exercise.run) for _ in range(2))
    right = call(exercise.reference, arguments, exercise.run).value
    of_type = getattr(once.value, "dtype", None) == getattr(right, "dtype", None)
    plain = isinstance(once.value, Tensor | numbers.Real | list | tuple)
    if plain and of_type and not alike(once, again, exercise.tolerance):
        return (
            "Called twice with the same arguments, your function gives two answers: it draws random numbers, "
            "or it keeps something from call to call (as a list in `def f(found=[])` does)."
        )
    names = [name for name in _parameters(exercise.reference) if name in _used(exercise.reference)]
    unused = [name for name in names if name in _parameters(answer) and name not in _used(answer)]
    return f"Your function never uses `{'` and `'.join(unused)}`." if unused else None


def _parameters(function: Callable) -> tuple[str, ...]:
    code = getattr(function, "__code__", None)
    return code.co_varnames[: code.co_argcount] if code else ()


def _used(function: Callable) -> set[str]:
    """Variables that a function, or one inside it, loads."""
    found: set[str] = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        for step in dis.get_instructions(code):
            if step.opname.startswith(("LOAD_DEREF", "LOAD_CLOSURE")) or "LOAD_FAST" in step.opname:
                found.update([step.argval] if isinstance(step.argval, str) else step.argval)
        codes += [one for one in code.co_consts if hasattr(one, "co_code")]
    return found


def _counterexample(
    exercise: Exercise, number: int, mine: CallResult, right: CallResult, answer: Any, hint: str | None
) -> Verdict:
    if mine.error:
        found = _explain(mine.error, answer)
    elif exercise.inputs == ((),):
        return _wrong(exercise, _about_value(mine.value, right.value))
    else:
        found = difference(mine.value, right.value, exercise.tolerance)
    names = inspect.signature(exercise.reference).parameters
    arguments = zip(names, exercise.inputs[number], strict=False)  # the reference may have extra defaults
    shown = ", ".join(f"{name} = {describe(argument)}" for name, argument in arguments)
    found = f"{found}\n{hint}" if hint else found
    return _wrong(exercise, f"With {shown}:\n{found}" if shown else found)


def _about_value(mine: Any, right: Any) -> str:
    """What is wrong with an answer that is a value. The right one is not shown: it is the solution."""
    if isinstance(right, int | float) and not isinstance(mine, numbers.Real | Tensor):
        return f"{describe(mine)} is of type {type(mine).__name__}. The answer is a number."
    if isinstance(right, int | float) and _is_nearly(float(mine), float(right)):
        return f"{describe(mine)} is close. Give the exact number, neither a measured nor a rounded one."
    return f"{describe(mine)} is not right. Check your reasoning and try again."


def _is_nearly(mine: float, right: float) -> bool:
    """Whether it is a fraction within 2% of a whole number, or another number rounded."""
    if right.is_integer():
        return not mine.is_integer() and math.isclose(mine, right, rel_tol=0.02)
    return mine in [round(right, digits) for digits in range(4)]


def _explain(error: Exception, answer: Any) -> str:
    """The error in a sentence, with the line of the student's code that raised it."""
    if _hits_ellipsis(error):
        return NOT_TRIED
    message = (str(error).strip() or "no message").splitlines()[0]
    source = getattr(getattr(answer, "__code__", None), "co_filename", None)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == source]
    line = linecache.getline(source, lines[-1]).strip() if lines else ""
    return f"Your function raised {type(error).__name__}: {message}" + (
        f"\non this line: {line}" if line else ""
    )


def _not_tried(exercise: Exercise) -> Verdict:
    text = f"{exercise.id}: not tried yet. Replace the ... with your answer."
    effort = f" About {exercise.minutes} minutes, difficulty {exercise.difficulty} of 3."
    return Verdict("not tried", text + effort if exercise.minutes else text)


def _mistaken(exercise: Exercise, mistake: Mistake) -> Verdict:
    text = _fill(f"Not yet ({exercise.id}): {mistake.name}.\n{mistake.why}")
    return Verdict("mistake", text, mistake.name)


def _wrong(exercise: Exercise, found: str) -> Verdict:
    return Verdict("wrong", _fill(f"Not yet ({exercise.id}).\n{found}"))


def _fill(text: str) -> str:
    wrapper = textwrap.TextWrapper(WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(wrapper.fill(line) for line in text.splitlines())

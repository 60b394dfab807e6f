"""Judge an answer: passed, not tried yet, a mistake known by its name, or the smallest counterexample."""

import dis
import inspect
import linecache
import textwrap
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from course_lib.exercises.comparing import Outcome, alike, call, describe, difference
from course_lib.exercises.exercise import Answer, Exercise, Mistake, value

WIDTH = 88
STUB = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}  # all that a body of `...` compiles to


@dataclass(frozen=True)
class Verdict:
    """state: what became of the answer. text: what the learner reads. mistake: its name where it is known."""

    state: Literal["passed", "not tried", "mistake", "wrong"]
    text: str
    mistake: str | None = None


def judge(exercise: Exercise, answer: Any) -> Verdict:
    """Compare an answer with the reference of its exercise and with each known mistake."""
    if answer is ... or answer is None:
        return _not_tried(exercise)
    if not callable(answer):
        if exercise.inputs != ((),):
            return _wrong(
                exercise, f"Hand over the function itself, as in check({exercise.id!r}, my_function)."
            )
        answer = value(answer)
    outcomes = [call(answer, arguments) for arguments in exercise.inputs]
    if _is_stub(answer, outcomes[0]):
        return _not_tried(exercise)
    expected = _expected(exercise, exercise.reference)
    agrees = [alike(mine, right, exercise.tolerance) for mine, right in zip(outcomes, expected, strict=True)]
    if not all(agrees):
        if mistake := recognise(exercise, outcomes):
            return _mistaken(exercise, mistake)
        first = agrees.index(False)
        return _counterexample(exercise, first, outcomes[first], expected[first], answer)
    if any(outcome.changed for outcome in outcomes):
        return _wrong(
            exercise,
            "The numbers are right, but your function changes its arguments in place (as +=, exp_() and "
            "append do): what the caller has is spoilt.",
        )
    count = len(outcomes)
    return Verdict("passed", f"{exercise.id}: passed" + (f" ({count} inputs)." if count > 1 else "."))


def recognise(exercise: Exercise, outcomes: list[Outcome]) -> Mistake | None:
    """The known mistake that comes to the same outcome on every input."""
    for mistake in exercise.mistakes:
        for wrong in mistake.wrong:
            pairs = zip(outcomes, _expected(exercise, wrong), strict=True)
            if all(alike(mine, theirs, exercise.tolerance) for mine, theirs in pairs):
                return mistake
    return None


def _expected(exercise: Exercise, function: Answer) -> list[Outcome]:
    return [call(function, arguments) for arguments in exercise.inputs]


def _is_stub(answer: Callable, outcome: Outcome) -> bool:
    """Whether a `...` of the stub still stands where the answer should."""
    if outcome.error:
        return isinstance(outcome.error, TypeError) and "ellipsis" in str(outcome.error)
    if outcome.value is ...:
        return True
    code = getattr(answer, "__code__", None)
    return (
        outcome.value is None
        and code is not None
        and {step.opname for step in dis.get_instructions(code)} <= STUB
    )


def _counterexample(
    exercise: Exercise, number: int, mine: Outcome, right: Outcome, answer: Answer
) -> Verdict:
    if mine.error:
        found = _explain(mine.error, answer)
    elif exercise.inputs == ((),):
        return _wrong(
            exercise, f"{describe(mine.value)} is not right."
        )  # the answer itself is not given away
    else:
        found = difference(mine.value, right.value, exercise.tolerance)
    names = inspect.signature(exercise.reference).parameters
    arguments = zip(names, exercise.inputs[number], strict=False)  # a reference may have defaults
    shown = ", ".join(f"{name} = {describe(argument)}" for name, argument in arguments)
    return _wrong(exercise, f"With {shown}:\n{found}" if shown else found)


def _explain(error: Exception, answer: Answer) -> str:
    """The error in a sentence, with the learner's own line."""
    message = (str(error).strip() or "no message").splitlines()[0]
    source = getattr(getattr(answer, "__code__", None), "co_filename", None)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == source]
    line = linecache.getline(source, lines[-1]).strip() if lines else ""
    return f"Your function raised {type(error).__name__}: {message}" + (
        f"\nin the line: {line}" if line else ""
    )


def _not_tried(exercise: Exercise) -> Verdict:
    return Verdict("not tried", f"{exercise.id}: not tried yet. Put your own code where the ... stands.")


def _mistaken(exercise: Exercise, mistake: Mistake) -> Verdict:
    text = _fill(f"{exercise.id}: not yet. It {mistake.name}.\n{mistake.why}")
    return Verdict("mistake", text, mistake.name)


def _wrong(exercise: Exercise, found: str) -> Verdict:
    return Verdict("wrong", _fill(f"{exercise.id}: not yet.\n{found}"))


def _fill(text: str) -> str:
    return "\n".join(textwrap.fill(line, WIDTH, break_long_words=False) for line in text.splitlines())

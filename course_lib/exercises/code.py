"""What the code of an answer shows: a parameter that it never uses, and whether it always answers alike."""

import dis
import numbers
from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_lib.exercises.comparing import alike, call
from course_lib.exercises.exercise import Exercise


def noticed(exercise: Exercise, answer: Any, number: int) -> str | None:
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

"""Comparison of two results, with the first difference described in a sentence."""

import copy
import math
import numbers
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Arguments

SMALL = 16  # tensors with at most this many numbers are printed in full
CUT_OFF = (
    "The numbers are right, but no gradient can flow back: was the answer detached, or made with .item()?"
)
SHORT = 80  # lists of lists of at most so many characters are printed in full
NOT_TRIED = "This part is not tried yet. Replace the `...` with your own code."


@dataclass(frozen=True, eq=False)
class CallResult:
    """Result of one call: a value or an error, and whether the call changed its arguments in place."""

    value: Any = None
    error: Exception | None = None
    changed: bool = False


def call(function: Answer, arguments: Arguments) -> CallResult:
    """Call the function with a deep copy of the arguments, and catch any exception."""
    own = copy.deepcopy(arguments)
    try:
        value = function(*own)
    except Exception as error:
        return CallResult(error=error)
    return CallResult(value, changed=_changed(own, arguments))


def _changed(mine: Any, before: Any) -> bool:
    """Whether a tensor, or a list or any of its items, was modified in place."""
    if isinstance(before, list | tuple):
        pairs = zip(mine, before, strict=False)
        return len(mine) != len(before) or any(_changed(a, b) for a, b in pairs)
    return isinstance(before, Tensor | int | float | str) and difference(mine, before, 0.0) is not None


def alike(a: CallResult, b: CallResult, tolerance: float) -> bool:
    """Whether both calls returned the same value, or raised the same type of error."""
    if a.error or b.error:
        return type(a.error) is type(b.error)
    return difference(a.value, b.value, tolerance) is None


def difference(got: Any, expected: Any, tolerance: float) -> str | None:
    """The first difference between `got` and `expected`, as a sentence; None if there is none.

    A tensor that can be differentiated differs from the same numbers without a gradient.
    """
    if got is ...:
        return NOT_TRIED
    if isinstance(expected, Tensor):
        return _tensor_difference(got, expected, tolerance)
    if isinstance(expected, tuple | list):
        return _parts_difference(got, expected, tolerance)
    if isinstance(expected, numbers.Real) and not isinstance(expected, bool):
        return _number_difference(got, float(expected), tolerance)
    if type(got) is type(expected) and got == expected:
        return None
    return f"Your answer is {describe(got)}; expected {describe(expected)}."


def describe(value: Any) -> str:
    """One-line description of a value: numbers to four digits, large tensors by their shape."""
    if isinstance(value, Tensor):
        small = value.numel() <= SMALL
        return describe(value.tolist()) if small else f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, tuple | list):
        inner = ", ".join(describe(part) for part in value)
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{value:.4g}"
    if isinstance(value, str | int | None):
        return repr(value)
    return getattr(value, "__name__", f"an object of type {type(value).__name__}")


def _tensor_difference(got: Any, expected: Tensor, tolerance: float) -> str | None:
    cut_off = expected.requires_grad and not getattr(got, "requires_grad", False)
    if expected.ndim == 0 and isinstance(got, numbers.Real):
        got = torch.tensor(got)
    if not isinstance(got, Tensor):
        return _wrong_type(got, "a tensor")
    got, expected = got.detach().cpu(), expected.detach().cpu()
    if got.shape != expected.shape:
        return f"Your answer has shape {tuple(got.shape)}; expected {tuple(expected.shape)}."
    if (got.dtype == torch.bool) != (expected.dtype == torch.bool):
        return f"Your answer has dtype {got.dtype}; expected {expected.dtype}."
    if (got.isnan() & ~expected.isnan()).any():
        return f"Your answer contains NaN (0/0 or inf/inf?): {describe(got)}; expected {describe(expected)}."
    near = torch.isclose(got.double(), expected.double(), rtol=tolerance, atol=tolerance, equal_nan=True)
    if not near.all():
        return _where(got, expected, near)
    return CUT_OFF if cut_off else None


def _where(got: Tensor, expected: Tensor, near: Tensor) -> str:
    if got.numel() <= SMALL:
        return f"Your answer is {describe(got)}; expected {describe(expected)}."
    place = tuple((~near).nonzero()[0].tolist())
    return f"At {list(place)}, your answer is {describe(got[place])}; expected {describe(expected[place])}."


def _parts_difference(got: Any, expected: tuple | list, tolerance: float) -> str | None:
    if isinstance(got, range) or isinstance(got, Tensor) and got.ndim:
        got = list(got)  # accepted like a list of the same numbers
    if not isinstance(got, tuple | list):
        return _wrong_type(got, f"{len(expected)} values")
    if len(got) != len(expected):
        return f"Your answer has length {len(got)}; expected {len(expected)}."
    for number, (mine, right) in enumerate(zip(got, expected, strict=True), start=1):
        if found := difference(mine, right, tolerance):
            if found.startswith("Value ") and len(describe(right)) <= SHORT:  # a pair in a list, for example
                found = f"Your answer is {describe(mine)}; expected {describe(right)}."
            return f"Value {number} of {len(expected)}: {found}"
    return None


def _number_difference(got: Any, expected: float, tolerance: float) -> str | None:
    if isinstance(got, Tensor) and got.numel() == 1:
        got = got.item()
    if not isinstance(got, numbers.Real):
        return _wrong_type(got, "a number")
    if (
        math.isclose(got, expected, rel_tol=tolerance, abs_tol=tolerance)
        or math.isnan(got)
        and math.isnan(expected)
    ):
        return None
    return f"Your answer is {describe(float(got))}; expected {describe(expected)}."


def _wrong_type(got: Any, expected: str) -> str:
    if got is None:
        return f"Your function returns None; expected {expected}. Is a `return` missing?"
    return f"Your answer has type {type(got).__name__}; expected {expected}."

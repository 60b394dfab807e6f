"""Compare what two functions return, and say in words where they differ."""

import copy
import math
import numbers
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Arguments

SMALL = 16  # a tensor of at most so many numbers is printed whole


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one call came to: a value or an error, and whether the call changed its arguments."""

    value: Any = None
    error: Exception | None = None
    changed: bool = False


def call(function: Answer, arguments: Arguments) -> Outcome:
    """Call the function on a copy of the arguments."""
    own = copy.deepcopy(arguments)
    try:
        value = function(*own)
    except Exception as error:
        return Outcome(error=error)
    return Outcome(value, changed=_changed(own, arguments))


def _changed(mine: Any, before: Any) -> bool:
    """Whether a tensor, or a list and what it holds, is no longer what it was."""
    if isinstance(before, list | tuple):
        pairs = zip(mine, before, strict=False)
        return len(mine) != len(before) or any(_changed(a, b) for a, b in pairs)
    return isinstance(before, Tensor | int | float | str) and difference(mine, before, 0.0) is not None


def alike(a: Outcome, b: Outcome, tolerance: float) -> bool:
    """Whether both calls came to the same value, or to an error of the same kind."""
    if a.error or b.error:
        return type(a.error) is type(b.error)
    return difference(a.value, b.value, tolerance) is None


def difference(got: Any, expected: Any, tolerance: float) -> str | None:
    """What distinguishes `got` from `expected`, as a sentence; None where nothing does."""
    if isinstance(expected, Tensor):
        return _tensor_difference(got, expected, tolerance)
    if isinstance(expected, tuple | list):
        return _parts_difference(got, expected, tolerance)
    if isinstance(expected, numbers.Real) and not isinstance(expected, bool):
        return _number_difference(got, float(expected), tolerance)
    if type(got) is type(expected) and got == expected:
        return None
    return f"Your answer is {describe(got)}, expected {describe(expected)}."


def describe(value: Any) -> str:
    """The value in a line: numbers to four digits, large tensors by their shape."""
    if isinstance(value, Tensor):
        small = value.numel() <= SMALL
        return describe(value.tolist()) if small else f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, tuple | list):
        inner = ", ".join(describe(part) for part in value)
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{value:.4g}"
    return repr(value) if isinstance(value, str | int | None) else f"of type {type(value).__name__}"


def _tensor_difference(got: Any, expected: Tensor, tolerance: float) -> str | None:
    if expected.ndim == 0 and isinstance(got, numbers.Real):
        got = torch.tensor(got)
    if not isinstance(got, Tensor):
        return _wrong_type(got, "a tensor")
    got, expected = got.detach().cpu(), expected.detach().cpu()
    if got.shape != expected.shape:
        return f"Your answer has the shape {tuple(got.shape)}, expected {tuple(expected.shape)}."
    if (got.dtype == torch.bool) != (expected.dtype == torch.bool):
        return f"Your answer holds {got.dtype}, expected {expected.dtype}."
    if (got.isnan() & ~expected.isnan()).any():
        return (
            f"Your answer holds NaN, as from 0/0 or inf/inf: {describe(got)}, expected {describe(expected)}."
        )
    near = torch.isclose(got.double(), expected.double(), rtol=tolerance, atol=tolerance, equal_nan=True)
    return None if near.all() else _where(got, expected, near)


def _where(got: Tensor, expected: Tensor, near: Tensor) -> str:
    if got.numel() <= SMALL:
        return f"Your answer is {describe(got)}, expected {describe(expected)}."
    place = tuple((~near).nonzero()[0].tolist())
    return f"At {list(place)} your answer is {describe(got[place])}, expected {describe(expected[place])}."


def _parts_difference(got: Any, expected: tuple | list, tolerance: float) -> str | None:
    if isinstance(got, range) or isinstance(got, Tensor) and got.ndim:
        got = list(got)  # as good as a list of the same numbers
    if not isinstance(got, tuple | list):
        return _wrong_type(got, f"{len(expected)} values")
    if len(got) != len(expected):
        return f"Your answer has {len(got)} parts, expected {len(expected)}."
    for number, (mine, right) in enumerate(zip(got, expected, strict=True), start=1):
        if found := difference(mine, right, tolerance):
            return f"Part {number}: {found}"
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
    return f"Your answer is {describe(float(got))}, expected {describe(expected)}."


def _wrong_type(got: Any, expected: str) -> str:
    if got is None:
        return f"Your function returns None, expected {expected}: is a `return` missing?"
    return f"Your answer is of type {type(got).__name__}, expected {expected}."

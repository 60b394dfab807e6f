"""Comparison of two results, with the first difference described in a sentence."""

import copy
import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Arguments, Exercise

FEW = 4  # tensors with at most this many numbers are always printed in full
SMALL = 16  # and with at most this many, if their numbers are short
CUT_OFF = (
    "The numbers are right, but no gradient can flow back: was the answer detached, or made with .item()?"
)
HOLDS_GRAPH = (
    "The number is right, but it is a tensor that can still be differentiated, so everything it was computed "
    "from stays in memory. Take the number out with .item()."
)
NO_TENSOR = (
    "The numbers are right, but your answer has type {}; expected a tensor, so that gradients can flow."
)
SHORT = 80  # lists of lists of at most so many characters are printed in full
NOT_TRIED = "This part is not tried yet. Replace the `...` with your own code."


@dataclass(frozen=True, eq=False)
class CallResult:
    """Result of one call: a value or an error, and whether the call changed its arguments in place."""

    value: Any = None
    error: Exception | None = None
    changed: bool = False


def call(function: Answer, arguments: Arguments, run: Answer | None = None) -> CallResult:
    """Call the function, by `run` if given, with a deep copy of the arguments, and catch any exception.

    Returns NumPy arrays as tensors, unless an argument is a tensor: then the function has left PyTorch.
    """
    own = copy.deepcopy(arguments)
    try:
        value = run(function, *own) if run else function(*own)
    except Exception as error:
        return CallResult(error=error)
    if isinstance(value, np.ndarray) and not any(isinstance(one, Tensor) for one in arguments):
        value = as_tensor(value)
    return CallResult(value, changed=_changed(own, arguments))


def calls(exercise: Exercise, function: Answer) -> list[CallResult]:
    """Call the function on all inputs of an exercise."""
    return [call(function, arguments, exercise.run) for arguments in exercise.inputs]


def as_tensor(value: Any) -> Any:
    """An array or list of numbers as a tensor; anything else as it is."""
    plain = isinstance(value, list | tuple) and not any(isinstance(one, Tensor) for one in value)
    try:
        return torch.as_tensor(value) if plain or isinstance(value, np.ndarray) else value
    except (TypeError, ValueError, RuntimeError):
        return value


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
    if isinstance(got, np.bool_) or isinstance(got, Tensor) and got.dtype == torch.bool and got.numel() == 1:
        got = bool(got)
    if type(got) is type(expected) and got == expected:
        return None
    return f"Your answer is {describe(got)}; expected {describe(expected)}."


def describe(value: Any) -> str:
    """One-line description of a value: numbers to four digits, tensors of many numbers by their shape."""
    if isinstance(value, Tensor):
        short = value.numel() <= FEW or value.numel() <= SMALL and _is_short(value)
        return describe(value.tolist()) if short else f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{describe(key)}: {describe(one)}' for key, one in value.items())}}}"
    if isinstance(value, tuple | list):
        inner = ", ".join(describe(part) for part in value)
        if len(value) > 2 and len(inner) > 2 * SHORT:
            inner = f"{describe(value[0])}, and {len(value) - 1} more"
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{value:.4g}"
    if isinstance(value, str | int | None):
        return repr(value)
    return getattr(value, "__name__", None) or _described(type(value))


def _is_short(tensor: Tensor) -> bool:
    """Whether three decimals are enough, so that the numbers can be followed on paper."""
    exact = tensor.double()
    return bool(torch.isclose(exact, exact.round(decimals=3), rtol=1e-6, equal_nan=True).all())


def _described(kind: type) -> str:
    """An object by its type; if it is the course's own, with the first line of its documentation."""
    own = kind.__module__.startswith("course_lib") and kind.__doc__
    return kind.__name__ + (f" ({kind.__doc__.splitlines()[0].partition(':')[0].rstrip('.')})" if own else "")


def _tensor_difference(got: Any, expected: Tensor, tolerance: float) -> str | None:
    cut_off = expected.requires_grad and not getattr(got, "requires_grad", False)
    if expected.ndim == 0 and isinstance(got, numbers.Real):
        got = torch.tensor(got)
    if not isinstance(got, Tensor):
        made = as_tensor(got)
        same = isinstance(made, Tensor) and not difference(made, expected.detach(), tolerance)
        return NO_TENSOR.format(type(got).__name__) if same else _wrong_type(got, "a tensor")
    got, expected = got.detach().cpu(), expected.detach().cpu()
    if got.shape != expected.shape:
        return f"Your answer has shape {tuple(got.shape)}; expected {tuple(expected.shape)}."
    strict = torch.bool, torch.int8  # int8 is asked for because of its size
    if any((got.dtype == dtype) != (expected.dtype == dtype) for dtype in strict):
        return f"Your answer has dtype {got.dtype}; expected {expected.dtype}."
    if (got.isnan() & ~expected.isnan()).any():
        where = _where(got, expected, ~got.isnan() | expected.isnan())
        return f"Your answer contains NaN (0/0 or inf/inf?). {where}"
    near = torch.isclose(got.double(), expected.double(), rtol=tolerance, atol=tolerance, equal_nan=True)
    if not near.all():
        return _where(got, expected, near)
    return CUT_OFF if cut_off else None


def _where(got: Tensor, expected: Tensor, near: Tensor) -> str:
    if got.numel() <= 2 * FEW:
        return f"Your answer is {describe(got.tolist())}; expected {describe(expected.tolist())}."
    place = tuple((~near).nonzero()[0].tolist())
    return f"At {list(place)}, your answer is {describe(got[place])}; expected {describe(expected[place])}."


def _parts_difference(got: Any, expected: tuple | list, tolerance: float) -> str | None:
    if isinstance(got, range | np.ndarray) or isinstance(got, Tensor) and got.ndim:
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
    holds_graph = isinstance(got, Tensor) and got.requires_grad
    if isinstance(got, Tensor) and got.numel() == 1 or isinstance(got, np.ndarray) and got.size == 1:
        got = got.item()
    if not isinstance(got, numbers.Real):
        return _wrong_type(got, "a number")
    same_nan = math.isnan(got) and math.isnan(expected)
    if math.isclose(got, expected, rel_tol=tolerance, abs_tol=tolerance) or same_nan:
        return HOLDS_GRAPH if holds_graph else None
    return f"Your answer is {describe(float(got))}; expected {describe(expected)}."


def _wrong_type(got: Any, expected: str) -> str:
    if got is None:
        return f"Your function returns None; expected {expected}. Is a `return` missing?"
    return f"Your answer has type {type(got).__name__}; expected {expected}."

"""What an unknown wrong answer has in common with the right one: a factor, an offset, an order, a shape."""

import numbers
from collections.abc import Sequence

import torch
from torch import Tensor

from course_lib.exercises.comparing import CallResult, as_tensor


def pattern(results: Sequence[CallResult], expected: Sequence[CallResult], tolerance: float) -> str | None:
    """How the numbers of all results follow from the expected ones, as a sentence; None if they do not."""
    mine, right = ([_numbers(one) for one in several] for several in (results, expected))
    if any(one is None for one in mine + right) or sum(one.numel() for one in right) < 3:
        return None
    pairs = list(zip(mine, right, strict=True))
    if all(_alike(a, b, tolerance) for a, b in pairs):
        return None  # the numbers are right, their type is not
    if all(a.shape == b.shape for a, b in pairs):
        a, b = (torch.cat([one.flatten() for one in several]) for several in (mine, right))
        if found := _factor(a, b, tolerance) or _offset(a, b, tolerance):
            return found
    if all(a.ndim > 1 and _alike(a.mT, b, tolerance) for a, b in pairs):
        return "On every input, your answer is the right one, transposed."
    if all(_alike(a.flatten(), b.flatten(), tolerance) for a, b in pairs):
        return "On every input, your numbers are the right ones, in a different shape."
    several = all(b.unique().numel() > 2 for _, b in pairs)  # True and False come in few orders
    if several and all(_alike(a.flatten().sort()[0], b.flatten().sort()[0], tolerance) for a, b in pairs):
        return "On every input, your numbers are the right ones, in a different order."
    return None


def _numbers(result: CallResult) -> Tensor | None:
    """A result as a tensor of real numbers, if it is one, a number, or a list of numbers."""
    number = isinstance(result.value, numbers.Real)
    found = torch.tensor(float(result.value)) if number else as_tensor(result.value)
    if not isinstance(found, Tensor) or found.is_complex():
        return None
    return found.detach().cpu().double()


def _alike(a: Tensor, b: Tensor, tolerance: float) -> bool:
    return a.shape == b.shape and torch.allclose(a, b, rtol=tolerance, atol=tolerance)


def _factor(a: Tensor, b: Tensor, tolerance: float) -> str | None:
    largest = b.abs().argmax()
    factor = (a[largest] / b[largest]).item()
    if b.unique().numel() < 3 or abs(factor) < tolerance or not _alike(a, factor * b, tolerance):
        return None
    if abs(factor + 1) < tolerance:
        return "On every input, your numbers are the right ones with the opposite sign."
    return f"On every input, your numbers are {factor:.4g} times the right ones."


def _offset(a: Tensor, b: Tensor, tolerance: float) -> str | None:
    offset = (a - b).mean().item()
    if b.unique().numel() < 3 or not _alike(a, b + offset, tolerance):
        return None
    return f"On every input, your numbers are too {'large' if offset > 0 else 'small'} by {abs(offset):.4g}."

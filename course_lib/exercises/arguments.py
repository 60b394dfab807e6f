"""Which change of the arguments would make an unknown wrong answer right: a swap, a transpose, off by one."""

import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor

from course_lib.exercises.comparing import CallResult, alike, call, difference
from course_lib.exercises.exercise import Arguments, Exercise

RELATED = "On every input, your {}."
FORMS: dict[str, Callable[[float], float]] = {
    "times {}": lambda n: n,
    "divided by {}": lambda n: 1 / n,
    "times the root of {}": math.sqrt,
    "divided by the root of {}": lambda n: 1 / math.sqrt(n),
    "times {} squared": lambda n: n * n,
    "divided by {} squared": lambda n: 1 / n**2,
    "times ({0} − 1) / {0}": lambda n: (n - 1) / n,
    "times {0} / ({0} − 1)": lambda n: n / (n - 1),
    "times ({0} + 1) / {0}": lambda n: (n + 1) / n,
    "times {0} / ({0} + 1)": lambda n: n / (n + 1),
}


def explained(exercise: Exercise, results: Sequence[CallResult], right: Sequence[CallResult]) -> str | None:
    """How all results follow from the arguments and the right answers; None if they do not."""
    if any(result.error or result.value is None for result in results):
        return None
    names = tuple(inspect.signature(exercise.reference).parameters)[: len(exercise.inputs[0])]
    return (
        _unchanged(exercise, names, results)
        or _of_sizes(exercise, names, results, right)
        or _with_an_argument(exercise, names, results, right)
        or _changed(exercise, names, results, right)
    )


def _unchanged(exercise: Exercise, names: Sequence[str], results: Sequence[CallResult]) -> str | None:
    for place, name in enumerate(names):
        pairs = [(m.value, own[place]) for m, own in zip(results, exercise.inputs, strict=True)]
        if all(_same(mine, given, exercise.tolerance) for mine, given in pairs):
            return RELATED.format(f"answer is `{name}` itself, unchanged")
    return None


def _same(mine: Any, given: Any, tolerance: float) -> bool:
    plain = isinstance(given, Tensor | list | int | float) and not isinstance(given, bool)
    return (
        plain and difference(mine, given.detach() if isinstance(given, Tensor) else given, tolerance) is None
    )


def _of_sizes(
    exercise: Exercise, names: Sequence[str], results: Sequence[CallResult], right: Sequence[CallResult]
) -> str | None:
    """A factor or an offset that follows a size or a number among the arguments."""
    mine, numbers = ([_floats(one.value) for one in several] for several in (results, right))
    factors, offsets = [], []
    for a, b in zip(mine, numbers, strict=True):
        if a is None or b is None or a.shape != b.shape or not b.numel():
            return None
        largest = b.abs().argmax()
        factor, offset = (a.flatten()[largest] / b.flatten()[largest]).item(), (a - b).mean().item()
        factors.append(factor if _near(a, factor * b, exercise.tolerance) else math.nan)
        offsets.append(offset if _near(a, b + offset, exercise.tolerance) else math.nan)
    sizes = [dict(_sizes(names, arguments)) for arguments in exercise.inputs]
    for name in sizes[0]:
        values = [one.get(name, 0.0) for one in sizes]
        if len(set(values)) < 2:
            continue
        for form, function in FORMS.items():
            if _matches([_safe(function, n) for n in values], factors, exercise.tolerance):
                return RELATED.format(f"numbers are the right ones {form.format(name)}")
        for sign, said in ((1, "large"), (-1, "small")):
            if _matches([sign * n for n in values], offsets, exercise.tolerance):
                return RELATED.format(f"numbers are too {said} by {name}")
    return None


def _safe(function: Callable[[float], float], number: float) -> float:
    try:
        return function(number)
    except (ValueError, ZeroDivisionError):
        return math.nan


def _matches(a: list[float], b: list[float], tolerance: float) -> bool:
    return all(math.isclose(x, y, rel_tol=tolerance, abs_tol=tolerance) for x, y in zip(a, b, strict=True))


def _sizes(names: Sequence[str], arguments: Arguments) -> Iterator[tuple[str, float]]:
    for name, one in zip(names, arguments, strict=False):
        if isinstance(one, Tensor):
            yield from (
                (f"the size of `{name}` along axis {i - one.ndim}", float(n)) for i, n in enumerate(one.shape)
            )
        elif isinstance(one, list | tuple):
            yield f"the length of `{name}`", float(len(one))
        elif isinstance(one, int | float) and not isinstance(one, bool):
            yield f"`{name}`", float(one)


def _with_an_argument(
    exercise: Exercise, names: Sequence[str], results: Sequence[CallResult], right: Sequence[CallResult]
) -> str | None:
    """An argument that is added, subtracted or multiplied once too often."""
    ways: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        "plus `{}`": torch.add,
        "minus `{}`": torch.sub,
        "times `{}`": torch.mul,
        "divided by `{}`": torch.div,
    }
    for (place, name), (form, way) in itertools.product(enumerate(names), ways.items()):
        if all(
            isinstance(own[place], Tensor)
            and _combined(way, m.value, r.value, own[place], exercise.tolerance)
            for m, r, own in zip(results, right, exercise.inputs, strict=True)
        ):
            return RELATED.format(f"answer is the right one {form.format(name)}")
    return None


def _combined(way: Callable, mine: Any, right: Any, given: Tensor, tolerance: float) -> bool:
    if not isinstance(mine, Tensor) or not isinstance(right, Tensor) or given.dtype == torch.bool:
        return False
    try:
        return _near(mine.detach(), way(right.detach(), given.detach()), tolerance)
    except RuntimeError:  # the shapes do not broadcast
        return False


def _changed(
    exercise: Exercise, names: Sequence[str], results: Sequence[CallResult], right: Sequence[CallResult]
) -> str | None:
    """The right answers for other arguments."""
    if sum(_count(one.value) for one in right) < 3:
        return None
    for said, change in _changes(names, exercise.inputs):
        if all(
            _agrees(exercise, change, own, mine) for own, mine in zip(exercise.inputs, results, strict=True)
        ):
            return f"On every input, your answer would be right {said}."
    return None


def _agrees(exercise: Exercise, change: Callable, arguments: Arguments, mine: CallResult) -> bool:
    try:
        result = call(exercise.reference, change(arguments), exercise.run)
    except Exception:  # this change makes no sense for these arguments
        return False
    return not result.error and alike(mine, result, exercise.tolerance)


def _changes(names: Sequence[str], inputs: Sequence[Arguments]) -> Iterator[tuple[str, Callable]]:
    """Changes of the arguments that novices make, each with words that follow "would be right"."""
    count = len(names)
    for i, j in itertools.combinations(range(count), 2):
        yield f"with `{names[i]}` and `{names[j]}` swapped", _swap(i, j)
    for i, j in itertools.permutations(range(count), 2):
        yield f"with `{names[i]}` in place of `{names[j]}`", _put(j, itemgetter(i))
    for i, name in enumerate(names):
        for said, change in _of_one(name, [own[i] for own in inputs]):
            yield said, _put(i, _applied(i, change))


def _swap(i: int, j: int) -> Callable[[Arguments], Arguments]:
    def change(arguments: Arguments) -> Arguments:
        own = list(arguments)
        own[i], own[j] = own[j], own[i]
        return tuple(own)

    return change


def _put(i: int, make: Callable[[Arguments], Any]) -> Callable[[Arguments], Arguments]:
    return lambda arguments: (*arguments[:i], make(arguments), *arguments[i + 1 :])


def _applied(i: int, change: Callable[[Any], Any]) -> Callable[[Arguments], Any]:
    return lambda arguments: change(arguments[i])


def _of_one(name: str, values: list[Any]) -> Iterator[tuple[str, Callable]]:
    first = values[0]
    if callable(first):
        yield f"if `{name}` changed nothing", lambda f: lambda x, *more: x
        yield f"if `{name}` were called twice", lambda f: lambda x, *more: f(f(x, *more), *more)
    elif isinstance(first, Tensor):
        yield from _of_tensor(name, first)
    elif isinstance(first, bool):
        yield f"for the opposite of `{name}`", lambda x: not x
        yield f"if `{name}` were always True", lambda x: True
        yield f"if `{name}` were always False", lambda x: False
    elif isinstance(first, int | float):
        yield f"for `{name}` + 1", lambda x: x + 1
        yield f"for `{name}` − 1", lambda x: x - 1
        for constant in sorted({0, 1, 2, *values}):
            yield f"if `{name}` were always {constant:.4g}", lambda x, constant=constant: constant
        yield f"for twice `{name}`", lambda x: 2 * x
        yield f"for half of `{name}`", lambda x: x / 2
        yield f"for `{name}` squared", lambda x: x * x
        yield f"for the root of `{name}`", lambda x: math.sqrt(x)
        yield f"for −`{name}`", lambda x: -x
        yield f"for 1 − `{name}`", lambda x: 1 - x
        yield f"for 1 / `{name}`", lambda x: 1 / x
    elif isinstance(first, list | tuple):
        yield f"without the first entry of `{name}`", lambda x: x[1:]
        yield f"without the last entry of `{name}`", lambda x: x[:-1]
        yield f"for the first entry of `{name}` alone", lambda x: x[:1]
        yield f"for the last entry of `{name}` alone", lambda x: x[-1:]
        yield f"for `{name}` in the opposite order", lambda x: x[::-1]
        yield f"for `{name}` sorted", lambda x: sorted(x)
        yield f"for `{name}` without repetitions", lambda x: list(dict.fromkeys(x))


def _of_tensor(name: str, first: Tensor) -> Iterator[tuple[str, Callable]]:
    if first.ndim > 1:
        yield f"for `{name}` transposed", lambda x: x.mT.contiguous()
        yield f"if all of `{name}` were like its first entry", lambda x: x[:1].expand_as(x)
    if first.ndim:
        yield f"for `{name}` in the opposite order", lambda x: x.flip(0)
        yield f"for `{name}` shifted by one", lambda x: x.roll(1, 0)
        yield f"for `{name}` shifted by one", lambda x: x.roll(-1, 0)
        yield f"for the first entry of `{name}` alone", lambda x: x[:1]
    if first.dtype == torch.bool:
        yield f"for the opposite of `{name}`", lambda x: ~x
        yield f"if `{name}` were True everywhere", torch.ones_like
        return
    yield f"for −`{name}`", lambda x: -x
    yield f"if `{name}` were 0", torch.zeros_like
    yield f"for twice `{name}`", lambda x: 2 * x
    yield f"for `{name}` + 1", lambda x: x + 1
    yield f"for `{name}` − 1", lambda x: x - 1
    yield f"for `{name}` squared", lambda x: x * x
    yield f"for `{name}` without its sign", torch.abs
    yield f"for `{name}` after a softmax", lambda x: x.softmax(-1)
    yield f"for the logarithm of `{name}`", torch.log


def _count(value: Any) -> int:
    if isinstance(value, Tensor):
        return value.numel()
    return sum(map(_count, value)) if isinstance(value, list | tuple) else 1


def _floats(value: Any) -> Tensor | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Tensor):
        return None
    return torch.as_tensor(value).detach().double()


def _near(a: Tensor, b: Tensor, tolerance: float) -> bool:
    a, b = a.double(), b.double()
    return a.shape == b.shape and torch.allclose(a, b, rtol=tolerance, atol=tolerance)

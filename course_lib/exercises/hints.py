"""What an unknown wrong answer has in common with the right one: a factor, an order, a part of it."""

import inspect
import itertools
import numbers
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from course_lib.exercises.comparing import as_tensor, difference
from course_lib.exercises.exercise import Exercise

EVERY = "On every input, your {} {}."
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "are the squares of the right ones: is a root missing?": torch.square,
    "are the roots of the right ones: one root too many?": torch.sqrt,
    "are the logarithms of the right ones": torch.log,
    "are the exponentials of the right ones": torch.exp,
    "are 1 divided by the right ones": torch.reciprocal,
    "are 1 minus the right ones": lambda right: 1 - right,
    "are the right ones without their sign": torch.abs,
    "are the right ones, rounded down to whole numbers (as // and int do)": torch.trunc,
    "are the right ones, rounded to whole numbers": torch.round,
    "are the right ones, rounded to one digit": lambda right: right.round(decimals=1),
    "are the right ones, rounded to two digits": lambda right: right.round(decimals=2),
    "are the softmax of the right ones": lambda right: right.softmax(-1) if right.ndim else right,
}
REDUCTIONS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "the sums": lambda right, axis: right.sum(axis),
    "the means": lambda right, axis: right.mean(axis),
    "the maxima": lambda right, axis: right.amax(axis),
    "the positions of the maxima": lambda right, axis: right.argmax(axis).double(),
    "only the first part": lambda right, axis: right.select(axis, 0),
    "only the last part": lambda right, axis: right.select(axis, -1),
}


Pairs = Sequence[tuple[Any, Any]]  # what an answer and the reference return, on each input


def place(pairs: Pairs, tolerance: float) -> str | None:
    """Which rows or columns of all results are wrong, or how, as a sentence; None if nothing stands out."""
    pairs = [(_numbers(mine), _numbers(right)) for mine, right in pairs]
    tensors = [(a, b) for a, b in pairs if a is not None and b is not None and a.shape == b.shape]
    if len(tensors) < len(pairs) or sum(b.unique().numel() for _, b in tensors) < 3:
        return None
    return next(filter(None, _regions(tensors, tolerance)), None)


def part(pairs: Pairs, tolerance: float) -> str | None:
    """Which one of several values is wrong, or in which direction a mask is; None if more is wrong."""
    count = len(pairs[0][1]) if isinstance(pairs[0][1], tuple) else 0
    several = all(isinstance(one, tuple | list) and len(one) == count for pair in pairs for one in pair)
    if count > 1 and several:
        wrong = _wrong_values(pairs, count, tolerance)
        return f"On every input, only value {wrong[0] + 1} of {count} is wrong." if len(wrong) == 1 else None
    masks = [(a, b) for a, b in pairs if isinstance(a, Tensor) and isinstance(b, Tensor)
             and a.shape == b.shape and a.dtype == b.dtype == torch.bool]  # fmt: skip
    if len(masks) == len(pairs):
        for state in (True, False):
            if all(bool((a == state)[b == state].all()) for a, b in masks):
                return f"On every input, your answer is {state} where it should be, but also in other places."
    return None


def sizes(exercise: Exercise, pairs: Pairs) -> str | None:
    """How long the first axis of a wrong size should be, in the sizes of the arguments."""
    if not all(isinstance(one, Tensor) for pair in pairs for one in pair):
        return None
    shapes = [(a.shape, b.shape) for a, b in pairs]
    if len({len(shape) for two in shapes for shape in two}) > 1 or all(a == b for a, b in shapes):
        return None
    axis = next(i for i in range(len(shapes[0][1])) if any(a[i] != b[i] for a, b in shapes))
    names = tuple(inspect.signature(exercise.reference).parameters)
    for place, name in enumerate(names[: len(exercise.inputs[0])]):
        given = [arguments[place] for arguments in exercise.inputs]
        if not all(isinstance(one, Tensor) and one.ndim == given[0].ndim for one in given):
            continue
        for i, more in itertools.product(range(given[0].ndim), (0, 1)):
            if all(b[axis] == one.shape[i] + more for (_, b), one in zip(shapes, given, strict=True)):
                longer = "one longer than" if more else "as long as"
                return f"Axis {axis} of your answer should be {longer} axis {i} of `{name}`."
    return None


def pattern(pairs: Pairs, tolerance: float) -> str | None:
    """How all results follow from the expected ones, as a sentence; None if they do not."""
    if all(isinstance(right, list) for _, right in pairs) and (found := _of_lists(pairs, tolerance)):
        return found
    if all(isinstance(right, tuple) for _, right in pairs) and (found := _of_parts(pairs, tolerance)):
        return found
    tensors = [(a, b) for mine, right in pairs for a, b in [(_numbers(mine), _numbers(right))]
               if a is not None and b is not None]  # fmt: skip
    if len(tensors) < len(pairs) or sum(b.numel() for _, b in tensors) < 3:
        return None
    return _of_tensors(tensors, tolerance)


def _of_parts(pairs: Pairs, tolerance: float) -> str | None:
    """What is wrong with several values: their number, their order, or a single one of them."""
    count = len(pairs[0][1])
    if count < 2 or any(len(right) != count for _, right in pairs):
        return None
    for size in range(1, count):
        for chosen in itertools.combinations(range(count), size):
            parts = [[right[i] for i in chosen] if size > 1 else right[chosen[0]] for _, right in pairs]
            if all(difference(m, part, tolerance) is None for (m, _), part in zip(pairs, parts, strict=True)):
                names = " and ".join(str(i + 1) for i in chosen)
                return EVERY.format("answer", f"holds only value {names} of the {count} values asked for")
    if not all(isinstance(mine, tuple | list) for mine, _ in pairs):
        return None
    if all(not difference(_unpacked(mine), right, tolerance) for mine, right in pairs):
        return f"The numbers are right, but some are packed together: return {count} values side by side."
    if all(len(mine) == count for mine, _ in pairs):
        wrong = _wrong_values(pairs, count, tolerance)
        for order in itertools.permutations(range(count)) if len(wrong) > 1 and count < 5 else ():
            turned = ([right[i] for i in order] for _, right in pairs)
            if all(not difference(list(m), t, tolerance) for (m, _), t in zip(pairs, turned, strict=True)):
                return EVERY.format("values", "are the right ones, in a different order")
        if len(wrong) == 1:
            [i] = wrong
            inner = pattern([(mine[i], right[i]) for mine, right in pairs], tolerance)
            return inner and f"On every input, only value {i + 1} of {count} is wrong. {inner}"
    return None


def _wrong_values(pairs: Pairs, count: int, tolerance: float) -> list[int]:
    """Indices of the values that are wrong on some input."""
    return [i for i in range(count) if any(difference(m[i], r[i], tolerance) for m, r in pairs)]


def _unpacked(values: Any) -> list[Any]:
    """The parts of nested tuples and lists, one after the other."""
    nested = isinstance(values, tuple | list)
    return [part for one in values for part in _unpacked(one)] if nested else [values]


def _of_lists(pairs: Pairs, tolerance: float) -> str | None:
    """A list that begins or ends too early or too late."""
    if not all(isinstance(one, list | tuple) for pair in pairs for one in pair):
        return None
    lists = [(list(mine), list(right)) for mine, right in pairs]

    def same(a: list, b: list) -> bool:
        return difference(a, b, tolerance) is None

    cuts = {
        "ends too early": lambda a, b: len(a) < len(b) and same(a, b[: len(a)]),
        "goes on for too long": lambda a, b: len(a) > len(b) and same(a[: len(b)], b),
        "begins too late": lambda a, b: len(a) < len(b) and same(a, b[len(b) - len(a) :]),
        "begins too early": lambda a, b: len(a) > len(b) and same(a[len(a) - len(b) :], b),
    }  # fmt: skip
    wrong = [(a, b) for a, b in lists if not same(a, b)]
    for name, cut in cuts.items():
        if sum(len(b) for _, b in wrong) > 1 and all(cut(a, b) for a, b in wrong):
            return f"Wherever your list is wrong, it is right but for one thing: it {name}."
    if all(sorted(map(repr, a)) == sorted(map(repr, b)) for a, b in lists):
        return EVERY.format("list", "holds what it should, in a different order")
    return None


def _of_tensors(pairs: list[tuple[Tensor, Tensor]], tolerance: float) -> str | None:
    if all(_alike(a, b, tolerance) for a, b in pairs):
        return None  # the numbers are right, their type is not
    same_shapes = all(a.shape == b.shape for a, b in pairs)
    if same_shapes:
        a, b = (torch.cat([one.flatten() for one in several]) for several in zip(*pairs, strict=True))
        if found := _factor(a, b, tolerance) or _offset(a, b, tolerance):
            return found
    if all(a.ndim > 1 and _alike(a.mT, b, tolerance) for a, b in pairs):
        return "On every input, your answer is the right one, transposed."
    if all(_alike(a.flatten(), b.flatten(), tolerance) for a, b in pairs):
        return "On every input, your numbers are the right ones, in a different shape."
    several = all(b.unique().numel() > 2 for _, b in pairs)  # True and False come in few orders
    if several and all(_alike(a.flatten().sort()[0], b.flatten().sort()[0], tolerance) for a, b in pairs):
        return "On every input, your numbers are the right ones, in a different order."
    if sum(b.unique().numel() for _, b in pairs) < 3:
        return None
    truths = [set(one.unique().tolist()) <= {0.0, 1.0} for pair in pairs for one in pair]
    if same_shapes and all(truths):
        opposite = all(bool((a != b).all()) for a, b in pairs)
        return "On every input, your answer is the opposite of the right one." if opposite else None
    for name, function in FUNCTIONS.items():
        if all(_alike(a, function(b), tolerance) for a, b in pairs):
            return EVERY.format("numbers", name)
    return None if same_shapes else _reduced(pairs, tolerance)


def _reduced(pairs: list[tuple[Tensor, Tensor]], tolerance: float) -> str | None:
    """Whether an axis of the right answer has been lost, and how."""
    for name, reduce in REDUCTIONS.items():
        for axis in (0, -1, 1):
            if any(b.ndim <= (axis if axis >= 0 else 0) or not b.numel() for _, b in pairs):
                continue
            if any(b.shape[axis] > 1 for _, b in pairs) and all(
                _alike(a.flatten(), reduce(b, axis).flatten(), tolerance) for a, b in pairs
            ):
                place = "its last axis" if axis < 0 else f"axis {axis}"
                return EVERY.format("answer", f"holds {name} of the right one along {place}")
    return None


def _regions(pairs: list[tuple[Tensor, Tensor]], tolerance: float) -> Iterator[str | None]:
    """Where the numbers of the same shape are wrong, or what is the same within each row or column."""
    if all(a.ndim and len(a) > 1 and _alike(a, a[:1].expand_as(a), tolerance) for a, _ in pairs):
        yield "On every input, all entries of your answer along its first axis are equal."
    for axis in (-1, -2):
        if any(b.ndim < -axis for _, b in pairs):
            continue
        name = "row" if axis == -1 else "column"
        totals = [[one.sum(axis) for one in pair] for pair in pairs]
        positive = all(bool((one >= 0).all()) for pair in pairs for one in pair)
        one = [[_alike(total, torch.ones_like(total), tolerance) for total in two] for two in totals]
        if positive and all(right for _, right in one) and any(b.shape[axis] > 1 for _, b in pairs):
            if not all(mine for mine, _ in one):
                yield f"Each {name} should sum to 1; yours do not: where are they normalized?"
        long = [(a, b) for a, b in pairs if b.shape[axis] > 1 and b.numel() > b.shape[axis]]
        if not long:
            continue
        factors = [(a * b).sum(axis, True) / (b * b).sum(axis, True) for a, b in pairs]
        varied = all(bool((b.std(axis) > tolerance).any()) for _, b in long)
        if varied and all(_alike(a, f * b, tolerance) for (a, b), f in zip(pairs, factors, strict=True)):
            yield (f"Each {name} of your answer is the right one times a factor, and the factors differ: "
                   "check what you divide or multiply by.")  # fmt: skip
        if all(_alike(a, b + (a - b).mean(axis, True), tolerance) for a, b in pairs):
            yield (f"Each {name} of your answer is off by a constant, and these differ: "
                   "check what you add or subtract.")  # fmt: skip
    for axis in range(min(b.ndim for _, b in pairs)):
        yield _edge([(a.movedim(axis, 0), b.movedim(axis, 0)) for a, b in pairs], axis, tolerance)


def _edge(pairs: list[tuple[Tensor, Tensor]], axis: int, tolerance: float) -> str | None:
    """Whether only the first or last entries along the first axis are right, or wrong."""
    wrong = [
        ~torch.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True).flatten(1).all(1)
        for a, b in ((a[:, None], b[:, None]) for a, b in pairs)
    ]
    wrong = [one for one in wrong if one.any()]
    if not any(len(one) > 2 for one in wrong) or any(len(one) < 2 for one in wrong):
        return None
    for place, name in ((0, "first"), (-1, "last")):
        for state, said in ((True, "wrong"), (False, "right")):
            alone = [bool(one[place]) == state and int((one == state).sum()) == 1 for one in wrong]
            if all(alone):
                return f"Along axis {axis} of your answer, only the {name} entry is {said}."
    return None


def _numbers(value: Any) -> Tensor | None:
    """A result as a tensor of real numbers, if it is one, a number, or a list of numbers."""
    number = isinstance(value, numbers.Real)
    found = torch.tensor(float(value)) if number else as_tensor(value)
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

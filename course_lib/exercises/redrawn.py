"""The same exercise with other numbers, drawn from a seed: hidden inputs for grading, and exam questions."""

import copy
import hashlib
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from course_lib.exercises.comparing import CallResult, alike, calls
from course_lib.exercises.exercise import Exercise


def redrawn(exercise: Exercise, seed: int) -> Exercise:
    """The exercise with other numbers in its tensors, or the exercise itself where that is not possible.

    Shapes, sizes, text and single numbers stay, since a notebook's text speaks of them. The numbers of a
    tensor change places, so that each stays in its range. New inputs are taken, all or one call after the
    other, only if the solution returns something else without an error, and each known mistake still differs
    from it.
    """
    words = hashlib.sha256(f"{seed} {exercise.id}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(words[:7], "big"))
    inputs = [tuple(other(one, generator) for one in arguments) for arguments in exercise.inputs]
    if is_sound(exercise, new := replace(exercise, inputs=tuple(inputs))):
        return new
    kept = exercise
    for number, arguments in enumerate(inputs):
        mixed = (*kept.inputs[:number], arguments, *kept.inputs[number + 1 :])
        if is_sound(kept, new := replace(exercise, inputs=mixed)):
            kept = new
    return kept


def other(argument: Any, generator: torch.Generator) -> Any:
    """An argument with the numbers of its tensors in another order."""
    if isinstance(argument, Tensor):
        order = torch.randperm(argument.numel(), generator=generator)
        return (
            argument.detach().flatten()[order].reshape(argument.shape).requires_grad_(argument.requires_grad)
        )
    if type(argument) in (list, tuple):
        return type(argument)(other(one, generator) for one in argument)
    return copy.deepcopy(argument)


def is_sound(exercise: Exercise, new: Exercise) -> bool:
    """Whether the new inputs ask for something else, and still find every known mistake."""
    before, after = calls(exercise, exercise.reference), calls(new, new.reference)
    pairs = list(zip(before, after, strict=True))
    if any(fails(b) and not fails(a) for a, b in pairs) or all(alike(a, b, new.tolerance) for a, b in pairs):
        return False
    wrong = (answer for mistake in new.mistakes for answer in mistake.wrong)
    return not any(
        all(alike(a, b, new.tolerance) for a, b in zip(calls(new, answer), after, strict=True))
        for answer in wrong
    )


def fails(result: CallResult) -> bool:
    """Whether a call ended in an error, or in a number that is none."""
    value = result.value
    is_nan = isinstance(value, Tensor) and bool(value.detach().isnan().any())
    return result.error is not None or is_nan

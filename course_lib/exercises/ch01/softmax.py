"""Softmax and temperature."""

import math
from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal

# The ways to write a softmax by hand: which maximum is taken off, and by which sum is divided.
SHIFTS: dict[str, Callable[[Tensor], Tensor | float]] = {
    "none": lambda scores: 0.0,
    "row": lambda scores: scores.max(-1, keepdim=True).values,
    "column": lambda scores: scores.max(0, keepdim=True).values,
    "table": lambda scores: scores.max(),
    "mean": lambda scores: scores.mean(-1, keepdim=True),
    "no keepdim": lambda scores: scores.max(-1).values,
}
SUMS: dict[str, Callable[[Tensor], Tensor | float]] = {
    "none": lambda exps: 1.0,
    "row": lambda exps: exps.sum(-1, keepdim=True),
    "column": lambda exps: exps.sum(0, keepdim=True),
    "axis 1": lambda exps: exps.sum(1, keepdim=True),
    "table": lambda exps: exps.sum(),
    "no keepdim": lambda exps: exps.sum(-1),
}


def _softmax(shift: str, total: str) -> Answer:
    def softmax(scores: Tensor) -> Tensor:
        exps = torch.exp(scores - SHIFTS[shift](scores))
        return exps / SUMS[total](exps)

    return softmax


def _softmaxes(shifts: str, totals: str) -> tuple[Answer, ...]:
    return tuple(_softmax(shift, total) for shift, total in product(shifts.split(", "), totals.split(", ")))


SOFTMAX = Exercise(
    id="01.softmax",
    reference=lambda scores: scores.softmax(-1),
    inputs=(
        (torch.tensor([0.0, 1.0]),),
        (torch.tensor([[1.0, 2.0, 3.0], [3.0, 3.0, 0.0]]),),
        (torch.tensor([[0.0, 1.0], [2.0, 0.0]]),),
        (torch.tensor([1000.0, 1001.0]),),
        (torch.tensor([-1000.0, 1000.0]),),
        (torch.tensor([[1000.0, 1001.0, 1000.0], [-1001.0, -1000.0, -1000.0]]),),
        (normal(2, 3, 4),),
    ),
    mistakes=(
        mistake(
            "has no max-shift",
            "In float32 exp(89) is already infinite, and inf/inf is NaN. Take the largest score of each row "
            "off first: the weights stay the same, and no exponent is above 0.",
            _softmax("none", "row"),
        ),
        mistake(
            "takes one maximum for the whole table",
            "A row far below that maximum becomes exp(−2000) = 0 throughout, and 0/0 is NaN. Each row needs "
            "its own: scores.max(dim=-1, keepdim=True).values.",
            _softmax("table", "row"),
        ),
        mistake(
            "shifts by the mean instead of the maximum",
            "Some exponents are still above 0, and scores far from their mean overflow.",
            _softmax("mean", "row"),
        ),
        mistake(
            "works along the wrong axis",
            "Each row belongs to one query and must sum to 1 over its last axis, dim=-1. Counted from the "
            "front, the last axis changes its number as soon as a batch axis comes in.",
            *_softmaxes("none, row, column", "column, axis 1"),
            lambda scores: scores.softmax(1),
        ),
        mistake(
            "divides by the sum of the whole table",
            "Then all rows together sum to 1, not each row. Sum over dim=-1 only.",
            *_softmaxes("none, row, table", "table"),
        ),
        mistake(
            "loses the summed axis",
            "Without keepdim=True the sums (or maxima) of the rows lie along a row. With as many rows as "
            "columns, each column then meets another row's sum; otherwise the shapes do not fit.",
            *_softmaxes("none, row, table, no keepdim", "no keepdim"),
            _softmax("no keepdim", "row"),
        ),
        mistake(
            "never divides by the sum",
            "The exponentials are positive, but they do not sum to 1.",
            *_softmaxes("none, row, table", "none"),
        ),
        mistake(
            "leaves the exponential out",
            "Divided by their own sum, negative scores give negative weights, and a sum of 0 gives infinite "
            "ones.",
            lambda scores: scores / scores.sum(-1, keepdim=True),
        ),
    ),
)

TEMPERATURE = Exercise(
    id="01.temperature",
    reference=lambda scores, temperature: (scores / temperature).softmax(-1),
    inputs=(
        (torch.tensor([0.0, 1.0]), 0.5),
        (torch.tensor([1.0, 2.0, 3.0]), 1.0),
        (torch.tensor([1.0, 2.0, 3.0]), 4.0),
        (torch.tensor([[0.0, 1.0, 2.0], [2.0, 0.0, 0.5]]), 2.0),
        (torch.tensor([1.0, 2.0, 3.0]), 0.01),
    ),
    mistakes=(
        mistake(
            "multiplies by the temperature",
            "A high temperature must bring the scores closer together, so they are divided by it.",
            lambda scores, temperature: (scores * temperature).softmax(-1),
        ),
        mistake(
            "divides the weights instead of the scores",
            "Divided after the softmax, the weights sum to 1/T, and their ratios do not change at all.",
            lambda scores, temperature: scores.softmax(-1) / temperature,
        ),
        mistake(
            "is the same at every temperature",
            "Is the temperature used at all? A number added to all scores cancels: divide the scores by T.",
            lambda scores, temperature: scores.softmax(-1),
            lambda scores, temperature: _softmax("none", "row")(scores),
        ),
        mistake(
            "divides by √T",
            "The square root belongs to d, the width of the vectors. The temperature divides as it is.",
            lambda scores, temperature: (scores / math.sqrt(temperature)).softmax(-1),
        ),
        mistake(
            "raises the weights to 1/T without making them sum to 1",
            "Weights to the power 1/T have the right ratios; divide them by their sum once more.",
            lambda scores, temperature: scores.softmax(-1) ** (1 / temperature),
        ),
        mistake(
            "works along the wrong axis",
            "Each row must sum to 1 over its last axis: dim=-1, not dim=0.",
            lambda scores, temperature: (scores / temperature).softmax(0),
        ),
        mistake(
            "has no max-shift",
            "A small temperature makes large exponents: 3/0.01 = 300, and exp(300) is infinite in float32. "
            "Take the largest score off after dividing, or use torch.softmax.",
            lambda scores, temperature: _softmax("none", "row")(scores / temperature),
        ),
    ),
)

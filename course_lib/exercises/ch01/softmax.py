"""Softmax and temperature."""

import math
from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal
from course_lib.exercises.watching import without

# Variants of a handwritten softmax: what it subtracts (SHIFTS) and what it divides by (SUMS).
SHIFTS: dict[str, Callable[[Tensor], Tensor | float]] = {
    "none": lambda scores: 0.0,
    "row": lambda scores: scores.max(-1, keepdim=True).values,
    "column": lambda scores: scores.max(0, keepdim=True).values,
    "axis 1": lambda scores: scores.amax(1, keepdim=True),
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
    reference=_softmax("row", "row"),
    run=without("softmax", "log_softmax", "softmin", "special_softmax", "_softmax"),
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
            "your code does not subtract the maximum",
            "In float32, exp(89) is already infinite, and inf/inf is NaN. Subtract the largest score "
            "of each row first: the weights stay the same, and no exponent is above 0.",
            _softmax("none", "row"),
        ),
        mistake(
            "your code takes one maximum for the whole matrix",
            "A row far below that maximum turns into exp(−2000) = 0 everywhere, and 0/0 is NaN. Each "
            "row needs its own maximum: scores.max(dim=-1, keepdim=True).values.",
            _softmax("table", "row"),
        ),
        mistake(
            "your code subtracts less than the maximum",
            "After subtracting the mean or the minimum, some exponents are still above 0, so large scores "
            "overflow. Subtract the largest score of each row.",
            _softmax("mean", "row"),
        ),
        mistake(
            "your code works along the wrong axis",
            "Each row belongs to one query and must sum to 1 over its last axis. Use dim=-1: counted "
            "from the front, the last axis gets a new number as soon as there is a batch.",
            *_softmaxes("none, row, column", "column, axis 1"),
            _softmax("axis 1", "axis 1"),
        ),
        mistake(
            "your code calls PyTorch's softmax",
            "This time, write it yourself: subtract the largest score of each row, exponentiate, and divide "
            "by the sum of the row.",
            lambda scores: scores.softmax(-1),
        ),
        mistake(
            "your code divides by the sum of the whole matrix",
            "Then the whole matrix sums to 1 instead of each row. Sum over dim=-1 only.",
            *_softmaxes("none, row, table", "table"),
        ),
        mistake(
            "your code drops the summed axis",
            "Without keepdim=True, the sums (or maxima) of the rows broadcast along the wrong axis. In "
            "a square matrix, each column then meets the sum of another row; in others, the shapes do "
            "not match.",
            *_softmaxes("none, row, table, no keepdim", "no keepdim"),
            _softmax("no keepdim", "row"),
        ),
        mistake(
            "your code never divides by the sum",
            "The exponentials are positive, but they do not sum to 1. Divide each row by its sum.",
            *_softmaxes("none, row, table", "none"),
        ),
        mistake(
            "your code has no exponential",
            "Without exp, negative scores give negative weights, and a sum of 0 gives infinite ones. "
            "Exponentiate the scores before you divide.",
            lambda scores: scores / scores.sum(-1, keepdim=True),
        ),
        mistake(
            "your code uses the sigmoid",
            "The sigmoid looks at each score alone, so the rows do not sum to 1. Divide the exponentials of "
            "a row by their sum.",
            lambda scores: scores.sigmoid(),
        ),
        mistake(
            "your code uses base 2",
            "Softmax takes powers of e: torch.exp(x), not 2 ** x.",
            lambda scores: (
                2 ** (scores - scores.amax(-1, keepdim=True))
                / (2 ** (scores - scores.amax(-1, keepdim=True))).sum(-1, keepdim=True)
            ),
        ),
        mistake(
            "your code returns the logarithm of the softmax",
            "Weights lie between 0 and 1. Divide the exponentials by their sum.",
            lambda scores: scores - scores.logsumexp(-1, keepdim=True),
        ),
    ),
)


def _with_floor(floor: float) -> Answer:
    return lambda scores, temperature: (scores / max(temperature, floor)).softmax(-1)


TEMPERATURE = Exercise(
    id="01.temperature",
    reference=lambda scores, temperature: (scores / temperature).softmax(-1),
    inputs=(
        (torch.tensor([0.0, 1.0]), 0.5),
        (torch.tensor([1.0, 2.0, 3.0]), 1.0),
        (torch.tensor([1.0, 2.0, 3.0]), 4.0),
        (torch.tensor([[0.0, 1.0, 2.0], [2.0, 0.0, 0.5]]), 2.0),
        (torch.tensor([1.0, 2.0, 3.0]), 0.01),
        (torch.tensor([0.0, 0.001]), 0.001),
    ),
    mistakes=(
        mistake(
            "your code multiplies by the temperature",
            "A high temperature must bring the scores closer together. Divide the scores by it.",
            lambda scores, temperature: (scores * temperature).softmax(-1),
        ),
        mistake(
            "your code divides the weights instead of the scores",
            "After the softmax, the division makes the weights sum to 1/T and leaves their ratios "
            "unchanged. Divide the scores before the softmax.",
            lambda scores, temperature: scores.softmax(-1) / temperature,
        ),
        mistake(
            "your answer is the same at every temperature",
            "Does your code use `temperature`? A number added to all scores cancels out, so divide the "
            "scores by it.",
            lambda scores, temperature: scores.softmax(-1),
            lambda scores, temperature: _softmax("none", "row")(scores),
        ),
        mistake(
            "your code replaces low temperatures by a higher one",
            "A lower bound for the temperature, as in max(temperature, 0.1), flattens the weights below it. "
            "Divide by the temperature itself: torch.softmax does not overflow.",
            *(_with_floor(floor) for floor in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)),
        ),
        mistake(
            "your code divides by √T",
            "The square root belongs to the width d of the vectors. Divide by the temperature itself.",
            lambda scores, temperature: (scores / math.sqrt(temperature)).softmax(-1),
        ),
        mistake(
            "your code raises the weights to 1/T without normalizing",
            "Weights to the power 1/T have the right ratios, but they no longer sum to 1. Divide them "
            "by their sum.",
            lambda scores, temperature: scores.softmax(-1) ** (1 / temperature),
        ),
        mistake(
            "your code works along the wrong axis",
            "Each row must sum to 1 over its last axis. Use dim=-1, not dim=0.",
            lambda scores, temperature: (scores / temperature).softmax(0),
        ),
        mistake(
            "your code does not subtract the maximum",
            "A low temperature makes large exponents: 3/0.01 = 300, and exp(300) is infinite in "
            "float32. Subtract the largest score after dividing, or use torch.softmax.",
            lambda scores, temperature: _softmax("none", "row")(scores / temperature),
        ),
        mistake(
            "your code has no softmax",
            "Scores divided by the temperature are still scores. Apply the softmax along the last axis.",
            lambda scores, temperature: scores / temperature,
        ),
        mistake(
            "your code divides by the square of the temperature",
            "Divide by the temperature itself.",
            lambda scores, temperature: (scores / temperature**2).softmax(-1),
        ),
        mistake(
            "your code multiplies the weights by the temperature",
            "The weights must sum to 1. Divide the scores by the temperature, and leave the weights as they "
            "are.",
            lambda scores, temperature: (scores / temperature).softmax(-1) * temperature,
        ),
    ),
)

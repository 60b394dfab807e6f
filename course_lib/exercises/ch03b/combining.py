"""Flash attention by hand: combining two blocks."""

import math

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal

State = tuple[Tensor, Tensor, Tensor]


def combined(rescale_sums: bool = True, rescale_results: bool = True, direction: int = 1) -> Answer:
    """Combination of two blocks, with the mistakes of rescaling."""

    def combine(a: State, b: State) -> State:
        (max_a, sum_a, result_a), (max_b, sum_b, result_b) = a, b
        new = torch.maximum(max_a, max_b)
        one, other = ((direction * (old - new)).exp() for old in (max_a, max_b))
        sums = one * sum_a + other * sum_b if rescale_sums else sum_a + sum_b
        results = one * result_a + other * result_b if rescale_results else result_a + result_b
        return new, sums, results

    return combine


def _state(*scores: float, values: Tensor) -> State:
    s = torch.tensor(scores)
    weights = (s - s.max()).exp()
    return s.max(), weights.sum(), weights @ values


def _divided(a: State, b: State) -> State:
    new, sums, results = combined()(a, b)
    return new, sums, results / sums


def _without_exp(a: State, b: State) -> State:
    new = torch.maximum(a[0], b[0])
    one, other = a[0] - new, b[0] - new
    return new, one * a[1] + other * b[1], one * a[2] + other * b[2]


def _to_the_minimum(a: State, b: State) -> State:
    new = torch.minimum(a[0], b[0])
    one, other = (a[0] - new).exp(), (b[0] - new).exp()
    return new, one * a[1] + other * b[1], one * a[2] + other * b[2]


def _one_sided(of_a: bool) -> Answer:
    """Rescale only the first block, or only the second one."""

    def combine(a: State, b: State) -> State:
        (max_a, sum_a, result_a), (max_b, sum_b, result_b) = a, b
        new = torch.maximum(max_a, max_b)
        one, other = ((max_a - new).exp(), 1.0) if of_a else (1.0, (max_b - new).exp())
        return new, one * sum_a + other * sum_b, one * result_a + other * result_b

    return combine


def _to_the_maximum_of(number: int) -> Answer:
    """Rescale both blocks to the maximum of one of them, whichever is larger."""

    def combine(a: State, b: State) -> State:
        new = (a, b)[number][0]
        one, other = (a[0] - new).exp(), (b[0] - new).exp()
        return new, one * a[1] + other * b[1], one * a[2] + other * b[2]

    return combine


COMBINE = Exercise(
    id="03b.combine",
    reference=lambda a, b: combined()(a, b),
    inputs=(
        (_state(0.0, math.log(2), values=torch.eye(2)), _state(math.log(4), values=torch.ones(1, 2))),
        (_state(math.log(4), values=torch.ones(1, 2)), _state(0.0, math.log(2), values=torch.eye(2))),
        (_state(2.0, -1.0, values=normal(2, 3)), _state(0.5, 0.0, values=normal(2, 3, seed=1))),
    ),
    mistakes=(
        mistake(
            "your code does not rescale",
            "Each block has subtracted its own maximum, so its sum and its result are too large by "
            "exp(new maximum − its maximum). Multiply both by exp(its maximum − new maximum) before you add.",
            combined(rescale_sums=False, rescale_results=False),
        ),
        mistake(
            "your code rescales the sums but not the results",
            "The result of a block is a sum of values with the same exponentials in it. It needs the same "
            "factor as the sum.",
            combined(rescale_results=False),
        ),
        mistake(
            "your code rescales the results but not the sums",
            "The sum of a block consists of the same exponentials as its result. It needs the same factor.",
            combined(rescale_sums=False),
        ),
        mistake(
            "your factor is upside down",
            "The new maximum is at least as large, so the old sum must shrink: exp(old − new), at most 1.",
            combined(direction=-1),
        ),
        mistake(
            "your code rescales only one of the two blocks",
            "Either block may hold the larger maximum. Multiply both by exp(its maximum − new maximum): for "
            "the block that holds it, that is 1.",
            _one_sided(of_a=True),
            _one_sided(of_a=False),
        ),
        mistake(
            "your code takes one block's maximum as the new one",
            "The other block may have a larger one; its factor is then above 1 and may overflow. The new "
            "maximum is the larger of the two: torch.maximum.",
            _to_the_maximum_of(0),
            _to_the_maximum_of(1),
        ),
        mistake(
            "your code divides already",
            "Divide by the sum only once, after the last block. Until then, keep the result undivided.",
            _divided,
        ),
        mistake(
            "your code has no exponential",
            "The scores were subtracted before exp, so the factor is exp(its maximum − new maximum).",
            _without_exp,
        ),
        mistake(
            "your code takes the smaller maximum",
            "Both factors must be at most 1, so that nothing overflows: the new maximum is the larger of "
            "the two.",
            _to_the_minimum,
        ),
    ),
)

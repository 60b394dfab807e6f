"""Flash attention by hand: combining two blocks, and attention over blocks of keys."""

import math

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal

State = tuple[Tensor, Tensor, Tensor]


def _combine(rescale_sums: bool = True, rescale_results: bool = True, direction: int = 1) -> Answer:
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
    new, sums, results = _combine()(a, b)
    return new, sums, results / sums


COMBINE = Exercise(
    id="03b.combine",
    reference=lambda a, b: _combine()(a, b),
    inputs=(
        (_state(0.0, math.log(2), values=torch.eye(2)), _state(math.log(4), values=torch.ones(1, 2))),
        (_state(2.0, -1.0, values=normal(2, 3)), _state(0.5, 0.0, values=normal(2, 3, seed=1))),
    ),
    mistakes=(
        mistake(
            "your code does not rescale",
            "Each block has subtracted its own maximum, so its sum and its result are too large by "
            "exp(new maximum − its maximum). Multiply both by exp(its maximum − new maximum) before you add.",
            _combine(rescale_sums=False, rescale_results=False),
        ),
        mistake(
            "your code rescales the sums but not the results",
            "The result of a block is a sum of values with the same exponentials in it. It needs the same "
            "factor as the sum.",
            _combine(rescale_results=False),
        ),
        mistake(
            "your code rescales the results but not the sums",
            "The sum of a block consists of the same exponentials as its result. It needs the same factor.",
            _combine(rescale_sums=False),
        ),
        mistake(
            "your factor is upside down",
            "The new maximum is at least as large, so the old sum must shrink: exp(old − new), at most 1.",
            _combine(direction=-1),
        ),
        mistake(
            "your code divides already",
            "Divide by the sum only once, after the last block. Until then, keep the result undivided.",
            _divided,
        ),
    ),
)


def _flash(combine: Answer, subtract: bool = True, scaled: bool = True) -> Answer:
    def flash(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
        state = None
        for keys, values in zip(k.split(block), v.split(block), strict=True):
            scores = q @ keys.T / (math.sqrt(q.shape[-1]) if scaled else 1)
            top = scores.amax(dim=-1, keepdim=True) if subtract else torch.zeros(len(q), 1)
            weights = (scores - top).exp()
            new = top, weights.sum(dim=-1, keepdim=True), weights @ values
            state = new if state is None else combine(state, new)
        return state[2] / state[1]

    return flash


def _mean_of_blocks(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    parts = [
        (q @ keys.T / math.sqrt(q.shape[-1])).softmax(dim=-1) @ values
        for keys, values in zip(k.split(block), v.split(block), strict=True)
    ]
    return torch.stack(parts).mean(dim=0)


def _whole_blocks_only(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    whole = len(k) // block * block
    return _flash(_combine())(q, k[:whole], v[:whole], block)


FLASH = Exercise(
    id="03b.flash",
    reference=lambda q, k, v, block: _flash(_combine())(q, k, v, block),
    inputs=(
        (normal(2, 3), normal(4, 3, seed=1), normal(4, 2, seed=2), 2),
        (normal(3, 4), normal(7, 4, seed=3), normal(7, 5, seed=4), 3),
        (100 * normal(3, 4), normal(6, 4, seed=5), normal(6, 4, seed=6), 4),
    ),
    mistakes=(
        mistake(
            "your code forgets to rescale the earlier blocks",
            "A later block may have a larger maximum. Multiply the earlier sum and result by "
            "exp(old maximum − new maximum); your function of the previous exercise does it.",
            _flash(_combine(rescale_sums=False, rescale_results=False)),
        ),
        mistake(
            "your code rescales the sums but not the results",
            "Both hold the same exponentials, so both need the factor exp(old maximum − new maximum).",
            _flash(_combine(rescale_results=False)),
        ),
        mistake(
            "your code does not subtract the maximum",
            "With scores in the hundreds, exp overflows, and inf / inf is NaN. Subtract the maximum of "
            "each block.",
            _flash(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2]), subtract=False),
        ),
        mistake(
            "your code takes a softmax in each block and averages the blocks",
            "Then each block gets the same weight, however small its scores are. Keep undivided sums, and "
            "divide once at the end.",
            _mean_of_blocks,
        ),
        mistake(
            "your code drops the last, shorter block",
            "The block size need not divide the number of keys. k.split(block) returns the rest, too.",
            _whole_blocks_only,
        ),
        mistake(
            "your code does not scale",
            "Divide the scores by √d_head, as attention does.",
            _flash(_combine(), scaled=False),
        ),
    ),
)

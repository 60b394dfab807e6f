"""Flash attention by hand: attention over blocks of keys."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.ch03b.combining import combined
from course_lib.exercises.exercise import Answer, Exercise, mistake, normal, whole
from course_lib.exercises.watching import no_tensor_of


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
    blocks = list(zip(k.split(block), v.split(block), strict=True))
    scores = (q @ keys.T / math.sqrt(q.shape[-1]) for keys, _ in blocks)
    parts = [one.softmax(-1) @ values for one, (_, values) in zip(scores, blocks, strict=True)]
    return sum(parts) / len(parts)


def _sum_of_blocks(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return _mean_of_blocks(q, k, v, block) * len(k.split(block))


def _running_maximum(update: bool = True) -> Answer:
    """Subtract the maximum so far, or that of the first block, and never rescale."""

    def flash(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
        top, sums, results = None, torch.zeros(len(q), 1), torch.zeros(len(q), v.shape[-1])
        for keys, values in zip(k.split(block), v.split(block), strict=True):
            scores = q @ keys.T / math.sqrt(q.shape[-1])
            here = scores.amax(dim=-1, keepdim=True)
            top = here if top is None else torch.maximum(top, here) if update else top
            weights = (scores - top).exp()
            sums, results = sums + weights.sum(dim=-1, keepdim=True), results + weights @ values
        return results / sums

    return flash


def _undivided(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    scores = (q @ keys.T / math.sqrt(q.shape[-1]) for keys in k.split(block))
    top = torch.stack([one.amax(dim=-1, keepdim=True) for one in scores]).amax(dim=0)
    sums = sum(
        (q @ keys.T / math.sqrt(q.shape[-1]) - top).exp().sum(-1, keepdim=True) for keys in k.split(block)
    )
    return _flash(combined())(q, k, v, block) * sums


def _whole_blocks_only(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    whole = len(k) // block * block
    return _flash(combined())(q, k[:whole], v[:whole], block)


def _one_maximum(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Subtract a single maximum for all queries in each block."""
    top, sums, results = torch.tensor(-math.inf), torch.zeros(len(q), 1), torch.zeros(len(q), v.shape[-1])
    for keys, values in zip(k.split(block), v.split(block), strict=True):
        scores = q @ keys.T / math.sqrt(q.shape[-1])
        new = torch.maximum(top, scores.max())
        weights = (scores - new).exp()
        sums = (top - new).exp() * sums + weights.sum(dim=-1, keepdim=True)
        results, top = (top - new).exp() * results + weights @ values, new
    return results / sums


def _all_keys(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return (q @ k.T / math.sqrt(q.shape[-1])).softmax(dim=-1) @ v


# No scores of all keys: neither for all queries, nor for a block of them, nor for one query at a time.
FLASH_ONLY = no_tensor_of(
    lambda q, k, v, block: min(len(q), block) * len(k),
    "scaled_dot_product_attention",
    no_softmax_over=lambda q, k, v, block: len(k),
)


FLASH = Exercise(
    id="03b.flash",
    reference=lambda q, k, v, block: _flash(combined())(q, k, v, block),
    run=FLASH_ONLY,
    inputs=(
        (whole(3, 1, seed=4), whole(4, 1, seed=2), whole(4, 1, seed=1), 2),
        (normal(5, 2), normal(11, 2, seed=3), normal(11, 1, seed=4), 3),
        (100 * normal(4, 2), normal(9, 2, seed=5), normal(9, 2, seed=6), 4),
    ),
    mistakes=(
        mistake(
            "your code forgets to rescale the earlier blocks",
            "A later block may have a larger maximum. Multiply the earlier sum and result by "
            "exp(old maximum − new maximum); your function of the previous exercise does it.",
            _flash(combined(rescale_sums=False, rescale_results=False)),
            _running_maximum(),
        ),
        mistake(
            "your code rescales the sums but not the results",
            "Both hold the same exponentials, so both need the factor exp(old maximum − new maximum).",
            _flash(combined(rescale_results=False)),
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
            _sum_of_blocks,
        ),
        mistake(
            "your code subtracts one maximum for all queries",
            "A query whose scores all lie far below it gets only zeros, and 0/0 is NaN. Each query has its "
            "own: scores.amax(dim=-1, keepdim=True).",
            _one_maximum,
        ),
        mistake(
            "your code computes the scores of all keys at once",
            "The numbers are right, but the point is to never hold them all, not even for a single query: "
            "each row has one score per key. Visit the keys block by block, and combine.",
            _all_keys,
        ),
        mistake(
            "your code calls PyTorch's attention",
            "The exercise is what that function does inside. Visit the keys block by block, and combine.",
            lambda q, k, v, block: F.scaled_dot_product_attention(q, k, v),
        ),
        mistake(
            "your code drops the last, shorter block",
            "The block size need not divide the number of keys. k.split(block) returns the rest, too.",
            _whole_blocks_only,
        ),
        mistake(
            "your code does not scale",
            "Divide the scores by √d_head, as attention does.",
            _flash(combined(), scaled=False),
        ),
        mistake(
            "your code does not divide at the end",
            "The sum of the exponentials belongs under the output: divide by it once, after the last block.",
            _undivided,
        ),
        mistake(
            "your code keeps the maximum of the first block",
            "A later block may have larger scores, and exp of the difference overflows. Update the maximum, "
            "and rescale what you have so far.",
            _running_maximum(update=False),
        ),
        mistake(
            "your code divides by d_head instead of its root",
            "Divide the scores by √d_head, as attention does.",
            lambda q, k, v, block: _flash(combined())(q / math.sqrt(q.shape[-1]), k, v, block),
        ),
        mistake(
            "your code keeps the last block only",
            "Each block has only some of the keys. Combine its maximum, sum and output with those of "
            "the earlier blocks.",
            lambda q, k, v, block: (
                (q @ k.split(block)[-1].T / q.shape[-1] ** 0.5).softmax(-1) @ v.split(block)[-1]
            ),
        ),
    ),
)

"""Masked softmax."""

import math

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal
from course_lib.layers.masks import masked_softmax

LOWEST = torch.finfo(torch.float32).min
# Sizes that all differ; each key is visible somewhere, but the middle query sees none.
SCATTERED = (torch.arange(30) % 4 > 0).reshape(2, 3, 5) & torch.tensor([True, False, True])[:, None]
FILLS = (-100.0, -1000.0, -1e4, -1e6, -1e9, -1e20, LOWEST)


def _filled(fill: float) -> Answer:
    return lambda scores, mask: scores.masked_fill(~mask, fill).softmax(-1)


def _filled_and_cleared(fill: float) -> tuple[Answer, Answer]:
    """A finite fill, after which the masked weights, or the rows without visible keys, are set to 0."""
    return (
        lambda scores, mask: _filled(fill)(scores, mask) * mask,
        lambda scores, mask: _filled(fill)(scores, mask).masked_fill(~mask.any(-1, keepdim=True), 0.0),
    )


def _along(dim: int) -> tuple[Answer, ...]:
    """Softmax along another axis, with NaN or with zeros if no key is visible."""

    def plain(scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(~mask, -math.inf).softmax(dim)

    return plain, lambda scores, mask: plain(scores, mask).nan_to_num(0.0)


def _after(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.softmax(-1) * mask


def _after_and_divided(eps: float) -> Answer:
    return lambda scores, mask: _after(scores, mask) / (_after(scores, mask).sum(-1, keepdim=True) + eps)


MASKED_SOFTMAX = Exercise(
    id="02.masked_softmax",
    reference=masked_softmax,
    inputs=(
        (torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[True, True, False]])),
        (torch.tensor([[1.0, 2.0], [0.0, 3.0]]), torch.tensor([[True, False], [True, True]])),
        (torch.tensor([[0.0, 1.0, 300.0]]), torch.tensor([[True, True, False]])),
        (
            torch.tensor([[1.0, 2.0, 3.0], [3.0, 1.0, 0.0]]),
            torch.tensor([[True, False, True], [False, False, False]]),
        ),
        (torch.tensor([[-200.0, -200.0, 0.0]]), torch.tensor([[True, True, False]])),
        (torch.tensor([[LOWEST, LOWEST, 0.0]]), torch.tensor([[True, True, False]])),
        (normal(2, 3, 4), torch.ones(3, 4, dtype=torch.bool).tril()),
        (normal(2, 3, 5), SCATTERED),
    ),
    mistakes=(
        mistake(
            "your code gives NaN for a query with no visible keys",
            "Each exp(−∞) is 0, so the row becomes 0/0. Set such rows to 0 afterwards: those where "
            "mask.any(dim=-1, keepdim=True) is False.",
            _filled(-math.inf),
        ),
        mistake(
            "your code gives masked keys weight if a query has no visible keys",
            "Softmax depends only on score differences, so no finite fill value works if the whole row "
            "has it. Set such rows to 0 afterwards.",
            *(_filled(fill) for fill in FILLS),
            *(lambda scores, mask, f=f: (scores - f * ~mask).softmax(-1) for f in (1e4, 1e6, 1e9, 1e20)),
        ),
        mistake(
            "your code fills with a finite number",
            "Whatever number you take, visible scores may be lower still, and then the masked keys get all "
            "the weight. Only −∞ is below every score: masked_fill(~mask, -math.inf).",
            *(one for fill in FILLS for one in _filled_and_cleared(fill)),
        ),
        mistake(
            "your code masks after the softmax",
            "The masked scores are still in the denominator, so the rows do not sum to 1, and the "
            "missing mass leaks how high those scores are. Set masked scores to −∞ before the softmax.",
            _after,
        ),
        mistake(
            "your code masks after the softmax and renormalizes",
            "On paper this is correct. But if a masked score is far above the others, every remaining "
            "weight has already been rounded to 0. Set masked scores to −∞ before the softmax.",
            _after_and_divided(0.0),
            _after_and_divided(1e-9),
            lambda scores, mask: _after_and_divided(0.0)(scores, mask).nan_to_num(0.0),
        ),
        mistake(
            "your code sets masked scores to 0",
            "0 is a score like any other: exp(0) = 1. Only −∞ gives a weight of 0.",
            _filled(0.0),
            lambda scores, mask: (scores * mask).softmax(-1) * mask,
        ),
        mistake(
            "your code masks the visible keys",
            "`mask` is True where a query may attend, but masked_fill fills where its mask is True. "
            "Pass it ~mask.",
            lambda scores, mask: masked_softmax(scores, ~mask),
            lambda scores, mask: scores.masked_fill(mask, -math.inf).softmax(-1),
        ),
        mistake(
            "your code multiplies the mask by infinity",
            "0 · ∞ is NaN, which ruins the visible positions. Use masked_fill or torch.where, which "
            "leave them alone.",
            lambda scores, mask: (scores + ~mask * -math.inf).softmax(-1),
            lambda scores, mask: (scores + ~mask * -math.inf).softmax(-1).nan_to_num(0.0),
        ),
        mistake(
            "your code takes the softmax along the wrong axis",
            "The weights of each query must sum to 1 over its keys, the last axis. Use dim=-1.",
            *_along(-2),
            *_along(0),
            *_along(1),
        ),
        mistake(
            "your code has no softmax",
            "Masked scores are still scores. Apply softmax(dim=-1) to them.",
            lambda scores, mask: scores.masked_fill(~mask, -math.inf),
        ),
        mistake(
            "your code sets the rows without visible keys to 1",
            "A query that may attend to nothing receives nothing: its weights are 0.",
            lambda scores, mask: scores.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(1.0),
        ),
    ),
)

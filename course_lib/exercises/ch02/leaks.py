"""The softmax under a mask, and the test that finds leaks."""

import math

import torch
from torch import Tensor

from course_lib.attention import attention
from course_lib.exercises.exercise import Answer, Exercise, mistake, normal
from course_lib.masks import causal_mask, masked_softmax


def _filled(fill: float) -> Answer:
    return lambda scores, mask: scores.masked_fill(~mask, fill).softmax(-1)


def _along(dim: int) -> tuple[Answer, ...]:
    """Softmax along another axis, with NaN or with zeros where nothing is open."""

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
        (normal(2, 3, 4), torch.ones(3, 4, dtype=torch.bool).tril()),
    ),
    mistakes=(
        mistake(
            "gives NaN where a query may look nowhere",
            "exp(−∞) is 0 for each key, and the row becomes 0/0. Fill such rows with 0 afterwards: they are "
            "those where mask.any(dim=-1, keepdim=True) is False.",
            _filled(-math.inf),
        ),
        mistake(
            "gives weight to hidden keys where a query may look nowhere",
            "Only differences between scores count: where all are low, low is good enough. No finite number "
            "says no. Fill such rows with 0 afterwards.",
            *(_filled(fill) for fill in (-1e4, -1e6, -1e9, -1e20, torch.finfo(torch.float32).min)),
            *(lambda scores, mask, f=f: (scores - f * ~mask).softmax(-1) for f in (1e4, 1e6, 1e9, 1e20)),
        ),
        mistake(
            "hides keys after the softmax",
            "The hidden scores still stand in the denominator: the rows do not sum to 1, and what is missing "
            "tells how high the hidden scores are.",
            _after,
        ),
        mistake(
            "hides keys after the softmax and divides by what is left",
            "On paper this is right. But where a hidden score is far above the others, all that is left has "
            "been rounded to 0 already.",
            _after_and_divided(0.0),
            _after_and_divided(1e-9),
            lambda scores, mask: _after_and_divided(0.0)(scores, mask).nan_to_num(0.0),
        ),
        mistake(
            "sets hidden scores to 0",
            "A score of 0 is a score like any other, and exp(0) = 1. Only −∞ becomes a weight of 0.",
            _filled(0.0),
        ),
        mistake(
            "hides what may be seen",
            "True stands where a query may look; masked_fill fills where its mask is True: hand it ~mask.",
            lambda scores, mask: masked_softmax(scores, ~mask),
            lambda scores, mask: scores.masked_fill(mask, -math.inf).softmax(-1),
        ),
        mistake(
            "multiplies the mask by infinity",
            "0 · ∞ is NaN, so the open places are spoilt. masked_fill and torch.where put −∞ in its places "
            "and leave the others alone.",
            lambda scores, mask: (scores + ~mask * -math.inf).softmax(-1),
            lambda scores, mask: (scores + ~mask * -math.inf).softmax(-1).nan_to_num(0.0),
        ),
        mistake(
            "takes the softmax along the wrong axis",
            "Each query shares out a weight of 1 among its keys, the last axis.",
            *_along(-2),
            *_along(0),
            *_along(1),
        ),
    ),
)


class Causal:
    """Self-attention that sees no future."""

    def __call__(self, x: Tensor) -> Tensor:
        return attention(x, x, x, causal_mask(len(x)))[0]


class MaskedAfterSoftmax:
    """Self-attention whose weights are set to 0 too late."""

    def __call__(self, x: Tensor) -> Tensor:
        return attention(x, x, x)[1].masked_fill(~causal_mask(len(x)), 0.0) @ x


class EachAlone:
    """A layer that does not mix tokens."""

    def __call__(self, x: Tensor) -> Tensor:
        return x.sin()


class NextOnly:
    """Each token gets the first number of the next one; the last token gets its own."""

    def __call__(self, x: Tensor) -> Tensor:
        return torch.cat([x[1:, :1], x[-1:, :1]])


class BothSides:
    """Each token keeps its first number; its second mixes a difference in the token before with the next."""

    def __call__(self, x: Tensor) -> Tensor:
        before = torch.cat([torch.zeros_like(x[:1]), x[:-1]])
        after = torch.cat([x[1:], torch.zeros_like(x[:1])])
        return torch.stack([x[:, 0], before[:, 0] - before[:, 1] + after[:, 0]], dim=-1)


def _gradients(layer: Answer, x: Tensor) -> Tensor:
    """Of each output row with respect to all numbers of x: (rows, tokens, d)."""
    x = x.detach().requires_grad_()
    return torch.stack([torch.autograd.grad(row.sum(), x, retain_graph=True)[0] for row in layer(x)])


def _table(layer: Answer, x: Tensor) -> Tensor:
    return (_gradients(layer, x) != 0).any(dim=-1)


DEPENDS = Exercise(
    id="02.depends",
    reference=_table,
    inputs=(
        (EachAlone(), normal(2, 1)),
        (Causal(), normal(3, 3)),
        (NextOnly(), normal(4, 3)),
        (BothSides(), normal(3, 2)),
        (MaskedAfterSoftmax(), normal(4, 5)),
    ),
    mistakes=(
        mistake(
            "adds all rows up before the gradient",
            "The gradient of layer(x).sum() is one for all outputs together. Each row of the table needs the "
            "gradient of its own output, layer(x)[i].sum().",
            lambda layer, x: (_gradients(layer, x).sum(0) != 0).any(-1).expand(len(x), -1).clone(),
        ),
        mistake(
            "lets gradients pile up from one row to the next",
            "backward() adds to x.grad. Set x.grad to None before each row, or use torch.autograd.grad.",
            lambda layer, x: (_gradients(layer, x).cumsum(0) != 0).any(-1),
        ),
        mistake(
            "has outputs and inputs swapped",
            "Row i tells what output i depends on; column j belongs to token j of the input.",
            lambda layer, x: _table(layer, x).T,
        ),
        mistake(
            "counts positive gradients only",
            "A negative derivative is a dependence, too: != 0, not > 0.",
            lambda layer, x: (_gradients(layer, x) > 0).any(-1),
            lambda layer, x: _gradients(layer, x).sum(-1) > 0,
        ),
        mistake(
            "asks about the first number of an output alone",
            "An output has several numbers, and each may depend on other tokens: layer(x)[i].sum(), not "
            "layer(x)[i, 0].",
            lambda layer, x: _table(lambda y: layer(y)[:, :1], x),
        ),
        mistake(
            "adds the derivatives of a token up",
            "Derivatives of both signs cancel in a sum: (gradient != 0).any(dim=-1).",
            lambda layer, x: _gradients(layer, x).sum(-1) != 0,
        ),
        mistake(
            "asks for all numbers of a token instead of any",
            "One number of token j that matters is enough for a leak: any(dim=-1), not all(dim=-1).",
            lambda layer, x: (_gradients(layer, x) != 0).all(-1),
        ),
        mistake(
            "goes along the tokens instead of along the numbers of a token",
            "The gradient has the shape of x, (tokens, d). Gather along d, the last axis.",
            lambda layer, x: (_gradients(layer, x) != 0).any(-2),
        ),
    ),
)

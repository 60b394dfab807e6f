"""Attention with several heads, and attention between two sequences."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal


def _attend(q: Tensor, k: Tensor, v: Tensor, width: int, dim: int = -1) -> Tensor:
    return (q @ k.transpose(-2, -1) / math.sqrt(width)).softmax(dim) @ v


def _split(x: Tensor, heads: int) -> Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def _scramble(x: Tensor, heads: int) -> Tensor:
    return x.reshape(x.shape[0], heads, x.shape[1], -1)


def _merge(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(-2)


def _heads(
    split: Callable[[Tensor, int], Tensor] = _split,
    merge: Callable[[Tensor], Tensor] = _merge,
    width: Callable[[int, int], float] = lambda d_model, heads: d_model // heads,
    dim: int = -1,
) -> Answer:
    def attend(q: Tensor, k: Tensor, v: Tensor, heads: int) -> Tensor:
        parts = (split(x, heads) for x in (q, k, v))
        return merge(_attend(*parts, width(q.shape[-1], heads), dim))

    return attend


def _still_apart(x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], x.shape[2], -1)


HEADS = Exercise(
    id="03.heads",
    reference=_heads(),
    inputs=(
        (normal(1, 3, 4), normal(1, 3, 4, seed=1), normal(1, 3, 4, seed=2), 2),
        (normal(2, 3, 12), normal(2, 5, 12, seed=1), normal(2, 5, 12, seed=2), 4),
        (normal(2, 4, 6), normal(2, 4, 6, seed=1), normal(2, 4, 6, seed=2), 3),
    ),
    mistakes=(
        mistake(
            "divides by √d_model instead of √d_head",
            "The dot products of a head have d_head terms, so that is their variance. Divided by more, the "
            "weights become too even.",
            _heads(width=lambda d_model, heads: d_model),
        ),
        mistake(
            "does not scale",
            "The dot products of a head have d_head terms: divide them by √d_head, as in chapter 1.",
            _heads(width=lambda d_model, heads: 1),
        ),
        mistake(
            "has one table of weights for all heads",
            "Attention comes after the split: every head has its own scores and its own softmax. Computed "
            "with the whole vectors, there is only one head, however the result is cut afterwards.",
            lambda q, k, v, heads: _attend(q, k, v, q.shape[-1]),
            lambda q, k, v, heads: _attend(q, k, v, q.shape[-1] // heads),
        ),
        mistake(
            "scrambles tokens and heads when it splits",
            "view and reshape alone keep the order of the memory. Split the last axis, then swap: "
            "x.unflatten(-1, (heads, -1)).transpose(1, 2).",
            _heads(split=_scramble),
            _heads(split=_scramble, merge=_still_apart),
        ),
        mistake(
            "scrambles tokens and heads when it merges",
            "Before the heads are put side by side, the tokens must stand before them: "
            "transpose(1, 2).flatten(-2).",
            _heads(merge=_still_apart),
        ),
        mistake(
            "takes the softmax over the queries",
            "Each query shares out a weight of 1 among the keys, the last axis of the scores: dim=-1.",
            _heads(dim=-2),
        ),
        mistake(
            "takes the softmax over the heads",
            "The heads do not compete: each has its own weights, and softmax runs along the keys, dim=-1.",
            _heads(dim=1),
        ),
        mistake(
            "lets the heads look at each other instead of the tokens",
            "Without the swap, the last two axes are heads and d_head, and the matrix product runs over the "
            "heads of one token. Put the heads before the tokens: transpose(1, 2).",
            _heads(split=lambda x, heads: x.unflatten(-1, (heads, -1)), merge=lambda x: x.flatten(-2)),
        ),
        mistake(
            "leaves the heads apart",
            "The result is to have the shape of q again: merge the heads.",
            _heads(merge=lambda x: x),
            _heads(merge=lambda x: x.transpose(1, 2)),
        ),
    ),
)

Roles = tuple[int, int, int]


def _cross(roles: Roles, scaled: bool = True, dim: int = -1) -> Answer:
    """Cross-attention where query, key and value come from sequence 0 (the target) or 1 (the source)."""

    def cross(target: Tensor, source: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
        pair = (target, source)
        q, k, v = (pair[role] @ w for role, w in zip(roles, (w_q, w_k, w_v), strict=True))
        return _attend(q, k, v, q.shape[-1] if scaled else 1, dim)

    return cross


def _sequences(targets: int, sources: int, seed: int) -> tuple[Tensor, ...]:
    shapes = (2, targets, 4), (2, sources, 4), (4, 6), (4, 6), (4, 6)
    return tuple(normal(*shape, seed=seed + i) for i, shape in enumerate(shapes))


CROSS = Exercise(
    id="03.cross",
    reference=_cross((0, 1, 1)),
    inputs=(_sequences(3, 3, 0), _sequences(2, 5, 10), _sequences(4, 3, 20)),
    mistakes=(
        mistake(
            "has the two sequences the wrong way round",
            "The target asks, so the queries come from it, and the result has one vector for each target "
            "token. Keys and values come from the source.",
            _cross((1, 0, 0)),
        ),
        mistake(
            "follows equation (6) of Kak's slide 52",
            "Queries from the source and keys from the target, but values from the source: with sequences of "
            "different lengths the product does not even exist. Equation (5) has it right.",
            _cross((1, 0, 1)),
        ),
        mistake(
            "takes the values from the target",
            "The weights say which source tokens to read, so what is read must be the source's values.",
            _cross((0, 1, 0)),
        ),
        mistake(
            "takes the keys from the target",
            "Then the target asks itself, and the weights have one column for each target token.",
            _cross((0, 0, 1)),
        ),
        mistake(
            "is self-attention",
            "Only the queries come from the target; keys and values come from the source.",
            _cross((0, 0, 0)),
            _cross((1, 1, 1)),
        ),
        mistake(
            "does not scale",
            "The dot products have as many terms as a query has numbers: divide them by the root of that.",
            _cross((0, 1, 1), scaled=False),
        ),
        mistake(
            "scales by the width of the words instead of the queries",
            "A score has as many terms as a *projected* query has numbers: the width of target @ w_q.",
            lambda target, source, w_q, w_k, w_v: _attend(
                target @ w_q, source @ w_k, source @ w_v, target.shape[-1]
            ),
        ),
        mistake(
            "takes the softmax over the target tokens",
            "Each target token shares out a weight of 1 among the source tokens, the last axis: dim=-1.",
            _cross((0, 1, 1), dim=-2),
        ),
        mistake(
            "gives the weighted sum back without the values' projection",
            "The values are the source times w_v, not the source itself.",
            lambda target, source, w_q, w_k, w_v: (
                torch.softmax((target @ w_q) @ (source @ w_k).transpose(-2, -1) / math.sqrt(6), -1) @ source
            ),
        ),
    ),
)

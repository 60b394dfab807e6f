"""Multi-head attention and cross-attention."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal, whole


def _attend(q: Tensor, k: Tensor, v: Tensor, width: int, dim: int = -1) -> Tensor:
    return (q @ k.transpose(-2, -1) / math.sqrt(width)).softmax(dim) @ v


def _split(x: Tensor, heads: int) -> Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def _split_by_reshape(x: Tensor, heads: int) -> Tensor:
    return x.reshape(x.shape[0], heads, x.shape[1], -1)


def _dealt_out(x: Tensor, heads: int) -> Tensor:
    """Feature i goes to head i % heads."""
    return x.unflatten(-1, (-1, heads)).movedim(-1, 1)


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


def _merge_without_swap(x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], x.shape[2], -1)


HEADS = Exercise(
    id="03.heads",
    reference=_heads(),
    inputs=(
        (whole(1, 2, 2, seed=1), whole(1, 2, 2, seed=2), whole(1, 2, 2, seed=4), 2),
        (normal(1, 3, 4), normal(1, 3, 4, seed=1), normal(1, 3, 4, seed=2), 2),
        (normal(2, 3, 12), normal(2, 5, 12, seed=1), normal(2, 5, 12, seed=2), 4),
        (normal(2, 4, 6), normal(2, 4, 6, seed=1), normal(2, 4, 6, seed=2), 3),
    ),
    mistakes=(
        mistake(
            "your code divides by √d_model instead of √d_head",
            "A head's dot products have d_head terms, so their variance is d_head. Dividing by more "
            "makes the weights too uniform.",
            _heads(width=lambda d_model, heads: d_model),
        ),
        mistake(
            "your code does not scale",
            "A head's dot products have d_head terms. Divide them by √d_head, as in chapter 1.",
            _heads(width=lambda d_model, heads: 1),
        ),
        mistake(
            "your code has one attention pattern for all heads",
            "Scores computed from the whole vectors make a single head, however you cut the result "
            "afterwards. Split first, so that each head has its own scores and softmax.",
            lambda q, k, v, heads: _attend(q, k, v, q.shape[-1]),
            lambda q, k, v, heads: _attend(q, k, v, q.shape[-1] // heads),
        ),
        mistake(
            "your code scrambles tokens and heads when it splits",
            "view and reshape alone keep the memory order. Split the last axis, then swap: "
            "x.unflatten(-1, (heads, -1)).transpose(1, 2).",
            _heads(split=_split_by_reshape),
            _heads(split=_split_by_reshape, merge=_merge_without_swap),
        ),
        mistake(
            "your code gives each head every h-th feature",
            "A head is a slice of neighboring features: 0 to d_head − 1, d_head to 2·d_head − 1, and so on. "
            "unflatten(-1, (heads, -1)) cuts them that way; (-1, heads) deals the features out in turn.",
            _heads(split=_dealt_out),
            _heads(split=_dealt_out, merge=lambda x: x.movedim(1, -1).flatten(-2)),
        ),
        mistake(
            "your code makes d_head heads of width `heads`",
            "unflatten(-1, (-1, heads)) makes the last axis `heads` wide. The heads come first: "
            "unflatten(-1, (heads, -1)).",
            _heads(
                split=lambda x, heads: x.unflatten(-1, (-1, heads)).transpose(1, 2),
                width=lambda d_model, heads: heads,
            ),
        ),
        mistake(
            "your code averages or adds the heads",
            "Each head writes its own features of the result. Concatenate them: transpose(1, 2).flatten(-2).",
            _heads(merge=lambda x: x.mean(dim=1)),
            _heads(merge=lambda x: x.sum(dim=1)),
        ),
        mistake(
            "your code scrambles tokens and heads when it merges",
            "The token axis must come before the heads when you concatenate them. Use transpose(1, "
            "2).flatten(-2).",
            _heads(merge=_merge_without_swap),
            _heads(merge=lambda x: x.flatten(-2)),
        ),
        mistake(
            "your code takes the softmax over the queries",
            "The weights of each query must sum to 1 over the keys, the last axis of the scores. Use dim=-1.",
            _heads(dim=-2),
        ),
        mistake(
            "your code takes the softmax over the heads",
            "The heads do not compete: each has its own weights. Take the softmax over the keys, dim=-1.",
            _heads(dim=1),
        ),
        mistake(
            "your code lets heads attend to heads, not tokens to tokens",
            "Without the swap, the last two axes are heads and d_head, so the matrix product mixes the "
            "heads of one token. Move the heads before the tokens: transpose(1, 2).",
            _heads(split=lambda x, heads: x.unflatten(-1, (heads, -1)), merge=lambda x: x.flatten(-2)),
        ),
        mistake(
            "your code does not merge the heads",
            "The result must have the shape of q. Concatenate the heads along the last axis.",
            _heads(merge=lambda x: x),
            _heads(merge=lambda x: x.transpose(1, 2)),
        ),
        mistake(
            "your code does not split the values",
            "Each head averages its own slice of the values. Split q, k and v alike.",
            lambda q, k, v, heads: torch.cat(
                [
                    _attend(*pair, v, q.shape[-1] // heads)
                    for pair in zip(q.chunk(heads, -1), k.chunk(heads, -1), strict=True)
                ],
                -1,
            ),
        ),
        mistake(
            "your code takes the keys for the values",
            "The weights average the values: pass q, k and v.",
            lambda q, k, v, heads: _heads()(q, k, k, heads),
        ),
        mistake(
            "your code splits the tokens, not the features",
            "Each head sees all tokens, and a slice of the features: the last axis.",
            lambda q, k, v, heads: torch.cat(
                [
                    _attend(*one, q.shape[-1])
                    for one in zip(*(x.chunk(heads, 1) for x in (q, k, v)), strict=True)
                ],
                1,
            ),
        ),
    ),
)

Roles = tuple[int, int, int]


def _cross(roles: Roles, scaled: bool = True, dim: int = -1) -> Answer:
    """Cross-attention whose query, key and value come from sequence 0 (target) or 1 (source)."""

    def cross(target: Tensor, source: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
        pair = (target, source)
        q, k, v = (pair[role] @ w for role, w in zip(roles, (w_q, w_k, w_v), strict=True))
        return _attend(q, k, v, q.shape[-1] if scaled else 1, dim)

    return cross


def _sequences(targets: int, sources: int, seed: int) -> tuple[Tensor, ...]:
    shapes = (2, targets, 4), (2, sources, 4), (4, 6), (4, 6), (4, 6)
    return tuple(normal(*shape, seed=seed + i) for i, shape in enumerate(shapes))


_SMALL = tuple(whole(2, 2, seed=seed) for seed in (1, 3, 5, 6, 4))
CROSS = Exercise(
    id="03.cross",
    reference=_cross((0, 1, 1)),
    inputs=(_SMALL, _sequences(3, 3, 0), _sequences(2, 5, 10), _sequences(4, 3, 20)),
    mistakes=(
        mistake(
            "your code swaps the two sequences",
            "The queries come from the target, so the result has one vector per target token. Keys and "
            "values come from the source.",
            _cross((1, 0, 0)),
        ),
        mistake(
            "your code swaps the roles of queries and keys",
            "With queries from the source, the weights have one row per source token, and for "
            "sequences of different lengths the product with the values is not even defined. Take "
            "queries from the target, and keys and values from the source.",
            _cross((1, 0, 1)),
        ),
        mistake(
            "your code takes the values from the target",
            "The weights tell which source tokens to read. Multiply them with the values of the source.",
            _cross((0, 1, 0)),
        ),
        mistake(
            "your code takes the keys from the target",
            "Then the target attends to itself, with one column per target token. Take the keys from "
            "the source.",
            _cross((0, 0, 1)),
        ),
        mistake(
            "your code is self-attention",
            "Only the queries come from the target. Keys and values come from the source.",
            _cross((0, 0, 0)),
            _cross((1, 1, 1)),
        ),
        mistake(
            "your code does not scale",
            "Each dot product has as many terms as a query has features. Divide by the square root of "
            "that number.",
            _cross((0, 1, 1), scaled=False),
        ),
        mistake(
            "your code scales by the wrong width",
            "Each dot product has as many terms as a *projected* query has features. Use the width of "
            "target @ w_q.",
            lambda target, source, w_q, w_k, w_v: _attend(
                target @ w_q, source @ w_k, source @ w_v, target.shape[-1]
            ),
        ),
        mistake(
            "your code takes the softmax over the target tokens",
            "The weights of each target token must sum to 1 over the source tokens, the last axis. Use "
            "dim=-1.",
            _cross((0, 1, 1), dim=-2),
        ),
        mistake(
            "your code averages the source instead of the values",
            "The values are the projected source, source @ w_v, not the source itself.",
            lambda target, source, w_q, w_k, w_v: _attend(target @ w_q, source @ w_k, source, w_q.shape[-1]),
        ),
        mistake(
            "your code swaps the matrices of queries and keys",
            "w_q projects the target, w_k the source.",
            lambda target, source, w_q, w_k, w_v: _cross((0, 1, 1))(target, source, w_k, w_q, w_v),
        ),
        mistake(
            "your code takes the keys for the values",
            "The values have their own matrix: source @ w_v.",
            lambda target, source, w_q, w_k, w_v: _attend(
                target @ w_q, source @ w_k, source @ w_k, w_q.shape[-1]
            ),
        ),
        mistake(
            "your code leaves out projections",
            "Queries are target @ w_q, keys source @ w_k, values source @ w_v.",
            lambda target, source, w_q, w_k, w_v: _attend(target, source, source @ w_v, target.shape[-1]),
            lambda target, source, w_q, w_k, w_v: _attend(target, source, source, target.shape[-1]),
        ),
        mistake(
            "your code has a causal mask",
            "The source is there from the beginning, so each query may see all of it.",
            lambda target, source, w_q, w_k, w_v: F.scaled_dot_product_attention(
                target @ w_q, source @ w_k, source @ w_v, is_causal=True
            ),
        ),
        mistake(
            "your code scales twice",
            "F.scaled_dot_product_attention already divides by √d_head.",
            lambda target, source, w_q, w_k, w_v: F.scaled_dot_product_attention(
                target @ w_q / w_q.shape[-1] ** 0.5, source @ w_k, source @ w_v
            ),
        ),
        mistake(
            "your code transposes the projections",
            "Here x @ w_q projects x: the weights have shape (d_model, d_head), unlike those of nn.Linear.",
            lambda target, source, w_q, w_k, w_v: F.scaled_dot_product_attention(
                target @ w_q.T, source @ w_k.T, source @ w_v.T
            ),
        ),
    ),
)

"""Attention masks: True where a query may attend to a key; and the masked softmax.

Every mask broadcasts to (batch, heads, queries, keys); combine masks with `&`. The convention is that of
`F.scaled_dot_product_attention`; `nn.MultiheadAttention` uses the opposite one (`~mask`).
"""

import math
from typing import TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Mask: TypeAlias = Bool[Tensor, "..."]


def padding_mask(ids: Int[Tensor, "batch keys"], pad: int) -> Bool[Tensor, "batch 1 1 keys"]:
    """Padding mask: no query may attend to a key whose id is `pad`.

    >>> padding_mask(torch.tensor([[7, 8, 0]]), pad=0)
    tensor([[[[ True,  True, False]]]])
    """
    return (ids != pad)[:, None, None, :]


def causal_mask(
    queries: int, keys: int | None = None, device: torch.device | str | None = None
) -> Bool[Tensor, "queries keys"]:
    """Causal mask: a query attends to its own position and the earlier ones.

    With fewer queries than keys, the queries are the *last* positions, as in decoding with a cache.
    Raises ValueError if there are more queries than keys.

    >>> causal_mask(3).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    keys = queries if keys is None else keys
    if queries > keys:
        raise ValueError(
            f"queries={queries} exceeds keys={keys}: the first queries would have no key to attend to"
        )
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def valid_lens_mask(
    valid_lens: Int[Tensor, " batch"] | Int[Tensor, "batch queries"], keys: int
) -> Bool[Tensor, "batch 1 #queries keys"]:
    """Padding mask from valid lengths (`valid_lens` in d2l): queries attend to the first `valid_lens` keys.

    valid_lens: one length per sequence, or one per query.
    Raises ValueError if a length is negative or exceeds `keys`.
    Source: C182-3, masked softmax.

    >>> valid_lens_mask(torch.tensor([1, 3]), keys=3).int()[:, 0, 0]  # one row per sequence
    tensor([[1, 0, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    low, high = valid_lens.min().item(), valid_lens.max().item()
    if low < 0 or high > keys:
        raise ValueError(f"valid_lens range from {low} to {high}, outside 0 to keys={keys}")
    lens = valid_lens[:, None] if valid_lens.ndim == 1 else valid_lens
    return (torch.arange(keys, device=valid_lens.device) < lens[..., None])[:, None]


def masked_softmax(
    scores: Float[Tensor, "*batch queries keys"], mask: Mask | None = None
) -> Float[Tensor, "*batch queries keys"]:
    """Softmax over the keys that the mask allows.

    mask: True where a query may attend; broadcasts to the scores.
    Returns the weights: each row sums to 1, or to 0 if the mask hides every key.
    Source: C182-3, masked softmax.

    >>> masked_softmax(torch.zeros(2, 2), causal_mask(2))
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])
    """
    if mask is None:
        return scores.softmax(dim=-1)
    check_mask(mask)
    some = mask.any(dim=-1, keepdim=True)
    # a row of only -inf would become NaN, also in its gradient: it stays as it is, and gets zeros in the end
    return scores.masked_fill(some & ~mask, -math.inf).softmax(dim=-1).masked_fill(~some, 0.0)


def check_mask(mask: Mask | None) -> None:
    """Raise ValueError unless the mask is Boolean. PyTorch *adds* a mask of numbers to the scores."""
    if mask is not None and mask.dtype != torch.bool:
        raise ValueError(
            f"the mask has dtype {mask.dtype}; it must be torch.bool: True where a query may attend"
        )

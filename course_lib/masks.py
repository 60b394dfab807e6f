"""Who may look at whom: boolean masks, True where a query may look at a key; and the softmax that obeys them.

Every mask broadcasts to (batch, heads, queries, keys), and masks are combined with `&`. This is the sense of
`F.scaled_dot_product_attention`; `nn.MultiheadAttention` has it the other way round (`~mask`).
"""

import math
from typing import TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Mask: TypeAlias = Bool[Tensor, "..."]


def padding_mask(ids: Int[Tensor, "batch keys"], pad: int) -> Bool[Tensor, "batch 1 1 keys"]:
    """Hide the padding: no query may look at a key whose id is `pad`."""
    return (ids != pad)[:, None, None, :]


def real_tokens(ids: Int[Tensor, "batch tokens"], pad: int, multiple: int = 64) -> Int[Tensor, " real"]:
    """The numbers of the tokens that are not `pad`, row by row, and then some that are.

    As many of these as fill the list up to a multiple of `multiple`, if there are so many: matrix products
    are prepared anew for each shape, so shapes that come again save time.
    """
    real = (ids != pad).flatten()
    numbers = real.nonzero()[:, 0]
    spare = (~real).nonzero()[: -len(numbers) % multiple, 0]
    return torch.cat([numbers, spare])


def causal_mask(
    queries: int, keys: int | None = None, device: torch.device | str | None = None
) -> Bool[Tensor, "queries keys"]:
    """Hide the future: a query looks at its own position and those before it.

    With fewer queries than keys the queries are the *last* positions, as in decoding with a cache.
    Raises ValueError where there are more queries than keys.
    """
    keys = queries if keys is None else keys
    if queries > keys:
        raise ValueError(
            f"queries={queries} are more than keys={keys}: the first ones would have nothing to see"
        )
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def valid_lens_mask(
    valid_lens: Int[Tensor, " batch"] | Int[Tensor, "batch queries"], keys: int
) -> Bool[Tensor, "batch 1 #queries keys"]:
    """The lectures' `valid_lens` as a mask: the first `valid_lens` keys may be looked at, the rest not.

    One length for each sentence, or one for each of its queries.
    Raises ValueError where a length is negative or exceeds `keys`.
    Source: C182-3, masked softmax.
    """
    low, high = valid_lens.min().item(), valid_lens.max().item()
    if low < 0 or high > keys:
        raise ValueError(f"valid_lens run from {low} to {high}, but there are keys={keys}")
    lens = valid_lens[:, None] if valid_lens.ndim == 1 else valid_lens
    return (torch.arange(keys, device=valid_lens.device) < lens[..., None])[:, None]


def masked_softmax(
    scores: Float[Tensor, "*batch queries keys"], mask: Mask | None = None
) -> Float[Tensor, "*batch queries keys"]:
    """Scores of any origin as weights: each row sums to 1, or to 0 where its query may look nowhere.

    mask: True where a query may look; broadcasts to the scores. The scores stay as they are.
    Source: C182-3, masked softmax.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    # a row of nothing but -inf comes out as NaN: such a query receives nothing
    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)

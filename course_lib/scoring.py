"""Additive attention: the scores come from a small network instead of a dot product."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.masks import Mask, masked_softmax


class AdditiveAttention(nn.Module):
    """Attention that learns its scoring: w_v · tanh(W_q q + W_k k) for each pair of a query and a key.

    Queries and keys may differ in width. Every pair costs d_hidden numbers in memory, a dot product one.
    Source: Bahdanau et al. 2015, appendix A.1.2; C182-3, scoring functions.
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int):
        super().__init__()
        self.w_q = nn.Linear(d_query, d_hidden, bias=False)
        self.w_k = nn.Linear(d_key, d_hidden, bias=False)
        self.w_v = nn.Linear(d_hidden, 1, bias=False)

    def scores(
        self, q: Float[Tensor, "*batch queries d_query"], k: Float[Tensor, "*batch keys d_key"]
    ) -> Float[Tensor, "*batch queries keys"]:
        """How well each query matches each key."""
        pairs = self.w_q(q)[..., :, None, :] + self.w_k(k)[..., None, :, :]  # (…, queries, keys, d_hidden)
        return self.w_v(torch.tanh(pairs)).squeeze(-1)

    def forward(
        self,
        q: Float[Tensor, "*batch queries d_query"],
        k: Float[Tensor, "*batch keys d_key"],
        v: Float[Tensor, "*batch keys d_value"],
        mask: Mask | None = None,
    ) -> tuple[Float[Tensor, "*batch queries d_value"], Float[Tensor, "*batch queries keys"]]:
        """The averages and the weights, as `attention` returns them."""
        weights = masked_softmax(self.scores(q, k), mask)
        return weights @ v, weights

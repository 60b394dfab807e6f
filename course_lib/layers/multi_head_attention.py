"""Attention: scaled dot-product, multi-head, and additive."""

import math
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.kv_cache import Cache
from course_lib.layers.masks import Mask, check_mask, masked_softmax
from course_lib.layers.positions import RotaryPositions, Start
from course_lib.utils.ranges import check_axes, check_numbers, check_whole


def attention(
    q: Float[Tensor, "*batch queries d_head"],
    k: Float[Tensor, "*batch keys d_head"],
    v: Float[Tensor, "*batch keys d_value"],
    mask: Mask | None = None,
) -> tuple[Float[Tensor, "*batch queries d_value"], Float[Tensor, "*batch queries keys"]]:
    """Scaled dot-product attention.

    Averages the values `v`, weighted by how well each query matches each key.
    mask: True where a query may attend to a key; broadcasts to the weights.
    Returns the averages and the weights. Each row of weights sums to 1 (to 0 if the mask hides every key).
    Source: Vaswani et al. 2017, equation (1).

    >>> q, k, v = torch.zeros(1, 2), torch.randn(3, 2), torch.eye(3)
    >>> averages, weights = attention(q, k, v)  # a query of zeros scores 0 with every key
    >>> weights
    tensor([[0.3333, 0.3333, 0.3333]])
    """
    weights = masked_softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), mask)
    return weights @ v, weights


def head_width(d_model: int, heads: int) -> int:
    """Width of one head. Raises ValueError if `heads` does not divide `d_model`, or if one is below 1."""
    check_whole(1, d_model=d_model, heads=heads)
    if d_model % heads:
        raise ValueError(f"heads={heads} does not divide d_model={d_model}")
    return d_model // heads


class MultiHeadAttention(nn.Module):
    """Multi-head attention: project, split into heads, attend in each head, merge.

    Self-attention is `mha(x)`; cross-attention is `mha(x, memory)`.
    d_model: width of the hidden states. heads: must divide d_model. dropout: of the attention weights.
    rotary: rotary positions for queries and keys; for self-attention only.
    qk_norm: scale queries and keys to length √d_head, which bounds the scores by √d_head.
    kv_heads: heads of keys and values, each shared by heads / kv_heads query heads (grouped-query attention);
    None for one per query head.
    Raises ValueError if `heads` does not divide `d_model`, `kv_heads` does not divide `heads`, or a value is
    outside its range.
    Source: Vaswani et al. 2017, section 3.2.2; Henry et al. 2020 (qk_norm); Ainslie et al. 2023 (kv_heads).

    >>> mha = MultiHeadAttention(d_model=12, heads=3)
    >>> mha(torch.randn(2, 5, 12)).shape  # self-attention: 5 queries, 5 keys
    torch.Size([2, 5, 12])
    >>> mha(torch.randn(2, 5, 12), torch.randn(2, 7, 12)).shape  # cross-attention: 5 queries, 7 keys
    torch.Size([2, 5, 12])
    """

    # PyTorch's fused kernel. Replace it in one layer, or in a subclass, and the layer runs your function.
    attend = staticmethod(F.scaled_dot_product_attention)

    def __init__(
        self,
        d_model: int,
        heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        rotary: RotaryPositions | None = None,
        qk_norm: bool = False,
        kv_heads: int | None = None,
    ):
        super().__init__()
        self.d_head = head_width(d_model, heads)
        self.heads, self.kv_heads = heads, heads if kv_heads is None else kv_heads
        check_whole(1, kv_heads=self.kv_heads)
        check_numbers(SimpleNamespace(dropout=dropout), "[0, 1)", "dropout")
        if heads % self.kv_heads:
            raise ValueError(f"kv_heads={kv_heads} does not divide heads={heads}")
        self.dropout, self.rotary, self.qk_norm = dropout, rotary, qk_norm
        self.w_q = nn.Linear(d_model, d_model, bias)
        self.w_kv = nn.Linear(d_model, 2 * self.kv_heads * self.d_head, bias)
        self.w_o = nn.Linear(d_model, d_model, bias)

    def forward(
        self,
        x: Float[Tensor, "batch queries d_model"],
        context: Float[Tensor, "batch keys d_model"] | None = None,
        mask: Mask | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "batch queries d_model"]:
        """Attend from the tokens of `x` to those of `context`, and to the earlier tokens in the cache.

        context: None for `x` itself. mask: True where a query may attend to a key; None: everywhere.
        """
        check_mask(mask)
        start = 0 if cache is None else cache.length  # the position of the first token of `x`
        q = self.positioned(self.split(self.w_q(x)), start)  # (batch, heads, queries, d_head)
        if cache is not None and cache.complete is not None:
            k, v = cache.complete
        else:
            kv = self.w_kv(x if context is None else context)  # (batch, keys, 2 · kv_heads · d_head)
            k, v = self.split(kv).chunk(2, dim=1)  # (batch, kv_heads, keys, d_head) each
            k = self.positioned(k, start)
            k, v = (k, v) if cache is None else cache.append(k, v)  # with those of the earlier tokens
        if self.kv_heads < self.heads:  # grouped-query attention: repeat each key-value head for its group
            k, v = (part.repeat_interleave(self.heads // self.kv_heads, dim=1) for part in (k, v))
        dropout = self.dropout if self.training else 0.0
        averages = self.attend(q, k, v, attn_mask=mask, dropout_p=dropout)  # (batch, heads, queries, d_head)
        return self.w_o(averages.transpose(1, 2).flatten(-2))  # (batch, queries, d_model)

    def split(self, x: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch heads tokens d_head"]:
        """Split each vector into heads. Raises ValueError for anything but a batch of sequences."""
        check_axes(x, "batch, tokens, d_model")
        return x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)

    def positioned(
        self, x: Float[Tensor, "batch heads tokens d_head"], start: Start
    ) -> Float[Tensor, "batch heads tokens d_head"]:
        """Queries or keys with qk_norm and rotary positions applied, where the layer has them."""
        x = F.rms_norm(x, x.shape[-1:]) if self.qk_norm else x
        return x if self.rotary is None else self.rotary(x, start)


class AdditiveAttention(nn.Module):
    """Additive attention: scores v · tanh(W_q q + W_k k), a small network instead of a dot product.

    Queries and keys may have different widths. d_hidden: width inside the network.
    Source: Bahdanau et al. 2015, appendix A.1.2; C182-3, slide "Additive attention".

    >>> additive = AdditiveAttention(d_query=4, d_key=6, d_hidden=8)
    >>> averages, weights = additive(torch.randn(2, 4), torch.randn(5, 6), torch.randn(5, 3))
    >>> averages.shape, weights.shape
    (torch.Size([2, 3]), torch.Size([2, 5]))
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int):
        super().__init__()
        check_whole(1, d_query=d_query, d_key=d_key, d_hidden=d_hidden)
        self.w_q = nn.Linear(d_query, d_hidden, bias=False)
        self.w_k = nn.Linear(d_key, d_hidden, bias=False)
        self.w_v = nn.Linear(d_hidden, 1, bias=False)

    def scores(
        self, q: Float[Tensor, "*batch queries d_query"], k: Float[Tensor, "*batch keys d_key"]
    ) -> Float[Tensor, "*batch queries keys"]:
        """The score of each query with each key. Raises ValueError for a single vector instead of several."""
        if min(q.ndim, k.ndim) < 2:
            raise ValueError(f"queries {tuple(q.shape)} and keys {tuple(k.shape)} must be (…, tokens, width)")
        pairs = self.w_q(q)[..., :, None, :] + self.w_k(k)[..., None, :, :]  # (…, queries, keys, d_hidden)
        return self.w_v(torch.tanh(pairs)).squeeze(-1)

    def forward(
        self,
        q: Float[Tensor, "*batch queries d_query"],
        k: Float[Tensor, "*batch keys d_key"],
        v: Float[Tensor, "*batch keys d_value"],
        mask: Mask | None = None,
    ) -> tuple[Float[Tensor, "*batch queries d_value"], Float[Tensor, "*batch queries keys"]]:
        """Return the averages and the weights, as `attention` does."""
        weights = masked_softmax(self.scores(q, k), mask)
        return weights @ v, weights

"""Attention: scaled dot-product, multi-head, and additive."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.kv_cache import Cache, KeysValues
from course_lib.layers.linear import Linear
from course_lib.layers.masks import Mask, masked_softmax
from course_lib.layers.positions import RotaryPositions, Start


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
    """
    weights = masked_softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), mask)
    return weights @ v, weights


def head_width(d_model: int, heads: int) -> int:
    """Width of one head. Raises ValueError if `heads` does not divide `d_model`."""
    if d_model % heads:
        raise ValueError(f"heads={heads} does not divide d_model={d_model}")
    return d_model // heads


class MultiHeadAttention(nn.Module):
    """Multi-head attention: project, split into heads, attend in each head, merge.

    Self-attention is `mha(x, x)`; cross-attention is `mha(x, memory)`.
    d_model: width of the hidden states. heads: must divide d_model. dropout: of the attention weights.
    rotary: rotary positions for queries and keys; for self-attention only.
    qk_norm: scale queries and keys to length √d_head, which bounds the scores by √d_head.
    kv_heads: heads of keys and values, each shared by heads / kv_heads query heads (grouped-query attention);
    None for one per query head.
    Raises ValueError if `heads` does not divide `d_model`, or `kv_heads` does not divide `heads`.
    Source: Vaswani et al. 2017, section 3.2.2; Henry et al. 2020 (qk_norm); Ainslie et al. 2023 (kv_heads).
    """

    # PyTorch's fused kernel. `record_attention` and `for_inference` replace it in single layers.
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
        if self.kv_heads < 1 or heads % self.kv_heads:
            raise ValueError(f"kv_heads={kv_heads} does not divide heads={heads}")
        self.dropout, self.rotary, self.qk_norm = dropout, rotary, qk_norm
        self.w_q = Linear(d_model, d_model, bias)
        self.w_kv = Linear(d_model, 2 * self.kv_heads * self.d_head, bias)
        self.w_o = Linear(d_model, d_model, bias)

    def forward(
        self,
        x: Float[Tensor, "batch queries d_model"],
        memory: Float[Tensor, "batch keys d_model"],
        mask: Mask | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "batch queries d_model"]:
        """Attend from the tokens of `x` to those of `memory`, and to the earlier tokens in the cache."""
        start = getattr(cache, "length", 0)  # number of earlier tokens, in self-attention with a cache
        q = self.apply_rotary(self.split(self.w_q(x)), start)
        project = partial(self.keys_values, start=start)
        k, v = project(memory) if cache is None else cache.extend(memory, project)
        if self.kv_heads < self.heads:  # grouped-query attention: repeat each key-value head for its group
            k, v = (part.repeat_interleave(self.heads // self.kv_heads, dim=1) for part in (k, v))
        dropout = self.dropout if self.training else 0.0
        heads = self.attend(q, k, v, attn_mask=mask, dropout_p=dropout)
        return self.w_o(heads.transpose(1, 2).flatten(-2))

    def keys_values(self, memory: Float[Tensor, "batch keys d_model"], start: Start = 0) -> KeysValues:
        """Keys and values of each head; `start` is the position of the first token."""
        k, v = self.w_kv(memory).chunk(2, dim=-1)
        return self.apply_rotary(self.split(k), start), self.split(v)

    def split(self, x: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch heads tokens d_head"]:
        return x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)

    def apply_rotary(
        self, x: Float[Tensor, "batch heads tokens d_head"], start: Start
    ) -> Float[Tensor, "batch heads tokens d_head"]:
        """Queries or keys with qk_norm and rotary positions applied, where the layer has them."""
        x = F.rms_norm(x, x.shape[-1:]) if self.qk_norm else x
        return x if self.rotary is None else self.rotary(x, start)


def cpu_bf16_attention(
    q: Float[Tensor, "batch heads queries d_head"],
    k: Float[Tensor, "batch heads keys d_head"],
    v: Float[Tensor, "batch heads keys d_head"],
    attn_mask: Mask | None = None,
    dropout_p: float = 0.0,
) -> Float[Tensor, "batch heads queries d_head"]:
    """`F.scaled_dot_product_attention`, but fast in bf16 on a CPU: there the formula beats the kernel."""
    if q.dtype == torch.bfloat16 and q.device.type == "cpu" and not dropout_p:
        return attention(q, k, v, attn_mask)[0]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, dropout_p=dropout_p)


class AdditiveAttention(nn.Module):
    """Additive attention: scores v · tanh(W_q q + W_k k), a small network instead of a dot product.

    Queries and keys may have different widths. d_hidden: width inside the network.
    Source: Bahdanau et al. 2015, appendix A.1.2; C182-3, slide "Additive attention".
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int):
        super().__init__()
        self.w_q = nn.Linear(d_query, d_hidden, bias=False)
        self.w_k = nn.Linear(d_key, d_hidden, bias=False)
        self.w_v = nn.Linear(d_hidden, 1, bias=False)

    def scores(
        self, q: Float[Tensor, "*batch queries d_query"], k: Float[Tensor, "*batch keys d_key"]
    ) -> Float[Tensor, "*batch queries keys"]:
        """The score of each query with each key."""
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

"""Transformer blocks: residual connections, feed-forward layers, encoder and decoder blocks."""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.kv_cache import Cache
from course_lib.layers.masks import Mask
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.layers.positions import RotaryPositions
from course_lib.utils.ranges import check_whole

Activation: TypeAlias = Callable[[Tensor], Tensor]


def squared_relu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Squared ReLU. Source: So et al. 2021, section 3."""
    return F.relu(x).square()


ACTIVATIONS: dict[str, Activation] = {
    "relu": F.relu,
    "gelu": partial(F.gelu, approximate="tanh"),  # the variant that GPT-2 uses
    "exact gelu": F.gelu,  # BERT's and ViT's
    "squared relu": squared_relu,
}
Sequence: TypeAlias = Float[Tensor, "batch tokens d_model"]


class FeedForward(nn.Module):
    """Position-wise feed-forward network: two linear layers with an activation between them.

    d_ff: width between the two. Source: Vaswani et al. 2017, equation (2).

    >>> FeedForward(d_model=12, d_ff=48)(torch.randn(2, 5, 12)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(self, d_model: int, d_ff: int, activation: Activation = F.relu):
        super().__init__()
        check_whole(1, d_model=d_model, d_ff=d_ff)
        self.w_in = nn.Linear(d_model, d_ff)
        self.w_out = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        return self.w_out(self.activation(self.w_in(x)))  # d_model → d_ff → d_model, each token by itself


class EncoderBlock(nn.Module):
    """Encoder block: self-attention, then feed-forward. With a causal mask, the block of a GPT.

    norm: "pre" (LayerNorm on the input of each sublayer, as in PreLN) or "post" (on the sum, as in FG).
    dropout: on the output of each sublayer, as in the paper; none inside the sublayers.
    rotary, qk_norm, kv_heads: see `MultiHeadAttention`. epsilon: of every LayerNorm.
    Source: Vaswani et al. 2017, figure 1, left; Xiong et al. 2020, figure 1 (the two norms).

    >>> from course_lib.layers import causal_mask
    >>> block = EncoderBlock(d_model=12, heads=3, d_ff=48)
    >>> block(torch.randn(2, 5, 12), causal_mask(5)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm: str = "pre",
        activation: Activation = F.relu,
        rotary: RotaryPositions | None = None,
        qk_norm: bool = False,
        kv_heads: int | None = None,
        epsilon: float = 1e-5,
    ):
        super().__init__()
        self.pre_norm = is_pre_norm(norm)
        self.attention = MultiHeadAttention(d_model, heads, rotary=rotary, qk_norm=qk_norm, kv_heads=kv_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.norm_1, self.norm_2 = (nn.LayerNorm(d_model, epsilon) for _ in range(2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Sequence, mask: Mask | None = None, cache: Cache | None = None) -> Sequence:
        """Transform the tokens of `x`.

        mask: which tokens attend to which; None: all to all. cache: the earlier tokens, when a GPT generates.
        """
        if self.pre_norm:  # x: (batch, tokens, d_model), in every line
            x = x + self.dropout(self.attention(self.norm_1(x), mask=mask, cache=cache))
            return x + self.dropout(self.feed_forward(self.norm_2(x)))
        x = self.norm_1(x + self.dropout(self.attention(x, mask=mask, cache=cache)))
        return self.norm_2(x + self.dropout(self.feed_forward(x)))


class DecoderBlock(nn.Module):
    """Decoder block: causal self-attention, cross-attention to the encoder's memory, then feed-forward.

    rotary: for the self-attention; the memory has its own positions. qk_norm, kv_heads: for both attentions.
    The other arguments are those of `EncoderBlock`.
    Source: Vaswani et al. 2017, figure 1, right.

    >>> from course_lib.layers import causal_mask
    >>> block = DecoderBlock(d_model=12, heads=3, d_ff=48)
    >>> block(torch.randn(2, 5, 12), torch.randn(2, 7, 12), causal_mask(5)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm: str = "pre",
        activation: Activation = F.relu,
        rotary: RotaryPositions | None = None,
        qk_norm: bool = False,
        kv_heads: int | None = None,
        epsilon: float = 1e-5,
    ):
        super().__init__()
        self.pre_norm = is_pre_norm(norm)
        self.attention = MultiHeadAttention(d_model, heads, rotary=rotary, qk_norm=qk_norm, kv_heads=kv_heads)
        self.cross_attention = MultiHeadAttention(d_model, heads, qk_norm=qk_norm, kv_heads=kv_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.norm_1, self.norm_2, self.norm_3 = (nn.LayerNorm(d_model, epsilon) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Sequence,
        memory: Float[Tensor, "batch source d_model"],
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        caches: tuple[Cache, Cache] | tuple[None, None] = (None, None),
    ) -> Sequence:
        """Transform the tokens of `x`.

        memory: the encoder's output. mask: between the tokens of `x`. memory_mask: from `x` to the memory.
        caches: one for self-attention, one for cross-attention.
        """
        own, other = caches
        if self.pre_norm:  # x: (batch, target, d_model), in every line
            x = x + self.dropout(self.attention(self.norm_1(x), mask=mask, cache=own))
            x = x + self.dropout(self.cross_attention(self.norm_2(x), memory, memory_mask, other))
            return x + self.dropout(self.feed_forward(self.norm_3(x)))
        x = self.norm_1(x + self.dropout(self.attention(x, mask=mask, cache=own)))
        x = self.norm_2(x + self.dropout(self.cross_attention(x, memory, memory_mask, other)))
        return self.norm_3(x + self.dropout(self.feed_forward(x)))


def is_pre_norm(norm: str) -> bool:
    """Whether `norm` is "pre" and not "post". Raises ValueError for any other word."""
    if norm not in ("pre", "post"):
        raise ValueError(f"norm={norm!r} is neither 'pre' nor 'post'")
    return norm == "pre"

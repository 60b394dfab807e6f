"""The blocks that Transformers are stacked from."""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention
from course_lib.cache import Cache
from course_lib.masks import Mask
from course_lib.positions import RotaryPositions

Activation: TypeAlias = Callable[[Tensor], Tensor]
ACTIVATIONS: dict[str, Activation] = {
    "relu": F.relu,
    "gelu": partial(F.gelu, approximate="tanh"),  # the form that GPT-2 computes
    "squared relu": lambda x: F.relu(x).square(),  # So et al. 2021
}
Sequence: TypeAlias = Float[Tensor, "batch tokens d_model"]


class Residual(nn.Module):
    """Adds what a sublayer says about `x` to `x`; the LayerNorm stands before the sublayer or after the sum.

    norm: "post" as in the first Transformer (FG), "pre" as in PreLN.
    Source: Vaswani et al. 2017, section 3.1; Xiong et al. 2020, figure 1.
    """

    def __init__(self, d_model: int, dropout: float, norm: str):
        super().__init__()
        if norm not in ("pre", "post"):
            raise ValueError(f"norm={norm!r} is neither 'pre' nor 'post'")
        self.place = norm
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Sequence, sublayer: Callable[[Tensor], Tensor]) -> Sequence:
        if self.place == "pre":
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


class FeedForward(nn.Module):
    """Two linear layers with a nonlinearity between them, the same at every position.

    Source: Vaswani et al. 2017, equation (2).
    """

    def __init__(self, d_model: int, d_ff: int, activation: Activation = F.relu):
        super().__init__()
        self.w_in = nn.Linear(d_model, d_ff)
        self.w_out = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x: Sequence, real: Int[Tensor, " real"] | None = None) -> Sequence:
        """real: numbers of the only tokens that matter (`real_tokens`); the others get zeros, at no cost."""
        if real is None:
            return self.w_out(self.activation(self.w_in(x)))
        tokens = x.flatten(0, 1)
        out = self.w_out(self.activation(self.w_in(tokens[real])))
        return torch.zeros_like(tokens, dtype=out.dtype).index_copy(0, real, out).view_as(x)


class EncoderBlock(nn.Module):
    """Self-attention, then feed-forward: every token looks at every other.

    dropout: on what each sublayer adds, as in the paper; none inside the sublayers.
    rotary, normalise: for queries and keys of the self-attention.
    Source: Vaswani et al. 2017, figure 1, left.
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
        normalise: bool = False,
    ):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, heads, rotary=rotary, normalise=normalise)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.residuals = nn.ModuleList(Residual(d_model, dropout, norm) for _ in range(2))

    def forward(
        self,
        x: Sequence,
        mask: Mask | None = None,
        cache: Cache | None = None,
        real: Int[Tensor, " real"] | None = None,
    ) -> Sequence:
        """mask: which tokens may look at which. cache: of the tokens read before, in decoder-only models.

        real: numbers of the only tokens that matter, for `FeedForward`.
        """
        x = self.residuals[0](x, lambda y: self.attention(y, y, mask, cache))
        return self.residuals[1](x, lambda y: self.feed_forward(y, real))


class DecoderBlock(nn.Module):
    """Self-attention over the output so far, cross-attention to the encoder's memory, then feed-forward.

    dropout: on what each sublayer adds, as in the paper; none inside the sublayers.
    rotary: for queries and keys of the self-attention; the memory has positions of its own.
    Source: Vaswani et al. 2017, figure 1, right.
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
    ):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, heads, rotary=rotary)
        self.cross_attention = MultiHeadAttention(d_model, heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.residuals = nn.ModuleList(Residual(d_model, dropout, norm) for _ in range(3))

    def forward(
        self,
        x: Sequence,
        memory: Float[Tensor, "batch source d_model"],
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        caches: tuple[Cache, Cache] | tuple[None, None] = (None, None),
        real: Int[Tensor, " real"] | None = None,
    ) -> Sequence:
        """mask: among the tokens of `x`. memory_mask: from them to the memory.

        caches: one for self-attention, one for cross-attention.
        real: numbers of the only tokens that matter, for `FeedForward`.
        """
        x = self.residuals[0](x, lambda y: self.attention(y, y, mask, caches[0]))
        x = self.residuals[1](x, lambda y: self.cross_attention(y, memory, memory_mask, caches[1]))
        return self.residuals[2](x, lambda y: self.feed_forward(y, real))

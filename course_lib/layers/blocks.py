"""Transformer blocks: residual connections, feed-forward layers, encoder and decoder blocks."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeAlias, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.attention import MultiHeadAttention
from course_lib.layers.kv_cache import Cache
from course_lib.layers.linear import Linear
from course_lib.layers.masks import Mask
from course_lib.layers.positions import RotaryPositions

Activation: TypeAlias = Callable[[Tensor], Tensor]
ACTIVATIONS: dict[str, Activation] = {
    "relu": F.relu,
    "gelu": partial(F.gelu, approximate="tanh"),  # the variant that GPT-2 uses
    "squared relu": lambda x: F.relu(x).square(),  # So et al. 2021
}
Sequence: TypeAlias = Float[Tensor, "batch tokens d_model"]


class Residual(nn.Module):
    """Residual connection around a sublayer, with LayerNorm before the sublayer or after the sum.

    norm: "post" as in the original Transformer (FG), "pre" as in PreLN.
    Source: Vaswani et al. 2017, section 3.1; Xiong et al. 2020, figure 1.
    """

    def __init__(self, d_model: int, dropout: float, norm: str):
        super().__init__()
        if norm not in ("pre", "post"):
            raise ValueError(f"norm={norm!r} is neither 'pre' nor 'post'")
        self.place = norm
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def before(self, x: Sequence) -> Sequence:
        """The input of the sublayer."""
        return self.norm(x) if self.place == "pre" else x

    def after(self, x: Sequence, y: Sequence) -> Sequence:
        """Add the output `y` of the sublayer to `x`."""
        x = x + self.dropout(y)
        return x if self.place == "pre" else self.norm(x)

    def forward(self, x: Sequence, sublayer: Callable[[Tensor], Tensor]) -> Sequence:
        return self.after(x, sublayer(self.before(x)))


class FeedForward(nn.Module):
    """Position-wise feed-forward network: two linear layers with an activation between them.

    Source: Vaswani et al. 2017, equation (2).
    """

    def __init__(self, d_model: int, d_ff: int, activation: Activation = F.relu):
        super().__init__()
        self.w_in = Linear(d_model, d_ff)
        self.w_out = Linear(d_ff, d_model)
        self.activation = activation

    def forward(
        self, x: Float[Tensor, "*batch d_model"], nonpad: Int[Tensor, " nonpad"] | None = None
    ) -> Float[Tensor, "*batch d_model"]:
        """nonpad: `nonpad_indices`; the other tokens get zeros and cost nothing. None: all tokens."""
        if nonpad is not None:
            return self.skip_padding(x, nonpad)
        return self.w_out(self.activation(self.w_in(x)))

    def skip_padding(self, x: Sequence, nonpad: Int[Tensor, " nonpad"]) -> Sequence:
        """The same for the tokens with these indices only; zeros elsewhere."""
        tokens = x.flatten(0, 1)
        out = self.forward(tokens[nonpad])
        return torch.zeros_like(tokens, dtype=out.dtype).index_copy(0, nonpad, out).view_as(x)


class EncoderBlock(nn.Module):
    """Encoder block: self-attention, then feed-forward. With a causal mask, the block of a GPT.

    dropout: on the output of each sublayer, as in the paper; none inside the sublayers.
    rotary, qk_norm: see `MultiHeadAttention`.
    Source: Vaswani et al. 2017, figure 1, left.
    """

    compute_all = False  # whether `forward` ignores `queries`; see `record_attention`

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
    ):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, heads, rotary=rotary, qk_norm=qk_norm)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.residuals = cast(
            Iterable[Residual], nn.ModuleList(Residual(d_model, dropout, norm) for _ in range(2))
        )

    def forward(
        self,
        x: Sequence,
        mask: Mask | None = None,
        cache: Cache | None = None,
        nonpad: Int[Tensor, " nonpad"] | None = None,
        queries: int | None = None,
    ) -> Float[Tensor, "batch queries d_model"]:
        """Transform the tokens of `x`.

        mask: which tokens attend to which. cache: the earlier tokens, when a decoder-only model generates.
        nonpad: for `FeedForward`. queries: compute only the first so many tokens; all others are attended to,
        but have no output (no `mask` and no `nonpad` then).
        """
        first, second = self.residuals
        y = first.before(x)
        if queries and not self.compute_all:
            x = first.after(x[:, :queries], self.attention(y[:, :queries], y))
        else:
            x = first.after(x, self.attention(y, y, mask, cache))
        return second.after(x, self.feed_forward(second.before(x), nonpad))


class DecoderBlock(nn.Module):
    """Decoder block: causal self-attention, cross-attention to the encoder's memory, then feed-forward.

    dropout: on the output of each sublayer, as in the paper; none inside the sublayers.
    rotary: for the self-attention; the memory has its own positions. qk_norm: for both attentions.
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
        qk_norm: bool = False,
    ):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, heads, rotary=rotary, qk_norm=qk_norm)
        self.cross_attention = MultiHeadAttention(d_model, heads, qk_norm=qk_norm)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.residuals = cast(
            Iterable[Residual], nn.ModuleList(Residual(d_model, dropout, norm) for _ in range(3))
        )

    def forward(
        self,
        x: Sequence,
        memory: Float[Tensor, "batch source d_model"],
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        caches: tuple[Cache, Cache] | tuple[None, None] = (None, None),
        nonpad: Int[Tensor, " nonpad"] | None = None,
    ) -> Sequence:
        """Transform the tokens of `x`.

        mask: between the tokens of `x`. memory_mask: from `x` to the memory.
        caches: one for self-attention, one for cross-attention. nonpad: for `FeedForward`.
        """
        first, second, third = self.residuals
        y = first.before(x)
        x = first.after(x, self.attention(y, y, mask, caches[0]))
        x = second.after(x, self.cross_attention(second.before(x), memory, memory_mask, caches[1]))
        return third.after(x, self.feed_forward(third.before(x), nonpad))

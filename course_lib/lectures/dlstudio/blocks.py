"""The lecture's Basic Encoder and Basic Decoder, each oddity behind its switch."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.blocks import FeedForward, Residual, Sequence
from course_lib.lectures.dlstudio.attention import OddAttention
from course_lib.lectures.dlstudio.oddities import Oddities
from course_lib.masks import Mask


@dataclass(frozen=True, kw_only=True)
class DLStudioConfig:
    """Sizes; the defaults are those of the lecture's results.

    tokens: of every sentence, SOS, EOS and padding included (the lecture's max_seq_length).
    dropout: probability, in force where it is not switched off as an oddity.
    head_bias: whether the Linears of the heads have a bias; those of the vision Transformer have none.
    Raises ValueError where `heads` does not divide `d_model`.
    Source: Kak slides 77-79.
    """

    source_vocab: int = 11_258
    target_vocab: int = 21_823
    d_model: int = 256
    heads: int = 4
    encoder_layers: int = 4
    decoder_layers: int = 4
    tokens: int = 10
    dropout: float = 0.1
    head_bias: bool = True

    def __post_init__(self) -> None:
        if self.d_model % self.heads:
            raise ValueError(f"heads={self.heads} does not divide d_model={self.d_model}")

    @property
    def d_ff(self) -> int:
        """Twice d_model in DLStudio; the paper takes four times."""
        return 2 * self.d_model


class MaybeResidual(Residual):
    """A sublayer with its LayerNorm and its dropout, and with or without its residual."""

    def __init__(self, d_model: int, dropout: float, norm: str, without: bool):
        super().__init__(d_model, dropout, norm)
        self.without = without

    def forward(self, x: Sequence, sublayer: Callable[[Tensor], Tensor]) -> Sequence:
        if not self.without:
            return super().forward(x, sublayer)
        if self.place == "pre":
            return self.dropout(sublayer(self.norm(x)))
        return self.norm(self.dropout(sublayer(x)))


class FlatFeedForward(nn.Module):
    """A feed-forward layer whose input is a whole sentence of `tokens` tokens, as one long vector."""

    def __init__(self, d_model: int, d_ff: int, tokens: int):
        super().__init__()
        self.w_in = nn.Linear(tokens * d_model, tokens * d_ff)
        self.w_out = nn.Linear(tokens * d_ff, tokens * d_model)

    def forward(self, x: Sequence) -> Sequence:
        return self.w_out(self.w_in(x.flatten(1)).relu()).view_as(x)


class BasicEncoder(nn.Module):
    """Self-attention, then feed-forward. Source: Kak slides 45-46."""

    def __init__(self, config: DLStudioConfig, oddities: Oddities, norm: str):
        super().__init__()
        self.attention = attention_layer(config, oddities, oddities.flat_self_attention)
        self.feed_forward = feed_forward_layer(config, oddities)
        self.residuals = residuals(config, oddities, norm, [oddities.no_encoder_residual, False])

    def forward(self, x: Sequence, mask: Mask | None = None) -> Sequence:
        x = self.residuals[0](x, lambda y: self.attention(y, y, mask))
        return self.residuals[1](x, self.feed_forward)


class BasicDecoder(nn.Module):
    """Self-attention, cross-attention, feed-forward. Source: Kak slides 54-55."""

    def __init__(self, config: DLStudioConfig, oddities: Oddities, norm: str):
        super().__init__()
        self.oddities = oddities
        self.attention = attention_layer(config, oddities, oddities.flat_self_attention)
        self.cross_attention = attention_layer(config, oddities, oddities.flat_cross_attention)
        self.feed_forward = feed_forward_layer(config, oddities)
        self.residuals = residuals(config, oddities, norm, [False, oddities.no_cross_residual, False])

    def forward(
        self,
        x: Sequence,
        memory: Float[Tensor, "batch source d_model"],
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        visible: int | None = None,
    ) -> Sequence:
        """mask: among the tokens of `x`. memory_mask: from them to the memory.

        visible: how many words may be seen, the others become zeros; None where zeros hide nothing.
        """
        if visible is not None and not self.oddities.mask_only_at_entry:
            x = keep_first(x, visible, dim=2 if self.oddities.mask_slices_embedding else 1)
        x = self.residuals[0](x, lambda y: self.attention(y, y, mask))
        x = self.residuals[1](x, lambda y: self.cross_attention(y, memory, memory_mask))
        return self.residuals[2](x, self.feed_forward)


def keep_first(x: Sequence, visible: int, dim: int) -> Sequence:
    """Zeros in place of all but the first `visible` slices along `dim`: 1 is positions, 2 is features.

    The lecture's mask is a vector of ones that grows by one with each word; only its length is used.
    """
    shown = torch.arange(x.shape[dim], device=x.device) < visible
    return x * (shown[:, None] if dim == 1 else shown)


def attention_layer(config: DLStudioConfig, oddities: Oddities, flat: bool) -> OddAttention:
    return OddAttention(config.d_model, config.heads, config.tokens, flat, oddities, config.head_bias)


def feed_forward_layer(config: DLStudioConfig, oddities: Oddities) -> FeedForward | FlatFeedForward:
    if oddities.flat_feed_forward:
        return FlatFeedForward(config.d_model, config.d_ff, config.tokens)
    return FeedForward(config.d_model, config.d_ff)


def residuals(config: DLStudioConfig, oddities: Oddities, norm: str, without: list[bool]) -> nn.ModuleList:
    """One for each sublayer; `without` says which of them leave the residual out."""
    dropout = 0.0 if oddities.no_dropout else config.dropout
    return nn.ModuleList(MaybeResidual(config.d_model, dropout, norm, one) for one in without)

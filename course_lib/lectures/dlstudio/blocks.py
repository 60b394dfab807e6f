"""The lecture's Basic Encoder and Basic Decoder, with a switch for each deviation."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.blocks import FeedForward, Sequence, is_pre_norm
from course_lib.layers.masks import Mask
from course_lib.layers.multi_head_attention import head_width
from course_lib.lectures.dlstudio.attention import DLStudioAttention
from course_lib.lectures.dlstudio.deviations import Deviations
from course_lib.utils.ranges import check_names, check_numbers, check_whole_numbers


@dataclass(frozen=True, kw_only=True)
class DLStudioConfig:
    """Sizes; the defaults are those behind the lecture's results.

    tokens: length of every sentence, including SOS, EOS and padding (the lecture's max_seq_length).
    dropout: probability, unless the deviation `no_dropout` is on.
    head_bias: whether the projections of the heads have a bias; those of the vision Transformer have none.
    Raises ValueError for a value outside its range.
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
        check_whole_numbers(self, 1, "source_vocab", "target_vocab", "d_model", "heads", "tokens")
        check_whole_numbers(self, 0, "encoder_layers", "decoder_layers")
        check_numbers(self, "[0, 1)", "dropout")
        check_names(self, head_bias=(True, False))
        head_width(self.d_model, self.heads)

    @property
    def d_ff(self) -> int:
        """Feed-forward width: 2·d_model in DLStudio, 4·d_model in the paper."""
        return 2 * self.d_model


class MaybeResidual(nn.Module):
    """Residual connection around a sublayer, with LayerNorm and dropout; `without` removes the addition."""

    def __init__(self, d_model: int, dropout: float, norm: str, without: bool):
        super().__init__()
        self.pre_norm, self.without = is_pre_norm(norm), without
        self.norm, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Sequence, sublayer: Callable[[Tensor], Tensor]) -> Sequence:
        y = self.dropout(sublayer(self.norm(x) if self.pre_norm else x))
        y = y if self.without else x + y
        return y if self.pre_norm else self.norm(y)


class FlatFeedForward(nn.Module):
    """Feed-forward layer on a flattened sentence of `tokens` tokens."""

    def __init__(self, d_model: int, d_ff: int, tokens: int):
        super().__init__()
        self.w_in = nn.Linear(tokens * d_model, tokens * d_ff)
        self.w_out = nn.Linear(tokens * d_ff, tokens * d_model)

    def forward(self, x: Sequence) -> Sequence:
        return self.w_out(self.w_in(x.flatten(1)).relu()).view_as(x)


class BasicEncoder(nn.Module):
    """Encoder block: self-attention, then feed-forward. Source: Kak slides 45-46."""

    def __init__(self, config: DLStudioConfig, deviations: Deviations, norm: str):
        super().__init__()
        self.attention = attention_layer(config, deviations, deviations.flat_self_attention)
        self.feed_forward = feed_forward_layer(config, deviations)
        self.residuals = residuals(config, deviations, norm, [deviations.no_encoder_residual, False])

    def forward(self, x: Sequence, mask: Mask | None = None) -> Sequence:
        x = self.residuals[0](x, lambda y: self.attention(y, y, mask))
        return self.residuals[1](x, self.feed_forward)


class BasicDecoder(nn.Module):
    """Decoder block: self-attention, cross-attention, feed-forward. Source: Kak slides 54-55."""

    def __init__(self, config: DLStudioConfig, deviations: Deviations, norm: str):
        super().__init__()
        self.deviations = deviations
        self.attention = attention_layer(config, deviations, deviations.flat_self_attention)
        self.cross_attention = attention_layer(config, deviations, deviations.flat_cross_attention)
        self.feed_forward = feed_forward_layer(config, deviations)
        self.residuals = residuals(config, deviations, norm, [False, deviations.no_cross_residual, False])

    def forward(
        self,
        x: Sequence,
        memory: Float[Tensor, "batch source d_model"],
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        visible: int | None = None,
    ) -> Sequence:
        """Run the block. mask: for self-attention. memory_mask: for cross-attention.

        visible: number of visible positions, the others are zeroed; None: no zeroing.
        """
        if visible is not None and not self.deviations.mask_only_at_entry:
            x = keep_first(x, visible, dim=2 if self.deviations.mask_slices_embedding else 1)
        x = self.residuals[0](x, lambda y: self.attention(y, y, mask))
        x = self.residuals[1](x, lambda y: self.cross_attention(y, memory, memory_mask))
        return self.residuals[2](x, self.feed_forward)


def keep_first(x: Sequence, visible: int, dim: int) -> Sequence:
    """Zero all but the first `visible` slices along `dim`: 1 for positions, 2 for features.

    The lecture's mask is a vector of ones that grows by one per word; only its length matters.
    """
    shown = torch.arange(x.shape[dim], device=x.device) < visible
    return x * (shown[:, None] if dim == 1 else shown)


def attention_layer(config: DLStudioConfig, deviations: Deviations, flat: bool) -> DLStudioAttention:
    return DLStudioAttention(config.d_model, config.heads, config.tokens, flat, deviations, config.head_bias)


def feed_forward_layer(config: DLStudioConfig, deviations: Deviations) -> FeedForward | FlatFeedForward:
    if deviations.flat_feed_forward:
        return FlatFeedForward(config.d_model, config.d_ff, config.tokens)
    return FeedForward(config.d_model, config.d_ff)


def residuals(
    config: DLStudioConfig, deviations: Deviations, norm: str, without: list[bool]
) -> nn.ModuleList:
    """One residual connection per sublayer; `without` tells which ones lack the residual addition."""
    dropout = 0.0 if deviations.no_dropout else config.dropout
    return nn.ModuleList(MaybeResidual(config.d_model, dropout, norm, one) for one in without)

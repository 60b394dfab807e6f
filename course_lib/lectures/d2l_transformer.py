"""The Transformer of C182-3, built on d2l, with the bugs of the slides as named options.

Importing this module raises ImportError if the package d2l is missing.

The package contains the encoder; the decoder, which is only on the slides (and in the book), is defined
here. As on the slides, its cache stores the *inputs* of each block, so the keys and values of all earlier
tokens are projected again at every step (`projected_tokens` in `d2l_training` counts them). The slides call
the input of a block sometimes x, sometimes X; here it is X.

The lecture's names: num_hiddens = d_model, ffn_num_hiddens = d_ff, num_heads = heads, num_blk = layers,
valid_lens = number of tokens, counted from the left, that are not masked.
"""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.masks import valid_lens_mask
from course_lib.layers.multi_head_attention import attention
from course_lib.lectures.d2l_package import load_d2l

d2l = load_d2l()

ValidLens: TypeAlias = Int[Tensor, " batch"] | Int[Tensor, "batch queries"]
State: TypeAlias = list[Any]  # encoder outputs, their valid lengths, and each block's inputs so far


@dataclass(frozen=True, kw_only=True)
class Bugs:
    """Bugs that can be fixed: True as in the lecture, False to fix.

    future_in_evaluation: there is no causal mask outside training, so the validation loss is that of a model
        that sees the whole target, for which it was never trained.
    position_zero: when the decoder reads one token at a time, every token gets position 0.
    uniform_rows: a fully masked query attends to everything uniformly, since masked scores are −1e6, not −∞.
    padding_in_loss: the loss includes padding (the package never uses `tgt_pad`).
    """

    future_in_evaluation: bool = True
    position_zero: bool = True
    uniform_rows: bool = True
    padding_in_loss: bool = True


LECTURE = Bugs()
FIXED = Bugs(future_in_evaluation=False, position_zero=False, uniform_rows=False, padding_in_loss=False)


class DotProductAttention(d2l.DotProductAttention):
    """d2l's scaled dot-product attention, except that a fully masked query gets zeros."""

    def forward(
        self,
        queries: Float[Tensor, "batch queries d_head"],
        keys: Float[Tensor, "batch keys d_head"],
        values: Float[Tensor, "batch keys d_value"],
        valid_lens: ValidLens | None = None,
    ) -> Float[Tensor, "batch queries d_value"]:
        mask = None if valid_lens is None else valid_lens_mask(valid_lens, keys.shape[1])[:, 0]
        self.attention_weights = attention(queries, keys, values, mask)[1]
        return torch.bmm(self.dropout(self.attention_weights), values)


class TransformerEncoder(d2l.TransformerEncoder):
    """The package's encoder, with the lecture's arguments."""

    def __init__(
        self,
        vocab_size: int,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_blk: int,
        dropout: float,
        use_bias: bool = False,
        bugs: Bugs = LECTURE,
    ):
        super().__init__(vocab_size, num_hiddens, ffn_num_hiddens, num_heads, num_blk, dropout, use_bias)
        if not bugs.uniform_rows:
            for blk in self.blks:
                blk.attention.attention = DotProductAttention(dropout)


class TransformerDecoderBlock(nn.Module):
    """The i-th decoder block: self-attention, cross-attention, feed-forward."""

    def __init__(
        self,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float,
        i: int,
        use_bias: bool = False,
        bugs: Bugs = LECTURE,
    ):
        super().__init__()
        self.i, self.bugs = i, bugs
        self.attention1 = d2l.MultiHeadAttention(num_hiddens, num_heads, dropout, use_bias)
        self.addnorm1 = d2l.AddNorm(num_hiddens, dropout)
        self.attention2 = d2l.MultiHeadAttention(num_hiddens, num_heads, dropout, use_bias)
        self.addnorm2 = d2l.AddNorm(num_hiddens, dropout)
        self.ffn = d2l.PositionWiseFFN(ffn_num_hiddens, num_hiddens)
        self.addnorm3 = d2l.AddNorm(num_hiddens, dropout)
        if not bugs.uniform_rows:
            self.attention1.attention = DotProductAttention(dropout)
            self.attention2.attention = DotProductAttention(dropout)

    def forward(
        self, X: Float[Tensor, "batch tokens num_hiddens"], state: State
    ) -> tuple[Float[Tensor, "batch tokens num_hiddens"], State]:
        enc_outputs, enc_valid_lens = state[0], state[1]
        seen = state[2][self.i]
        key_values = X if seen is None else torch.cat((seen, X), dim=1)
        state[2][self.i] = key_values
        dec_valid_lens = self.causal_valid_lens(X, key_values)
        Y = self.addnorm1(X, self.attention1(X, key_values, key_values, dec_valid_lens))
        Z = self.addnorm2(Y, self.attention2(Y, enc_outputs, enc_outputs, enc_valid_lens))
        return self.addnorm3(Z, self.ffn(Z)), state

    def causal_valid_lens(
        self,
        X: Float[Tensor, "batch tokens num_hiddens"],
        key_values: Float[Tensor, "batch keys num_hiddens"],
    ) -> Int[Tensor, "batch tokens"] | None:
        """Causal mask as valid lengths; None (no mask) in the lecture's evaluation."""
        if self.bugs.future_in_evaluation and not self.training:
            return None
        batch, tokens, _ = X.shape
        keys = key_values.shape[1]
        return torch.arange(keys - tokens + 1, keys + 1, device=X.device).repeat(batch, 1)


class TransformerDecoder(d2l.AttentionDecoder):
    """Decoder: embeddings, positions, blocks and output layer; `use_bias` as in the package's encoder."""

    def __init__(
        self,
        vocab_size: int,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_blk: int,
        dropout: float,
        use_bias: bool = False,
        bugs: Bugs = LECTURE,
    ):
        super().__init__()
        self.num_hiddens, self.num_blk, self.bugs = num_hiddens, num_blk, bugs
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        self.pos_encoding = d2l.PositionalEncoding(num_hiddens, dropout)
        self.blks = nn.Sequential()
        sizes = (num_hiddens, ffn_num_hiddens, num_heads, dropout)
        for i in range(num_blk):
            block = TransformerDecoderBlock(*sizes, i, use_bias, bugs)
            self.blks.add_module(f"block{i}", block)
        self.dense = nn.LazyLinear(vocab_size)

    def init_state(
        self, enc_outputs: Float[Tensor, "batch source num_hiddens"], enc_valid_lens: ValidLens
    ) -> State:
        return [enc_outputs, enc_valid_lens, [None] * self.num_blk]

    def forward(
        self, X: Int[Tensor, "batch tokens"], state: State
    ) -> tuple[Float[Tensor, "batch tokens vocab"], State]:
        seen = state[2][0]
        X = self.embed(X, start=0 if seen is None or self.bugs.position_zero else seen.shape[1])
        self._attention_weights = [[None] * len(self.blks) for _ in range(2)]
        for i, blk in enumerate(self.blks):
            X, state = blk(X, state)
            self._attention_weights[0][i] = blk.attention1.attention.attention_weights
            self._attention_weights[1][i] = blk.attention2.attention.attention_weights
        return self.dense(X), state

    def embed(self, X: Int[Tensor, "batch tokens"], start: int) -> Float[Tensor, "batch tokens num_hiddens"]:
        """Scaled embeddings of tokens at the positions start, start + 1, …"""
        P = self.pos_encoding.P[:, start : start + X.shape[1]].to(X.device)
        return self.pos_encoding.dropout(self.embedding(X) * math.sqrt(self.num_hiddens) + P)

    @property
    def attention_weights(self) -> list[list[Tensor | None]]:
        return self._attention_weights


class Seq2Seq(d2l.Seq2Seq):
    """d2l's model with a loss that ignores padding, as in the book but not in the package."""

    def loss(
        self, Y_hat: Float[Tensor, "batch tokens vocab"], Y: Int[Tensor, "batch tokens"]
    ) -> Float[Tensor, ""]:
        return nn.functional.cross_entropy(Y_hat.flatten(0, 1), Y.flatten(), ignore_index=self.tgt_pad)

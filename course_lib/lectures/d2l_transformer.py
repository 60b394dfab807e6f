"""The Transformer of C182-3 on d2l's plumbing, with the faults it has on the slides as named options.

Importing this module needs the package d2l, and raises ImportError, saying so, where it is missing.

The package has the encoder; the decoder, which stands only on the slides (and in the book), is written out
here. As on the slides its cache keeps the *inputs* of each block, so that keys and values of all earlier
tokens are projected again at every step (`projected_tokens` in `d2l_training` counts them). The slides call
the input of a block now x, now X; it is X here.

The lecture's words: num_hiddens = d_model, ffn_num_hiddens = d_ff, num_heads = heads, num_blk = layers,
valid_lens = how many tokens, counted from the left, may be looked at.
"""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.attention import attention
from course_lib.lectures.d2l_package import load_d2l
from course_lib.masks import valid_lens_mask

d2l = load_d2l()

ValidLens: TypeAlias = Int[Tensor, " batch"] | Int[Tensor, "batch queries"]
State: TypeAlias = list[Any]  # encoder's outputs, their valid lengths, and the inputs of each block so far


@dataclass(frozen=True, kw_only=True)
class Faults:
    """The faults that can be switched off: each is True as in the lecture, False as mended.

    future_in_evaluation: outside training there is no causal mask, and the validation loss is that of a model
        that sees the whole target, on which it was never trained.
    position_zero: when the decoder reads one token at a time, each of them gets position 0.
    uniform_rows: a query that may look nowhere looks at everything alike, as masked scores are −1e6, not −∞.
    padding_in_loss: the loss counts padding as words to be written (the package never uses `tgt_pad`).
    """

    future_in_evaluation: bool = True
    position_zero: bool = True
    uniform_rows: bool = True
    padding_in_loss: bool = True


LECTURE = Faults()
MENDED = Faults(future_in_evaluation=False, position_zero=False, uniform_rows=False, padding_in_loss=False)


class DotProductAttention(d2l.DotProductAttention):
    """d2l's attention, but a query that may look nowhere receives nothing."""

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
        faults: Faults = LECTURE,
    ):
        super().__init__(vocab_size, num_hiddens, ffn_num_hiddens, num_heads, num_blk, dropout, use_bias)
        if not faults.uniform_rows:
            for blk in self.blks:
                blk.attention.attention = DotProductAttention(dropout)


class TransformerDecoderBlock(nn.Module):
    """The i-th block of the decoder: self-attention, attention to the encoder's outputs, feed-forward."""

    def __init__(
        self,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float,
        i: int,
        use_bias: bool = False,
        faults: Faults = LECTURE,
    ):
        super().__init__()
        self.i, self.faults = i, faults
        self.attention1 = d2l.MultiHeadAttention(num_hiddens, num_heads, dropout, use_bias)
        self.addnorm1 = d2l.AddNorm(num_hiddens, dropout)
        self.attention2 = d2l.MultiHeadAttention(num_hiddens, num_heads, dropout, use_bias)
        self.addnorm2 = d2l.AddNorm(num_hiddens, dropout)
        self.ffn = d2l.PositionWiseFFN(ffn_num_hiddens, num_hiddens)
        self.addnorm3 = d2l.AddNorm(num_hiddens, dropout)
        if not faults.uniform_rows:
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
        """For each new token: up to itself. None, which hides nothing, in the lecture's evaluation."""
        if self.faults.future_in_evaluation and not self.training:
            return None
        batch, tokens, _ = X.shape
        keys = key_values.shape[1]
        return torch.arange(keys - tokens + 1, keys + 1, device=X.device).repeat(batch, 1)


class TransformerDecoder(d2l.AttentionDecoder):
    """Embeddings, positions, blocks, and the output layer; `use_bias` as in the package's encoder."""

    def __init__(
        self,
        vocab_size: int,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_blk: int,
        dropout: float,
        use_bias: bool = False,
        faults: Faults = LECTURE,
    ):
        super().__init__()
        self.num_hiddens, self.num_blk, self.faults = num_hiddens, num_blk, faults
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        self.pos_encoding = d2l.PositionalEncoding(num_hiddens, dropout)
        self.blks = nn.Sequential()
        sizes = (num_hiddens, ffn_num_hiddens, num_heads, dropout)
        for i in range(num_blk):
            block = TransformerDecoderBlock(*sizes, i, use_bias, faults)
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
        X = self.embed(X, start=0 if seen is None or self.faults.position_zero else seen.shape[1])
        self._attention_weights = [[None] * len(self.blks) for _ in range(2)]
        for i, blk in enumerate(self.blks):
            X, state = blk(X, state)
            self._attention_weights[0][i] = blk.attention1.attention.attention_weights
            self._attention_weights[1][i] = blk.attention2.attention.attention_weights
        return self.dense(X), state

    def embed(self, X: Int[Tensor, "batch tokens"], start: int) -> Float[Tensor, "batch tokens num_hiddens"]:
        """Vectors of the tokens, which stand at the positions start, start + 1, …"""
        P = self.pos_encoding.P[:, start : start + X.shape[1]].to(X.device)
        return self.pos_encoding.dropout(self.embedding(X) * math.sqrt(self.num_hiddens) + P)

    @property
    def attention_weights(self) -> list[list[Tensor | None]]:
        return self._attention_weights


class Seq2Seq(d2l.Seq2Seq):
    """d2l's model with the loss over real words alone, as in the book and not in the package."""

    def loss(
        self, Y_hat: Float[Tensor, "batch tokens vocab"], Y: Int[Tensor, "batch tokens"]
    ) -> Float[Tensor, ""]:
        return nn.functional.cross_entropy(Y_hat.flatten(0, 1), Y.flatten(), ignore_index=self.tgt_pad)

"""The course's own blocks behind d2l's interface, so the slide's training cell runs with them unchanged.

Importing this module raises ImportError if the package d2l is missing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.blocks import DecoderBlock, EncoderBlock
from course_lib.layers.kv_cache import GrowingCache, MemoryCache
from course_lib.layers.masks import Mask, causal_mask, valid_lens_mask
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.layers.positions import SinusoidalPositions
from course_lib.lectures.d2l_transformer import TransformerDecoder, TransformerEncoder, d2l

NUM_STEPS = 9  # most tokens in a sentence, as in d2l's MTFraEng


class Embedding(nn.Module):
    """Scaled token embeddings plus sinusoidal positions from `start` on, with dropout."""

    def __init__(self, vocab_size: int, num_hiddens: int, dropout: float):
        super().__init__()
        self.vectors = nn.Embedding(vocab_size, num_hiddens)
        self.positions = SinusoidalPositions(NUM_STEPS, num_hiddens)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, ids: Int[Tensor, "batch tokens"], start: int = 0
    ) -> Float[Tensor, "batch tokens d_model"]:
        scaled = self.vectors(ids) * math.sqrt(self.vectors.embedding_dim)
        return self.dropout(self.positions(scaled, start))


class CourseEncoder(d2l.Encoder):
    """Encoder of our post-norm blocks, with the arguments of the lecture's encoder.

    It differs from d2l's in two ways: attention has biases, and no dropout on its weights.
    """

    def __init__(
        self,
        vocab_size: int,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_blk: int,
        dropout: float,
    ):
        super().__init__()
        sizes = (num_hiddens, num_heads, ffn_num_hiddens, dropout, "post")
        self.embedding = Embedding(vocab_size, num_hiddens, dropout)
        self.blocks = nn.ModuleList(EncoderBlock(*sizes) for _ in range(num_blk))

    def forward(
        self, ids: Int[Tensor, "batch tokens"], valid_lens: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch tokens d_model"]:
        mask = valid_lens_mask(valid_lens, ids.shape[1])
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, mask)
        return x


@dataclass(frozen=True)
class CourseState:
    """Decoder state: the encoder output, its mask, and each block's caches of the tokens read so far."""

    memory: Float[Tensor, "batch source d_model"]
    mask: Mask
    caches: list[tuple[GrowingCache, MemoryCache]]


class CourseDecoder(d2l.Decoder):
    """Decoder of our post-norm blocks with a cache, with the arguments of the lecture's decoder."""

    def __init__(
        self,
        vocab_size: int,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_blk: int,
        dropout: float,
    ):
        super().__init__()
        sizes = (num_hiddens, num_heads, ffn_num_hiddens, dropout, "post")
        self.embedding = Embedding(vocab_size, num_hiddens, dropout)
        self.blocks = nn.ModuleList(DecoderBlock(*sizes) for _ in range(num_blk))
        self.dense = nn.Linear(num_hiddens, vocab_size)

    def init_state(
        self, memory: Float[Tensor, "batch source d_model"], valid_lens: Int[Tensor, " batch"]
    ) -> CourseState:
        mask = valid_lens_mask(valid_lens, memory.shape[1])
        return CourseState(memory, mask, [(GrowingCache(NUM_STEPS), MemoryCache()) for _ in self.blocks])

    def forward(
        self, ids: Int[Tensor, "batch tokens"], state: CourseState
    ) -> tuple[Float[Tensor, "batch tokens vocab"], CourseState]:
        """Logits and state; the same in training and evaluation, for whole sentences or token by token."""
        start, tokens = state.caches[0][0].length, ids.shape[1]
        mask = causal_mask(tokens, start + tokens, ids.device)
        x = self.embedding(ids, start)
        for block, caches in zip(self.blocks, state.caches, strict=True):
            x = block(x, state.memory, mask, state.mask, caches)
        return self.dense(x), state


def copy_encoder(ours: CourseEncoder, theirs: TransformerEncoder) -> None:
    """Copy the weights of d2l's encoder, which must have run once (its layers are lazy), to ours."""
    ours.embedding.vectors.load_state_dict(theirs.embedding.state_dict())
    for mine, blk in zip(ours.blocks, theirs.blks, strict=True):
        copy_block(mine, [(mine.attention, blk.attention)], blk.ffn, [blk.addnorm1, blk.addnorm2])


def copy_decoder(ours: CourseDecoder, theirs: TransformerDecoder) -> None:
    """Copy the weights of the lecture's decoder, which must have run once (its layers are lazy), to ours."""
    ours.embedding.vectors.load_state_dict(theirs.embedding.state_dict())
    ours.dense.load_state_dict(theirs.dense.state_dict())
    for mine, blk in zip(ours.blocks, theirs.blks, strict=True):
        pairs = [(mine.attention, blk.attention1), (mine.cross_attention, blk.attention2)]
        copy_block(mine, pairs, blk.ffn, [blk.addnorm1, blk.addnorm2, blk.addnorm3])


@torch.no_grad()
def copy_block(
    ours: EncoderBlock | DecoderBlock,
    attentions: Sequence[tuple[MultiHeadAttention, nn.Module]],
    ffn: nn.Module,
    addnorms: Sequence[nn.Module],
) -> None:
    """Copy the weights of d2l's layers to our block; our attention biases, which d2l lacks, become zero."""
    for mine, theirs in attentions:
        mine.w_q.weight.copy_(theirs.W_q.weight)
        mine.w_kv.weight.copy_(torch.cat([theirs.W_k.weight, theirs.W_v.weight]))
        mine.w_o.weight.copy_(theirs.W_o.weight)
        for layer in (mine.w_q, mine.w_kv, mine.w_o):
            layer.bias.zero_()
    ours.feed_forward.w_in.load_state_dict(ffn.dense1.state_dict())
    ours.feed_forward.w_out.load_state_dict(ffn.dense2.state_dict())
    for i, addnorm in enumerate(addnorms, start=1):
        ours.get_submodule(f"norm_{i}").load_state_dict(addnorm.ln.state_dict())

"""Convert the blocks of the notes' einsum Transformer to blocks of the course, with the same weights.

They are equivalent in evaluation. In training, the dropout differs: see `einsum_transformer`.
"""

import torch
from torch import nn

from course_lib.layers.blocks import DecoderBlock, EncoderBlock, FeedForward
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.lectures import einsum_transformer as notes


def course_encoder_block(theirs: notes.TransformerBlock) -> EncoderBlock:
    """Convert an encoder block to our post-norm block, with the same weights."""
    ours = EncoderBlock(*_sizes(theirs), norm="post").to(theirs.norm1.weight.device)
    copy_attention(ours.attention, theirs.attention)
    copy_feed_forward(ours.feed_forward, theirs)
    _copy_norms(ours, theirs.norm1, theirs.norm2)
    return ours.train(theirs.training)


def course_decoder_block(theirs: notes.DecoderBlock) -> DecoderBlock:
    """Convert a decoder block, whose second part is an encoder block, to our post-norm block."""
    second = theirs.transformer_block
    ours = DecoderBlock(*_sizes(second), norm="post").to(theirs.norm.weight.device)
    copy_attention(ours.attention, theirs.attention)
    copy_attention(ours.cross_attention, second.attention)
    copy_feed_forward(ours.feed_forward, second)
    _copy_norms(ours, theirs.norm, second.norm1, second.norm2)
    return ours.train(theirs.training)


@torch.no_grad()
def copy_attention(ours: MultiHeadAttention, theirs: notes.SelfAttention) -> None:
    """Copy their matrices to our layer as block-diagonal ones, repeated for each head."""
    heads = torch.eye(theirs.heads, device=theirs.fc_out.weight.device)
    ours.w_q.weight.copy_(torch.kron(heads, theirs.queries.weight))
    ours.w_kv.weight.copy_(torch.cat([torch.kron(heads, w.weight) for w in (theirs.keys, theirs.values)]))
    ours.w_q.bias.zero_()
    ours.w_kv.bias.zero_()
    ours.w_o.load_state_dict(theirs.fc_out.state_dict())


def copy_feed_forward(ours: FeedForward, theirs: notes.TransformerBlock) -> None:
    """Copy the weights of their feed-forward layer to ours."""
    ours.w_in.load_state_dict(theirs.feed_forward[0].state_dict())
    ours.w_out.load_state_dict(theirs.feed_forward[2].state_dict())


def _sizes(block: notes.TransformerBlock) -> tuple[int, int, int, float]:
    """d_model, heads, d_ff, dropout."""
    hidden = block.feed_forward[0]
    return hidden.in_features, block.attention.heads, hidden.out_features, block.dropout.p


def _copy_norms(ours: EncoderBlock | DecoderBlock, *theirs: nn.LayerNorm) -> None:
    for i, norm in enumerate(theirs, start=1):
        ours.get_submodule(f"norm_{i}").load_state_dict(norm.state_dict())

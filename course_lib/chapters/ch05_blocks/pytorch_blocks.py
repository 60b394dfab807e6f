"""PyTorch's Transformer layers as blocks of the library, with the same weights."""

import torch
from torch import nn

from course_lib.layers import DecoderBlock, EncoderBlock, MultiHeadAttention


def encoder_block_from(layer: nn.TransformerEncoderLayer) -> EncoderBlock:
    """Encoder block with the weights and the norm placement of PyTorch's; its activation must be ReLU.

    >>> layer = nn.TransformerEncoderLayer(12, 3, 20, dropout=0.0, batch_first=True, norm_first=True)
    >>> x = torch.randn(2, 5, 12)
    >>> torch.allclose(encoder_block_from(layer)(x), layer(x), atol=1e-3)
    True
    """
    block = EncoderBlock(*_sizes(layer), norm="pre" if layer.norm_first else "post")
    _copy_shared(block, layer)
    return block


def decoder_block_from(layer: nn.TransformerDecoderLayer) -> DecoderBlock:
    """Decoder block with the weights and the norm placement of PyTorch's; its activation must be ReLU.

    >>> layer = nn.TransformerDecoderLayer(12, 3, 20, dropout=0.0, batch_first=True)
    >>> x, memory = torch.randn(2, 4, 12), torch.randn(2, 5, 12)
    >>> torch.allclose(decoder_block_from(layer)(x, memory), layer(x, memory), atol=1e-3)
    True
    """
    block = DecoderBlock(*_sizes(layer), norm="pre" if layer.norm_first else "post")
    _copy_shared(block, layer)
    _copy_attention(block.cross_attention, layer.multihead_attn)
    block.norm_3.load_state_dict(layer.norm3.state_dict())
    return block


def _sizes(layer: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> tuple[int, int, int]:
    return layer.linear1.in_features, layer.self_attn.num_heads, layer.linear1.out_features


def _copy_shared(
    block: EncoderBlock | DecoderBlock, layer: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer
) -> None:
    """What both kinds of blocks have: self-attention, feed-forward network and two norms."""
    _copy_attention(block.attention, layer.self_attn)
    block.feed_forward.w_in.load_state_dict(layer.linear1.state_dict())
    block.feed_forward.w_out.load_state_dict(layer.linear2.state_dict())
    block.norm_1.load_state_dict(layer.norm1.state_dict())
    block.norm_2.load_state_dict(layer.norm2.state_dict())


@torch.no_grad()
def _copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    d = theirs.embed_dim
    ours.w_q.weight.copy_(theirs.in_proj_weight[:d])
    ours.w_q.bias.copy_(theirs.in_proj_bias[:d])
    ours.w_kv.weight.copy_(theirs.in_proj_weight[d:])
    ours.w_kv.bias.copy_(theirs.in_proj_bias[d:])
    ours.w_o.load_state_dict(theirs.out_proj.state_dict())

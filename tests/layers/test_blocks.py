"""Blocks against PyTorch's own layers on copied weights, both ways round."""

import inspect
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.layers.blocks import DecoderBlock, EncoderBlock, FeedForward
from course_lib.layers.masks import causal_mask, valid_lens_mask
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.layers.positions import RotaryPositions

D, HEADS, D_FF, SOURCE, TARGET = 12, 3, 20, 5, 4


def randomise(module):
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.4)


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention):
    ours.w_q.weight.copy_(theirs.in_proj_weight[:D])
    ours.w_q.bias.copy_(theirs.in_proj_bias[:D])
    ours.w_kv.weight.copy_(theirs.in_proj_weight[D:])
    ours.w_kv.bias.copy_(theirs.in_proj_bias[D:])
    ours.w_o.load_state_dict(theirs.out_proj.state_dict())


def copy_rest(ours, theirs):
    ours.feed_forward.w_in.load_state_dict(theirs.linear1.state_dict())
    ours.feed_forward.w_out.load_state_dict(theirs.linear2.state_dict())
    for i in range(1, 4 if isinstance(ours, DecoderBlock) else 3):
        getattr(ours, f"norm_{i}").load_state_dict(getattr(theirs, f"norm{i}").state_dict())


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", [F.relu, F.gelu])
def test_encoder_block_equals_pytorch(norm, activation):
    torch.manual_seed(0)
    pre = norm == "pre"
    theirs = nn.TransformerEncoderLayer(D, HEADS, D_FF, 0.0, activation, batch_first=True, norm_first=pre)
    ours = EncoderBlock(D, HEADS, D_FF, norm=norm, activation=activation)
    randomise(theirs)
    with torch.no_grad():
        copy_attention(ours.attention, theirs.self_attn)
        copy_rest(ours, theirs)
    x, mask = torch.randn(2, SOURCE, D), valid_lens_mask(torch.tensor([3, 5]), SOURCE)
    expected = theirs(x, src_key_padding_mask=~mask[:, 0, 0])
    assert torch.allclose(ours(x, mask), expected, atol=1e-4)
    other = EncoderBlock(D, HEADS, D_FF, norm="post" if pre else "pre", activation=activation)
    other.load_state_dict(ours.state_dict())
    assert not torch.allclose(other(x, mask), expected, atol=1e-1)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_decoder_block_equals_pytorch(norm):
    torch.manual_seed(0)
    theirs = nn.TransformerDecoderLayer(D, HEADS, D_FF, 0.0, batch_first=True, norm_first=norm == "pre")
    ours = DecoderBlock(D, HEADS, D_FF, norm=norm)
    randomise(theirs)
    with torch.no_grad():
        copy_attention(ours.attention, theirs.self_attn)
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        copy_rest(ours, theirs)
    x, memory = torch.randn(2, TARGET, D), torch.randn(2, SOURCE, D)
    mask, memory_mask = causal_mask(TARGET), valid_lens_mask(torch.tensor([3, 5]), SOURCE)
    expected = theirs(x, memory, tgt_mask=~mask, memory_key_padding_mask=~memory_mask[:, 0, 0])
    assert torch.allclose(ours(x, memory, mask, memory_mask), expected, atol=1e-4)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("training", [True, False])
def test_the_future_is_hidden(norm, training):
    torch.manual_seed(0)
    block = DecoderBlock(D, HEADS, D_FF, norm=norm).train(training)
    x, memory = torch.randn(1, 6, D), torch.randn(1, SOURCE, D)
    changed = x.clone()
    changed[:, 4:] += 1
    before, after = block(x, memory, causal_mask(6)), block(changed, memory, causal_mask(6))
    assert torch.allclose(before[:, :4], after[:, :4], atol=1e-6)
    assert ((before[:, 4:] - after[:, 4:]).abs().amax(-1) > 1e-3).all()


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_dropout_acts_on_the_output_of_each_sublayer_and_on_nothing_else(kind, norm):
    """Each sublayer adds ones (its norm returns x), so that the result shows what was dropped."""
    torch.manual_seed(0)
    block, x = kind(D, HEADS, D_FF, dropout=0.3, norm=norm), torch.zeros(2, 400, D)
    memory = () if kind is EncoderBlock else (torch.randn(2, SOURCE, D),)
    sublayers = [block.attention, *([block.cross_attention] if memory else []), block.feed_forward]
    for sublayer in sublayers:
        sublayer.forward = lambda x, *others, **more: torch.ones_like(x)
    for i in range(1, len(sublayers) + 1):
        setattr(block, f"norm_{i}", nn.Identity())
    added = (block(x, *memory) * 0.7).round()  # of each sublayer 1 or, if it is dropped, 0
    n = len(sublayers)
    share = [math.comb(n, k) * 0.7**k * 0.3 ** (n - k) for k in range(n + 1)]
    assert [(added == k).float().mean().item() for k in range(n + 1)] == pytest.approx(share, abs=0.02)
    assert torch.equal(block.eval()(x, *memory), x + n)
    assert kind(D, HEADS, D_FF).dropout.p == 0  # by default none


def test_grouped_heads_and_epsilon_reach_the_layers():
    encoder = EncoderBlock(D, HEADS, D_FF, kv_heads=1, epsilon=1e-3)
    decoder = DecoderBlock(D, HEADS, D_FF, kv_heads=1, epsilon=1e-3)
    for layer in (encoder.attention, decoder.attention, decoder.cross_attention):
        assert layer.w_kv.out_features == 2 * D // HEADS
    norms = [
        module
        for block in (encoder, decoder)
        for module in block.modules()
        if isinstance(module, nn.LayerNorm)
    ]
    assert [norm.eps for norm in norms] == [1e-3] * 5


def test_a_block_always_applies_its_mask():
    """There is no way past it: the first query sees itself alone."""
    torch.manual_seed(0)
    block, x = EncoderBlock(D, HEADS, D_FF), torch.randn(1, TARGET, D)
    assert torch.allclose(block(x, causal_mask(TARGET))[:, :1], block(x[:, :1]), atol=1e-6)
    assert list(inspect.signature(block.forward).parameters) == ["x", "mask", "cache"]


def test_feed_forward_treats_every_position_alike():
    torch.manual_seed(0)
    layer, x = FeedForward(D, D_FF), torch.randn(2, 5, D)
    assert torch.allclose(layer(x)[:, 3:4], layer(x[:, 3:4]), atol=1e-6)


def test_parameter_counts():
    attention, feed_forward, norm = 4 * (D * D + D), 2 * D * D_FF + D + D_FF, 2 * D
    count = lambda module: sum(p.numel() for p in module.parameters())  # noqa: E731
    assert count(EncoderBlock(D, HEADS, D_FF)) == attention + feed_forward + 2 * norm
    assert count(DecoderBlock(D, HEADS, D_FF)) == 2 * attention + feed_forward + 3 * norm


def test_rotary_reaches_self_attention_and_never_cross_attention():
    torch.manual_seed(0)
    rotary, order = RotaryPositions(8, D // HEADS), torch.tensor([3, 0, 2, 1])
    x, memory = torch.randn(2, TARGET, D), torch.randn(2, SOURCE, D)
    encoder, decoder = (
        EncoderBlock(D, HEADS, D_FF, rotary=rotary),
        DecoderBlock(D, HEADS, D_FF, rotary=rotary),
    )
    assert encoder.attention.rotary is decoder.attention.rotary is rotary
    assert not torch.allclose(encoder(x[:, order]), encoder(x)[:, order], atol=1e-3)
    assert not torch.allclose(decoder(x[:, order], memory), decoder(x, memory)[:, order], atol=1e-3)
    assert torch.allclose(decoder(x, memory.flip(1)), decoder(x, memory), atol=1e-5)


def test_an_unknown_norm_is_refused():
    with pytest.raises(ValueError, match="norm='middle'"):
        EncoderBlock(D, HEADS, D_FF, norm="middle")

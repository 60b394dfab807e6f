"""Blocks against PyTorch's own layers on copied weights, both ways round."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.layers.attention import MultiHeadAttention
from course_lib.layers.blocks import DecoderBlock, EncoderBlock, FeedForward, Residual
from course_lib.layers.masks import causal_mask, valid_lens_mask
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
    for i, residual in enumerate(ours.residuals, start=1):
        residual.norm.load_state_dict(getattr(theirs, f"norm{i}").state_dict())


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


def test_residual_adds_the_sublayer_and_the_norm_stands_where_it_should():
    torch.manual_seed(0)
    x = torch.randn(2, 3, D)
    pre, post = Residual(D, 0.0, "pre"), Residual(D, 0.0, "post")
    assert torch.equal(pre(x, torch.zeros_like), x)
    assert torch.allclose(post(x, torch.zeros_like), F.layer_norm(x, (D,)))
    assert torch.allclose(pre(x, lambda y: 2 * y), x + 2 * F.layer_norm(x, (D,)), atol=1e-6)
    assert torch.allclose(post(x, lambda y: 2 * y), F.layer_norm(3 * x, (D,)), atol=1e-6)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_residual_drops_what_the_sublayer_adds_and_nothing_else(norm):
    torch.manual_seed(0)
    x, residual, normal = torch.randn(2, 3, D), Residual(D, 0.4, norm), lambda y: F.layer_norm(y, (D,))
    torch.manual_seed(1)
    out = residual(x, lambda y: 2 * y)
    torch.manual_seed(1)
    if norm == "pre":
        expected = x + F.dropout(2 * normal(x), 0.4)
    else:
        expected = normal(x + F.dropout(2 * x, 0.4))
    assert torch.allclose(out, expected, atol=1e-6)
    assert not torch.allclose(out, residual.eval()(x, lambda y: 2 * y), atol=0.1)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_a_block_gives_its_dropout_to_every_residual(kind, norm):
    residuals = kind(D, HEADS, D_FF, dropout=0.3, norm=norm).residuals
    for residual in residuals:
        out = residual.dropout(torch.ones(100, 100))
        assert (out == 0).float().mean().item() == pytest.approx(0.3, abs=0.03)
    x, memory = torch.randn(2, TARGET, D), () if kind is EncoderBlock else (torch.randn(2, SOURCE, D),)
    plain = kind(D, HEADS, D_FF, norm=norm)
    assert torch.equal(plain(x, *memory), plain(x, *memory))  # by default none


def test_feed_forward_treats_every_position_alike():
    torch.manual_seed(0)
    layer, x = FeedForward(D, D_FF), torch.randn(2, 5, D)
    assert torch.allclose(layer(x)[:, 3:4], layer(x[:, 3:4]), atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_feed_forward_spends_no_work_on_padding(dtype):
    torch.manual_seed(0)
    layer, x, real = FeedForward(D, D_FF), torch.randn(2, 5, D), torch.tensor([0, 1, 5, 6, 7])
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
        packed, whole = layer(x, real).flatten(0, 1), layer(x).flatten(0, 1)
    assert packed.dtype == whole.dtype == dtype
    assert torch.allclose(packed[real], whole[real], atol=1e-2 if dtype == torch.bfloat16 else 1e-6)
    others = [i for i in range(10) if i not in real.tolist()]
    assert packed[others].abs().max() == 0


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

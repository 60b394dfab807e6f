"""The function and the layer against PyTorch, d2l and their own definitions; and deliberate bugs."""

import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.layers.hooks import record_attention
from course_lib.layers.kv_cache import GrowingCache
from course_lib.layers.masks import causal_mask, valid_lens_mask
from course_lib.layers.multi_head_attention import MultiHeadAttention, attention
from course_lib.layers.positions import RotaryPositions, rotate, sinusoidal

BATCH, HEADS, QUERIES, KEYS, D_HEAD, D_VALUE = 2, 3, 4, 5, 8, 7  # all different: a swapped axis cannot hide


def tensors(seed=0, device="cpu"):
    rng = torch.Generator().manual_seed(seed)
    shapes = (QUERIES, D_HEAD), (KEYS, D_HEAD), (KEYS, D_VALUE)
    return [torch.randn(BATCH, HEADS, *shape, generator=rng).to(device) for shape in shapes]


def mask_with_an_empty_row(device="cpu"):
    mask = torch.rand(BATCH, 1, QUERIES, KEYS, generator=torch.Generator().manual_seed(1)) > 0.4
    mask[0, 0, 2] = False
    return mask.to(device)


def agrees_with_pytorch(function):
    """Does this attention give the averages of PyTorch's own, with and without a mask?"""
    q, k, v = tensors()
    for mask in (None, mask_with_an_empty_row(), torch.ones(QUERIES, KEYS, dtype=torch.bool).tril()):
        ours, theirs = function(q, k, v, mask)[0], F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        if not torch.allclose(ours, theirs, atol=1e-6):
            return False
    return True


def test_equals_scaled_dot_product_attention():
    assert agrees_with_pytorch(attention)


def wrong(scale=D_HEAD**0.5, outside=1.0, axis=-1, invert=False, fill=-math.inf):
    def function(q, k, v, mask=None):
        scores = q @ k.transpose(-2, -1) / scale
        if mask is not None:
            mask = ~mask if invert else mask
            scores = scores.masked_fill(~mask, fill)
        weights = scores.softmax(dim=axis).nan_to_num(0.0) / outside
        return weights @ v, weights

    return function


def test_the_check_itself_passes_a_right_one():
    assert agrees_with_pytorch(wrong())


@pytest.mark.parametrize(
    "bug",
    [
        {"scale": 1.0},
        {"scale": D_HEAD},
        {"scale": 1.0, "outside": math.sqrt(D_HEAD)},
        {"axis": -2},
        {"axis": 1},
        {"invert": True},
        {"fill": 0.0},
        {"fill": -1e6},  # gives uniform weights to a row that may look nowhere
    ],
    ids=str,
)
def test_a_deliberate_bug_is_seen(bug):
    assert not agrees_with_pytorch(wrong(**bug))


def test_rows_sum_to_one_or_to_zero(device):
    q, k, v = tensors(device=device)
    averages, weights = attention(q, k, v, mask_with_an_empty_row(device))
    sums = torch.ones(BATCH, HEADS, QUERIES, device=device)
    sums[0, :, 2] = 0
    assert torch.allclose(weights.sum(-1), sums, atol=1e-6)
    assert averages[0, :, 2].abs().max() == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_row_that_may_look_nowhere_gives_zeros_and_finite_gradients(device, dtype):
    if device == "cpu" and dtype == torch.float16:
        dtype = torch.float64
    q, k, v = (t[..., :D_VALUE].to(dtype).requires_grad_() for t in tensors(device=device))
    for function in (lambda *args: attention(*args)[0], MultiHeadAttention.attend):
        out = function(q, k, v, mask_with_an_empty_row(device))
        assert out[0, :, 2].abs().max() == 0
        for gradient in torch.autograd.grad(out.float().sum(), (q, k, v)):
            assert gradient.isfinite().all()


def test_masked_keys_may_hold_anything(device):
    q, k, v = tensors(device=device)
    mask = torch.ones(QUERIES, KEYS, dtype=torch.bool, device=device)
    mask[:, 3:] = False
    before = attention(q, k, v, mask)[0]
    k[:, :, 3:], v[:, :, 3:] = 1e4, -1e4
    assert torch.equal(attention(q, k, v, mask)[0], before)


def test_one_layer_serves_any_leading_axes():
    q, k, v = tensors()
    assert torch.allclose(attention(q, k, v)[0][1, 2], attention(q[1, 2], k[1, 2], v[1, 2])[0], atol=1e-6)


def pair_of_layers(d_model=12, heads=3, bias=True):
    """Our layer and PyTorch's, with the same weights."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(d_model, heads, bias=bias, batch_first=True).eval()
    ours = MultiHeadAttention(d_model, heads, bias=bias).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():  # PyTorch starts with zero biases, which would hide a swap
            parameter.copy_(torch.randn_like(parameter) / 3)
        ours.w_q.weight.copy_(theirs.in_proj_weight[:d_model])
        ours.w_kv.weight.copy_(theirs.in_proj_weight[d_model:])
        ours.w_o.weight.copy_(theirs.out_proj.weight)
        if bias:
            ours.w_q.bias.copy_(theirs.in_proj_bias[:d_model])
            ours.w_kv.bias.copy_(theirs.in_proj_bias[d_model:])
            ours.w_o.bias.copy_(theirs.out_proj.bias)
    return ours, theirs


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("cross", [True, False])
def test_equals_multihead_attention_of_pytorch(bias, masked, cross):
    ours, theirs = pair_of_layers(bias=bias)
    x, other = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    memory = other if cross else x
    mask = torch.rand(5, memory.shape[1]) > 0.3 if masked else None
    if masked:
        mask[:, 0] = True  # PyTorch gives NaN where a query may look nowhere
    expected, weights = theirs(
        x, memory, memory, attn_mask=None if mask is None else ~mask, average_attn_weights=False
    )
    with record_attention(ours) as maps:
        assert torch.allclose(ours(x, memory, mask), expected, atol=1e-5)
    assert torch.allclose(maps[""][0], weights, atol=1e-6)


def test_heads_split_the_wrong_way_are_seen():
    ours, theirs = pair_of_layers()
    x = torch.randn(2, 5, 12)
    expected = theirs(x, x, x)[0]
    assert torch.allclose(ours(x, x), expected, atol=1e-5)
    ours.split = lambda y: y.reshape(2, -1, 5, 4)  # mixes the tokens
    assert not torch.allclose(ours(x, x), expected, atol=1e-1)


def test_equals_d2l():
    import_d2l = pytest.importorskip("course_lib.pretrained.torchvision_ops").import_torchvision
    import_d2l()
    d2l = pytest.importorskip("d2l.torch", exc_type=ImportError)
    torch.manual_seed(0)
    theirs = d2l.MultiHeadAttention(12, 3, dropout=0.0)
    x, lens = torch.randn(2, 5, 12), torch.tensor([3, 5])
    theirs(x, x, x, lens)  # d2l's layers take their input size from the first call
    ours = MultiHeadAttention(12, 3, bias=False)
    with torch.no_grad():
        ours.w_q.weight.copy_(theirs.W_q.weight)
        ours.w_kv.weight.copy_(torch.cat([theirs.W_k.weight, theirs.W_v.weight]))
        ours.w_o.weight.copy_(theirs.W_o.weight)
    assert torch.allclose(ours(x, x, valid_lens_mask(lens, 5)), theirs(x, x, x, lens), atol=1e-5)


def test_an_absent_key_equals_a_masked_one():
    torch.manual_seed(0)
    mha, x = MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    mask = valid_lens_mask(torch.tensor([3, 3]), 5)
    assert torch.allclose(mha(x, x, mask)[:, :3], mha(x[:, :3], x[:, :3]), atol=1e-6)


@pytest.mark.parametrize("training", [True, False])
def test_causal_masks_hide_the_future_in_training_and_in_evaluation(training):
    torch.manual_seed(0)
    mha, x = MultiHeadAttention(12, 3).train(training), torch.randn(1, 6, 12, requires_grad=True)
    out = mha(x, x, causal_mask(6))
    for i in range(6):
        gradient = torch.autograd.grad(out[0, i].sum(), x, retain_graph=True)[0][0]
        assert gradient[i + 1 :].abs().sum() == 0
        assert (gradient[: i + 1].abs().sum(-1) > 0).all()


def test_dropout_acts_on_the_weights_in_training_only():
    torch.manual_seed(0)
    mha, x = MultiHeadAttention(12, 3, dropout=0.5), torch.randn(2, 5, 12)
    assert not torch.equal(mha(x, x), mha(x, x))
    mha.eval()
    assert torch.equal(mha(x, x), mha(x, x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout_sets_weights_to_zero_and_scales_up_the_others(dtype):
    """With unit vectors as values, the averages are the weights themselves."""
    q, v = torch.zeros(8, 1, 40, 40, dtype=dtype), torch.eye(40, dtype=dtype).expand(8, 1, 40, 40)
    attend = MultiHeadAttention.attend
    weights = attend(q, q, v, dropout_p=0.25).float()
    kept = weights != 0
    assert kept.float().mean().item() == pytest.approx(0.75, abs=0.02)
    assert torch.allclose(weights[kept], torch.tensor(1 / 40 / 0.75), rtol=0.01)
    assert torch.allclose(attend(q, q, v).float(), torch.tensor(1 / 40), rtol=0.01)


@pytest.mark.parametrize("bias", [True, False])
def test_parameter_count(bias):
    d = 12
    assert (
        sum(p.numel() for p in MultiHeadAttention(d, 3, bias=bias).parameters()) == 4 * d * d + 4 * d * bias
    )


def rotary_layer():
    torch.manual_seed(0)
    return MultiHeadAttention(12, 3, rotary=RotaryPositions(40, 4)).eval()


def test_rotary_turns_queries_and_keys_and_not_values():
    mha, x = rotary_layer(), torch.randn(2, 5, 12)
    table = sinusoidal(5, 4)
    k, v = mha.w_kv(x).chunk(2, dim=-1)
    q, k = (rotate(mha.split(y), table) for y in (mha.w_q(x), k))
    averages, weights = attention(q, k, mha.split(v))
    with record_attention(mha) as maps:
        assert torch.allclose(mha(x, x), mha.w_o(averages.transpose(1, 2).flatten(-2)), atol=1e-6)
    assert torch.allclose(maps[""][0], weights, atol=1e-6)


def test_rotary_adds_no_weight_and_changes_none():
    plain, mha, x = MultiHeadAttention(12, 3), rotary_layer(), torch.randn(2, 5, 12)
    plain.load_state_dict(mha.state_dict())
    assert plain.rotary is None and list(plain.state_dict()) == list(mha.state_dict())
    assert not torch.allclose(plain(x, x), mha(x, x), atol=1e-3)
    mha.rotary = None
    assert torch.equal(plain(x, x), mha(x, x))


@pytest.mark.parametrize("sizes", [[1] * 6, [3, 1, 2], [6]])
def test_cached_equals_full_attention_with_rotary(sizes):
    mha, x, cache = rotary_layer(), torch.randn(2, 6, 12), GrowingCache(8)
    whole, start = mha(x, x, causal_mask(6)), 0
    for size in sizes:
        new = x[:, start : start + size]
        start += size
        out = mha(new, new, causal_mask(size, start), cache)
        assert torch.allclose(out, whole[:, start - size : start], atol=1e-6)


def test_with_rotary_only_distances_count():
    """After 30 tokens that nobody attends to, the same tokens get the same output."""
    mha, x = rotary_layer(), torch.randn(2, 5, 12)
    later = torch.cat([torch.randn(2, 30, 12), x], dim=1)
    mask = (torch.arange(35) >= 30)[None]
    assert torch.allclose(mha(later, later, mask)[:, 30:], mha(x, x), atol=1e-5)
    order = torch.tensor([3, 0, 1, 4, 2])
    assert not torch.allclose(mha(x[:, order], x[:, order]), mha(x, x)[:, order], atol=1e-3)


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="heads=5 .* d_model=12"):
        MultiHeadAttention(12, 5)


def grouped_layer(kv_heads=2, **options):
    torch.manual_seed(0)
    return MultiHeadAttention(24, 6, kv_heads=kv_heads, **options).eval()


def test_grouped_queries_equal_pytorchs_grouped_attention():
    mha, x, memory = grouped_layer(), torch.randn(3, 4, 24), torch.randn(3, 5, 24)
    mask = torch.rand(3, 1, 4, 5) > 0.3
    q, (k, v) = mha.split(mha.w_q(x)), mha.split(mha.w_kv(memory)).chunk(2, dim=1)
    assert (q.shape, k.shape, v.shape) == ((3, 6, 4, 4), (3, 2, 5, 4), (3, 2, 5, 4))
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    assert torch.allclose(mha(x, memory, mask), mha.w_o(expected.transpose(1, 2).flatten(-2)), atol=1e-6)


@pytest.mark.parametrize("kv_heads", [1, 2, 3])
def test_grouped_queries_equal_a_layer_with_repeated_heads(kv_heads):
    grouped, full = grouped_layer(kv_heads), MultiHeadAttention(24, 6).eval()
    x = torch.randn(2, 5, 24)

    def repeated(
        part,
    ):  # (2 · kv_heads · d_head, …): each head of 4 rows once for each query head of its group
        return part.unflatten(0, (2, kv_heads, 4)).repeat_interleave(6 // kv_heads, dim=1).flatten(0, 2)

    weights = grouped.state_dict()
    full.load_state_dict(weights | {key: repeated(weights[key]) for key in ("w_kv.weight", "w_kv.bias")})
    assert torch.allclose(grouped(x, x), full(x, x), atol=1e-6)


def test_as_many_kv_heads_as_heads_is_the_ordinary_layer():
    mha, x = grouped_layer(kv_heads=None), torch.randn(2, 5, 24)
    same = grouped_layer(kv_heads=6)
    assert torch.equal(mha(x, x), same(x, x)) and mha.kv_heads == 6


def test_the_cache_of_grouped_queries_is_narrower_and_gives_the_same():
    mha, x, cache = grouped_layer(rotary=RotaryPositions(8, 4)), torch.randn(2, 6, 24), GrowingCache(8)
    whole = mha(x, x, causal_mask(6))
    steps = [mha(x[:, i : i + 1], x[:, i : i + 1], None, cache) for i in range(6)]
    assert torch.allclose(torch.cat(steps, dim=1), whole, atol=1e-6)
    assert cache.buffer[0].shape == (2, 2, 8, 4)


@pytest.mark.parametrize("kv_heads", [4, 12])
def test_kv_heads_must_divide_the_heads(kv_heads):
    with pytest.raises(ValueError, match=f"kv_heads={kv_heads} .* heads=6"):
        grouped_layer(kv_heads)


def test_recording_leaves_nothing_behind():
    mha, x = MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    with record_attention(mha) as maps:
        mha(x, x)
        mha(x, x[:, :2])
    assert [m.shape for m in maps[""]] == [(2, 3, 5, 5), (2, 3, 5, 2)]
    assert not any(m.requires_grad for m in maps[""])  # or a graph would be kept for each
    mha(x, x)
    assert len(maps[""]) == 2 and "attend" not in vars(mha)
    mha.attend = own = lambda q, k, v, attn_mask, dropout_p: v
    with record_attention(mha) as maps:
        mha(x, x)
    assert mha.attend is own


def test_without_a_context_the_layer_attends_to_its_own_tokens():
    mha, x = MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    assert torch.equal(mha(x), mha(x, x)) and torch.equal(
        mha(x, mask=causal_mask(5)), mha(x, x, causal_mask(5))
    )


@pytest.mark.parametrize("shape", [(12,), (5, 12), (3, 2, 5, 12)])
def test_only_a_batch_of_sequences_is_accepted(shape, unchecked):
    """The layer would mix up heads and tokens, and return numbers of the right shape."""
    with pytest.raises(ValueError, match=re.escape(f"{shape}") + ".*batch, tokens, d_model"):
        MultiHeadAttention(12, 3)(torch.randn(shape))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8])
def test_a_mask_of_numbers_is_refused(dtype, unchecked):
    """PyTorch adds a mask of floats to the scores, so that one of 0 and 1 shows the future."""
    x, mask = torch.randn(2, 5, 12), causal_mask(5).to(dtype)
    q = x[:, None]
    for use in (lambda: MultiHeadAttention(12, 3)(x, mask=mask), lambda: attention(q, q, q, mask)):
        with pytest.raises(ValueError, match=f"{dtype}.*torch.bool"):
            use()


def test_a_layer_runs_the_attention_that_it_is_given():
    """In a subclass and in one layer: the same arguments as PyTorch's function, and its result is used."""

    class Own(MultiHeadAttention):
        @staticmethod
        def attend(q, k, v, attn_mask, dropout_p):
            return attention(q, k, v, attn_mask)[0] * 0

    torch.manual_seed(0)
    x, stock, own = torch.randn(2, 5, 12), MultiHeadAttention(12, 3), Own(12, 3)
    assert torch.equal(own(x), own.w_o.bias.expand(2, 5, 12))
    stock.attend = Own.attend
    assert torch.equal(stock(x), stock.w_o.bias.expand(2, 5, 12))

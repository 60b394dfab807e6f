"""Attention between pixels: stacked matrices, PyTorch's own attention, moved pixels, and what is refused."""

import pytest
import torch
from helpers.random_weights import randomized
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_lib.layers.multi_head_attention import attention
from course_lib.layers.pixel_attention import PixelAttention


def layer_of(device="cpu", channels=12, heads=3, groups=4):
    """A small layer whose weights are so large that no part of it can hide."""
    torch.manual_seed(0)
    return randomized(PixelAttention(channels, heads, groups), device, scale=0.3)


def random_pictures(*shape, device="cpu"):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(device)


def test_the_convolution_is_three_stacked_matrices(device):
    layer, pixels = layer_of(device), random_pictures(2, 12, 35, device=device)
    w_q, w_k, w_v = layer.qkv.weight[:, :, 0].split(12)
    b_q, b_k, b_v = layer.qkv.bias.split(12)
    vectors = pixels.transpose(1, 2)  # (batch, pixels, channels)
    for part, w, b in zip(layer.qkv(pixels).chunk(3, dim=1), (w_q, w_k, w_v), (b_q, b_k, b_v), strict=True):
        assert torch.allclose(part.transpose(1, 2), vectors @ w.t() + b, atol=1e-5)


def by_pytorch(layer, x):
    """The same from `nn.MultiheadAttention` over the list of pixels, its weights copied."""
    channels = x.shape[1]
    mha = nn.MultiheadAttention(channels, layer.heads, batch_first=True).to(x.device)
    weights = {
        "in_proj_weight": layer.qkv.weight[:, :, 0],
        "in_proj_bias": layer.qkv.bias,
        "out_proj.weight": layer.w_o.weight[:, :, 0],
        "out_proj.bias": layer.w_o.bias,
    }
    mha.load_state_dict(weights)
    vectors = layer.norm(x).flatten(2).transpose(1, 2)
    return x + mha(vectors, vectors, vectors)[0].transpose(1, 2).reshape(x.shape)


@pytest.mark.parametrize("heads", [1, 3, 6])
def test_equals_the_attention_of_pytorch(device, heads):
    layer, x = layer_of(device, heads=heads), random_pictures(2, 12, 5, 7, device=device)
    assert torch.allclose(layer(x), by_pytorch(layer, x), atol=1e-4)


def test_one_head_on_paper():
    layer, x = layer_of(heads=1), random_pictures(1, 12, 2, 3)
    w_q, w_k, w_v = layer.qkv.weight[:, :, 0].split(12)
    b_q, b_k, b_v = layer.qkv.bias.split(12)
    vectors = layer.norm(x)[0].flatten(1).t()
    gathered, weights = attention(vectors @ w_q.t() + b_q, vectors @ w_k.t() + b_k, vectors @ w_v.t() + b_v)
    assert weights.shape == (6, 6)
    added = (gathered @ layer.w_o.weight[:, :, 0].t() + layer.w_o.bias).t().unflatten(1, (2, 3))
    assert torch.allclose(layer(x)[0], x[0] + added, atol=1e-5)


def test_every_pixel_hears_of_every_other():
    layer, x = layer_of(), random_pictures(2, 12, 5, 7)
    changed = x.clone()
    changed[0, :, 4, 6] += torch.arange(12) / 4
    moved = (layer(changed) - layer(x)).abs().amax(1)
    assert (moved[0] > 1e-5).all()
    assert moved[1].max() < 1e-6


def test_moved_pixels_give_moved_answers():
    """Nothing says where a pixel is: attention sees a set."""
    layer, x = layer_of(), random_pictures(2, 12, 5, 7)
    order = torch.randperm(35, generator=torch.Generator().manual_seed(2))

    def moved(pictures):
        return pictures.flatten(2)[:, :, order].view_as(pictures)

    assert torch.allclose(layer(moved(x)), moved(layer(x)), atol=1e-5)


def test_the_fused_kernel_is_reached(device):
    """By queries and keys whose numbers do not lie side by side it is not, and nothing says so."""
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):
        layer_of(device)(random_pictures(2, 12, 5, 7, device=device))


def test_at_first_nothing_is_added():
    x = random_pictures(2, 16, 5, 7)
    assert torch.equal(PixelAttention(16)(x), x)


def test_parameter_count():
    assert sum(p.numel() for p in PixelAttention(16).parameters()) == 4 * 16 * 16 + 4 * 16 + 2 * 16


def test_memorizes_one_batch():
    """Each pixel is to become the mean of its picture: nothing but attention can say it."""
    torch.manual_seed(0)
    layer, x = PixelAttention(8, 2, 4), random_pictures(4, 8, 3, 5)
    wanted = (x + layer.norm(x).roll(1, dims=1).mean((2, 3), keepdim=True)).detach()
    optimizer = torch.optim.Adam(layer.parameters(), lr=2e-2)
    for _ in range(60):
        loss = (layer(x) - wanted).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert loss.item() < 0.001 < (x - wanted).square().mean().item() / 20


def test_bf16_works(device):
    layer, x = layer_of(device).bfloat16(), random_pictures(2, 12, 5, 7, device=device).bfloat16()
    assert layer(x).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("sizes", "message"), [((12, 5, 4), "heads=5 .*channels=12"), ((12, 3, 8), "groups=8 .*channels=12")]
)
def test_refusals(sizes, message):
    with pytest.raises(ValueError, match=message):
        PixelAttention(*sizes)

"""DLStudio's AttentionBlock: by the slides' words, beside the course's layer, and its one difference."""

import math

import pytest
import torch
from helpers.random_weights import randomized

from course_lib.layers.multi_head_attention import attention
from course_lib.layers.pixel_attention import PixelAttention
from course_lib.lectures.dlstudio import AttentionBlock, as_pixel_attention, part_by_part


def block_of(channels=96, heads=3):
    torch.manual_seed(0)
    return randomized(AttentionBlock(channels, heads))


def random_pictures(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def head_by_head(block, x):
    """The slides in loops: the channels dealt to the heads first, then to Q, K and V of each head."""
    normed = block.norm(x)[0].flatten(1)
    rows = block.qkv.weight[:, :, 0] @ normed + block.qkv.bias[:, None]
    gathered = []
    for own in rows.chunk(block.heads):
        q, k, v = (part.t() for part in own.chunk(3))
        gathered.append(attention(q, k, v)[0].t())
    out = block.proj_out.weight[:, :, 0] @ torch.cat(gathered) + block.proj_out.bias[:, None]
    return x + out.view(x.shape)


@pytest.mark.parametrize("heads", [1, 2, 3])
def test_equals_the_loops(heads):
    block, x = block_of(heads=heads), random_pictures(1, 96, 5, 7)
    assert torch.allclose(block(x), head_by_head(block, x), atol=1e-4)


@pytest.mark.parametrize("heads", [1, 3])
def test_equals_our_layer_on_copied_weights(heads):
    block, x = block_of(heads=heads), random_pictures(2, 96, 5, 7)
    assert torch.allclose(block(x), as_pixel_attention(block)(x), atol=1e-4)


def test_with_one_head_the_weights_fit_as_they_are_and_with_several_they_do_not():
    for heads, same in ((1, True), (3, False)):
        block, x = block_of(heads=heads), random_pictures(2, 96, 5, 7)
        ours = PixelAttention(96, heads, groups=32)
        for name, layer in (("norm", block.norm), ("qkv", block.qkv), ("w_o", block.proj_out)):
            getattr(ours, name).load_state_dict(layer.state_dict())
        assert torch.allclose(ours(x), block(x), atol=1e-4) == same


def test_rows_in_the_other_order():
    rows = torch.arange(12)  # two heads of two numbers: q q k k v v, q q k k v v
    assert part_by_part(rows, 2).tolist() == [0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11]
    assert torch.equal(part_by_part(rows, 1), rows)


def test_the_fourth_root_keeps_half_precision_finite():
    """Scores beyond 65,504 overflow in half precision; divided first, they do not."""
    d_head = 64
    q = torch.full((1, d_head), 40.0, dtype=torch.half)
    assert (q @ q.t()).isinf().all()
    scaled = q * d_head**-0.25
    assert math.isclose((scaled @ scaled.t()).item(), 40 * 40 * math.sqrt(d_head), rel_tol=2e-3)


def test_at_first_nothing_is_added_and_the_parameters_are_as_many():
    block, x = AttentionBlock(64, 4), random_pictures(2, 64, 3, 5)
    assert torch.equal(block(x), x)
    assert sum(p.numel() for p in block.parameters()) == 4 * 64**2 + 4 * 64 + 2 * 64


@pytest.mark.parametrize(
    ("sizes", "message"), [((48, 2), "groups=32 .*channels=48"), ((64, 5), "heads=5 .*channels=64")]
)
def test_refusals(sizes, message):
    with pytest.raises(ValueError, match=message):
        AttentionBlock(*sizes)

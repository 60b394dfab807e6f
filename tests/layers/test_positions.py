"""Positions against the papers' formulas, d2l's table, and Llama's way to turn queries and keys."""

import math

import pytest
import torch

from course_lib.layers.positions import (
    LearnedPositions,
    NoPositions,
    RotaryPositions,
    SinusoidalPositions,
    rotate,
    sinusoidal,
)
from course_lib.pretrained.torchvision_ops import import_torchvision


def test_the_formula_of_the_paper():
    table = sinusoidal(7, 6)
    for position in range(7):
        for i in range(3):
            angle = position / 10000 ** (2 * i / 6)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_equals_d2l():
    import_torchvision()
    d2l = pytest.importorskip("d2l.torch", exc_type=ImportError)
    assert torch.allclose(sinusoidal(50, 8), d2l.PositionalEncoding(8, 0.0, max_len=50).P[0], atol=1e-5)


@pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])
def test_a_later_start_reads_on_in_the_table(kind, device):
    positions, x = kind(10, 6).to(device), torch.zeros(2, 7, 6, device=device)
    whole = positions(x)
    assert torch.equal(positions(x[:, :3], start=4), whole[:, 4:])
    assert (whole[0, 0] != whole[0, 1]).any()


@pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions, RotaryPositions])
@pytest.mark.parametrize("start", [0, 4])
def test_a_start_in_a_tensor_is_as_good(kind, start, device):
    positions, x = kind(10, 6).to(device), vectors(2, 3, 6, device=device)
    assert torch.equal(positions(x, torch.tensor(start, device=device)), positions(x, start))


def test_learned_positions_begin_small():
    torch.manual_seed(0)
    table = LearnedPositions(500, 96).table
    assert table.std().item() == pytest.approx(0.02, rel=0.03)
    assert table.mean().item() == pytest.approx(0, abs=0.001)


@pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])
def test_too_many_tokens_are_refused(kind):
    with pytest.raises(ValueError, match=r"8 \+ 4 tokens exceed max_tokens=10"):
        kind(10, 6)(torch.zeros(1, 4, 6), start=8)


def test_an_odd_width_is_refused():
    with pytest.raises(ValueError, match="d_model=7"):
        sinusoidal(3, 7)


def test_the_table_is_no_weight():
    assert not SinusoidalPositions(10, 6).state_dict()
    assert sum(p.numel() for p in LearnedPositions(10, 6).parameters()) == 60


# ---- rotary


BATCH, HEADS, TOKENS, D_HEAD = 2, 3, 7, 10


def vectors(*shape, seed=0, device="cpu"):
    shape = shape or (BATCH, HEADS, TOKENS, D_HEAD)
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(device)


def by_complex_numbers(x, start=0, base=10000.0):
    """Each pair of features as one complex number, multiplied by exp(i · position · frequency)."""
    tokens, d_head = x.shape[-2:]
    frequencies = base ** (-torch.arange(0, d_head, 2).double() / d_head)
    angles = torch.outer(torch.arange(start, start + tokens).double(), frequencies)
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.exp(1j * angles)).flatten(-2).float()


def is_rotary(turn):
    """Does `turn(x, start)` give what the multiplication of complex numbers gives?"""
    x = vectors()
    return all(torch.allclose(turn(x, n), by_complex_numbers(x, n), atol=1e-5) for n in (0, 4))


def turned(x, start=0, forget_start=False, against=False, halves=False, swapped=False, features=D_HEAD):
    """`rotate`, with an optional bug."""
    table = sinusoidal(20, features)[:, :D_HEAD]
    rows = table[0 if forget_start else start :][:TOKENS]
    if against:
        rows = rows * torch.tensor([-1.0, 1.0]).repeat(D_HEAD // 2)
    if swapped:
        rows = rows.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
    if halves:
        x = x.unflatten(-1, (2, -1)).transpose(-2, -1).flatten(-2)
        return rotate(x, rows).unflatten(-1, (-1, 2)).transpose(-2, -1).flatten(-2)
    return rotate(x, rows)


@pytest.mark.parametrize("compiling", [False, True])
def test_rotary_equals_the_multiplication_of_complex_numbers(monkeypatch, compiling):
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: compiling)
    assert is_rotary(RotaryPositions(11, D_HEAD))
    assert is_rotary(turned)


@pytest.mark.parametrize(
    "bug",
    [{"forget_start": True}, {"against": True}, {"halves": True}, {"swapped": True}, {"features": 24}],
    ids=str,
)
def test_a_deliberate_bug_is_seen(bug):
    assert not is_rotary(lambda x, start: turned(x, start, **bug))


def test_rotary_equals_llama_up_to_the_order_of_the_features():
    """Llama turns feature i together with feature i + d_head/2, and we feature 2i with 2i+1."""
    import_torchvision()
    llama = pytest.importorskip("transformers.models.llama.modeling_llama", exc_type=ImportError)
    q, k = vectors(seed=0), vectors(seed=1)
    table = sinusoidal(TOKENS, D_HEAD)[None]
    sin, cos = (torch.cat([table[..., i::2]] * 2, dim=-1) for i in (0, 1))
    order = torch.arange(D_HEAD).view(-1, 2).T.flatten()  # the even features, then the odd ones
    theirs = llama.apply_rotary_pos_emb(q[..., order], k[..., order], cos, sin)
    rotary = RotaryPositions(TOKENS, D_HEAD)
    for ours, other in zip((q, k), theirs, strict=True):
        assert torch.allclose(rotary(ours)[..., order], other, atol=1e-6)
    assert torch.allclose(rotary(q) @ rotary(k).mT, theirs[0] @ theirs[1].mT, atol=1e-5)


def test_the_base_of_rotary_positions_is_that_of_their_angles():
    x = torch.tensor([[1.0, 0.0, 1.0, 0.0]])
    rotated = RotaryPositions(TOKENS, 4, base=100)(x, start=3)
    angles = torch.tensor([3.0, 0.3])  # 3 / 100^0 and 3 / 100^(2/4)
    assert torch.allclose(rotated, torch.stack([angles.cos(), angles.sin()], dim=-1).flatten()[None])


def test_a_score_depends_on_the_distance_alone(device):
    rotary = RotaryPositions(500, D_HEAD).to(device)
    q, k = vectors(1, D_HEAD, seed=0, device=device), vectors(1, D_HEAD, seed=1, device=device)
    scores = {
        (m, n): (rotary(q, m) * rotary(k, n)).sum().item() for m in (0, 3, 9, 480) for n in (0, 3, 9, 480)
    }
    assert scores[3, 0] == pytest.approx((rotary(q, 483) * rotary(k, 480)).sum().item(), abs=1e-4)
    assert scores[0, 0] == pytest.approx(scores[9, 9], abs=1e-4) == pytest.approx(scores[480, 480], abs=1e-4)
    assert abs(scores[9, 3] - scores[3, 9]) > 0.1  # before is not the same as after
    assert abs(scores[9, 3] - scores[9, 0]) > 0.1


def test_turning_keeps_lengths_and_leaves_position_0(device):
    x = vectors(device=device)
    out = RotaryPositions(TOKENS, D_HEAD).to(device)(x)
    assert torch.allclose(out.norm(dim=-1), x.norm(dim=-1), atol=1e-5)
    assert torch.equal(out[..., 0, :], x[..., 0, :])
    assert ((out - x)[..., 1:, :].abs().amax(-1) > 0.1).all()


def test_a_later_start_turns_on_in_the_table(device):
    rotary, x = RotaryPositions(TOKENS, D_HEAD).to(device), vectors(device=device)
    assert torch.allclose(rotary(x[..., 4:, :], start=4), rotary(x)[..., 4:, :], atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_rotary_keeps_the_dtype(device, dtype):
    x, rotary = vectors(device=device).to(dtype), RotaryPositions(TOKENS, D_HEAD).to(device)
    for out in (rotary(x), rotary.to(dtype)(x)):  # with the table in fp32, then in the same format
        assert out.dtype == dtype
        assert torch.allclose(out.float().cpu(), by_complex_numbers(x.float().cpu()), atol=0.03)


def test_rotary_refuses_an_odd_width_and_too_many_tokens():
    with pytest.raises(ValueError, match="d_head=5 is odd"):
        RotaryPositions(11, 5)
    with pytest.raises(ValueError, match=r"5 \+ 7 tokens exceed max_tokens=11"):
        RotaryPositions(11, D_HEAD)(vectors(), start=5)


def test_no_positions_changes_nothing():
    x = vectors(BATCH, TOKENS, D_HEAD)
    assert NoPositions(11, D_HEAD)(x, start=3) is x
    assert not RotaryPositions(11, D_HEAD).state_dict()


def test_far_positions_are_exact():
    """The angles are computed in fp64: only the result is rounded."""
    exact = [math.sin(4999 / 10000 ** (i / 64)) for i in range(0, 64, 2)]
    assert torch.allclose(
        sinusoidal(5000, 64)[-1, ::2].double(), torch.tensor(exact).double(), rtol=0, atol=1e-7
    )

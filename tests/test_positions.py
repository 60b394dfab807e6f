"""Positions against the paper's formula and d2l's table."""

import math

import pytest
import torch

from course_lib.positions import LearnedPositions, SinusoidalPositions, sinusoidal
from course_lib.torchvision_ops import import_torchvision


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


@pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])
def test_too_many_tokens_are_refused(kind):
    with pytest.raises(ValueError, match="12 .*max_tokens=10"):
        kind(10, 6)(torch.zeros(1, 4, 6), start=8)


def test_an_odd_width_is_refused():
    with pytest.raises(ValueError, match="d_model=7"):
        sinusoidal(3, 7)


def test_the_table_is_no_weight():
    assert not SinusoidalPositions(10, 6).state_dict()
    assert sum(p.numel() for p in LearnedPositions(10, 6).parameters()) == 60

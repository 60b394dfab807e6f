"""Exercises on positions: equal wrong numbers get both names; the halves are those of `transformers`."""

import math

import pytest
import torch

from course_lib.exercises import find, grade
from course_lib.exercises.exercise import normal
from course_lib.layers import sinusoidal
from course_lib.pretrained import import_torchvision


def base_100(tokens, d_model):
    return sinusoidal(tokens, d_model, base=100.0)


def half_exponent(tokens, d_model):
    angles = torch.arange(tokens)[:, None] / 10000 ** (torch.arange(d_model // 2) / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


@pytest.mark.parametrize("answer", [base_100, half_exponent])
def test_both_ways_to_a_table_with_base_100_are_named(answer) -> None:
    said = grade(find("04.sinusoidal"), answer).text
    assert "exponent i/d_model, or the base 100" in said


def test_both_ways_to_a_wavelength_of_628_are_named() -> None:
    said = grade(find("04.wavelength"), 2 * math.pi * 10000 ** (2 * 32 / 128)).text
    assert "i = 32" in said and "64 pairs" in said


def test_halves_are_those_of_transformers() -> None:
    import_torchvision()
    llama = pytest.importorskip("transformers.models.llama.modeling_llama", exc_type=ImportError)
    x, start = normal(2, 3, 5, 8), 4
    table = sinusoidal(start + 5, 8)[None, start:]
    sin, cos = (torch.cat([table[..., i::2]] * 2, dim=-1) for i in (0, 1))
    theirs, _ = llama.apply_rotary_pos_emb(x, x, cos, sin)
    assert torch.allclose(find("04b.halves").reference(x, start), theirs, atol=1e-6)


def test_converted_weights_give_the_scores_of_neighbors_with_halves() -> None:
    rotate, halves, convert = (find(f"04b.{name}").reference for name in ("rotate", "halves", "convert"))
    x, w_q, w_k = normal(6, 12), normal(8, 12, seed=1), normal(8, 12, seed=2)
    expected = rotate(x @ w_q.T, 3) @ rotate(x @ w_k.T, 3).T
    q, k = (halves(x @ convert(w).T, 3) for w in (w_q, w_k))
    assert torch.allclose(q @ k.T, expected, atol=1e-4)
    assert not torch.allclose(halves(x @ w_q.T, 3) @ halves(x @ w_k.T, 3).T, expected, atol=0.1)

"""Sizes of layers: each argument outside its range is refused by name, instead of making an empty layer."""

import pytest

from course_lib.layers.blocks import FeedForward
from course_lib.layers.multi_head_attention import AdditiveAttention, MultiHeadAttention
from course_lib.layers.patches import ConvolutionalPatches, ConvolutionalStem, Patches
from course_lib.layers.pixel_attention import PixelAttention
from course_lib.layers.positions import LearnedPositions, RotaryPositions, SinusoidalPositions, sinusoidal

PIXELS = {"patch_size": 4, "channels": 3, "d_model": 8}
LAYERS = {
    MultiHeadAttention: {"d_model": 8, "heads": 2, "kv_heads": 1},
    AdditiveAttention: {"d_query": 3, "d_key": 4, "d_hidden": 5},
    FeedForward: {"d_model": 8, "d_ff": 12},
    PixelAttention: {"channels": 8, "heads": 2, "groups": 4},
    Patches: PIXELS,
    ConvolutionalPatches: PIXELS,
    ConvolutionalStem: PIXELS,
    LearnedPositions: {"max_tokens": 5, "d_model": 8},
    RotaryPositions: {"max_tokens": 5, "d_head": 8},
}
CASES = [
    pytest.param(layer, name, id=f"{layer.__name__}.{name}") for layer in LAYERS for name in LAYERS[layer]
]


@pytest.mark.parametrize("value", [0, -2, 2.0, True, "2"])
@pytest.mark.parametrize(("layer", "name"), CASES)
def test_sizes_are_whole_numbers_of_at_least_one(unchecked, layer, name, value):
    with pytest.raises(ValueError, match=f"^{name}={value!r} is not a whole number of at least 1$"):
        layer(**{**LAYERS[layer], name: value})


@pytest.mark.parametrize("make", [sinusoidal, SinusoidalPositions])
def test_tables_of_positions(unchecked, make):
    with pytest.raises(ValueError, match="^d_model=0 is not"):
        make(3, 0)
    with pytest.raises(ValueError, match="^tokens=-1 is not a whole number of at least 0"):
        make(-1, 4)


@pytest.mark.parametrize("dropout", [-0.1, 1.0, float("nan"), "0"])
def test_dropout_of_attention(unchecked, dropout):
    with pytest.raises(ValueError, match=f"^dropout={dropout!r} is not a number in"):
        MultiHeadAttention(8, 2, dropout=dropout)

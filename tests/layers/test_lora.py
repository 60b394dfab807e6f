"""LoRA: unchanged at the start, only A and B are trained, and the update can be merged."""

import pytest
import torch
from torch import nn

from course_lib.layers import LoRALinear, MultiHeadAttention, add_lora, merge_lora


def random_layer() -> LoRALinear:
    torch.manual_seed(0)
    layer = LoRALinear(nn.Linear(6, 4), rank=2, alpha=8)
    nn.init.normal_(layer.b)
    return layer


def test_it_starts_as_the_layer_it_adapts() -> None:
    linear, x = nn.Linear(6, 4), torch.randn(3, 5, 6)
    assert torch.equal(LoRALinear(linear, rank=2)(x), linear(x))


def test_it_adds_a_scaled_product_of_low_rank() -> None:
    layer, x = random_layer(), torch.randn(3, 6)
    expected = layer.linear(x) + 8 / 2 * x @ (layer.b @ layer.a).T
    assert torch.allclose(layer(x), expected, atol=1e-5)
    assert torch.linalg.matrix_rank(layer.b @ layer.a) == 2


def test_the_merged_layer_computes_the_same() -> None:
    layer, x = random_layer(), torch.randn(3, 6)
    assert torch.allclose(merge_lora(layer)(x), layer(x), atol=1e-5)


def test_of_a_model_only_the_updates_are_trained() -> None:
    model = nn.ModuleList([MultiHeadAttention(8, 2), MultiHeadAttention(8, 2)])
    before = {name: p.clone() for name, p in model.named_parameters()}
    assert add_lora(model, rank=2) is model
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert trained == {f"{i}.{part}.{m}" for i in (0, 1) for part in ("w_q", "w_kv") for m in "ab"}
    x = torch.randn(1, 3, 8)
    model[0](x, x).sum().backward()
    assert model[0].w_q.b.grad is not None and model[0].w_q.linear.weight.grad is None
    assert torch.equal(before["0.w_q.weight"], model[0].w_q.linear.weight)


def test_what_cannot_be_adapted_is_named() -> None:
    with pytest.raises(ValueError, match="rank=0 must be at least 1"):
        LoRALinear(nn.Linear(2, 2), rank=0)
    with pytest.raises(ValueError, match="no linear layer named w_q or w_kv"):
        add_lora(nn.Linear(2, 2), rank=1)

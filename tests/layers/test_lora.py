"""LoRA against the formula, against merged weights, and, at full rank, against training the weights."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.generation.quantization import quantize_linears
from course_lib.layers import LoRALinear, MultiHeadAttention, add_lora, merge_lora
from course_lib.models.gpt import GPT, GPTConfig

LINEARS = ("w_q", "w_kv", "w_o", "w_in", "w_out")
IDS = torch.tensor([[1, 5, 7, 2, 9, 3]])


@pytest.fixture
def model() -> GPT:
    torch.manual_seed(0)
    return GPT(GPTConfig(vocab=12, d_model=16, heads=2, layers=2, max_tokens=8))


def with_random_updates(model: GPT, rank: int = 3) -> GPT:
    adapted = add_lora(copy.deepcopy(model), rank=rank, alpha=6.0, names=LINEARS)
    for layer in adapted.modules():
        if isinstance(layer, LoRALinear):
            nn.init.normal_(layer.b, std=0.3)
    return adapted


def copied(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: weight.clone() for name, weight in model.state_dict().items()}


def assert_unchanged(model: nn.Module, before: dict[str, torch.Tensor]) -> None:
    assert model.state_dict().keys() == before.keys()
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


@pytest.mark.parametrize("bias", [True, False])
def test_the_forward_pass_is_the_formula_of_the_paper(bias: bool) -> None:
    torch.manual_seed(0)
    layer = LoRALinear(nn.Linear(5, 4, bias=bias), rank=2, alpha=6.0)
    nn.init.normal_(layer.b)
    x = torch.randn(2, 3, 5)
    w, a, b = (p.detach().double().numpy() for p in (layer.linear.weight, layer.a, layer.b))
    expected = np.einsum("oi,bti->bto", w + 6.0 / 2 * np.einsum("or,ri->oi", b, a), x.double().numpy())
    expected += layer.linear.bias.detach().numpy() if bias else 0.0
    assert np.allclose(layer(x).detach().numpy(), expected, atol=1e-5)
    assert np.allclose(merge_lora(layer)(x).detach().numpy(), expected, atol=1e-5)


def test_a_new_update_changes_nothing(model: GPT) -> None:
    assert torch.equal(add_lora(copy.deepcopy(model), rank=4, names=LINEARS)(IDS), model(IDS))


def test_merged_weights_give_the_same_outputs_without_a_lora_layer(device: str, model: GPT) -> None:
    model, ids = model.to(device), IDS.to(device)
    adapted = with_random_updates(model)
    before = copied(adapted)
    merged = merge_lora(adapted)
    assert not torch.allclose(adapted(ids), model(ids), atol=1e-2)
    assert torch.allclose(merged(ids), adapted(ids), atol=1e-5)
    assert merged.state_dict().keys() == model.state_dict().keys()
    assert_unchanged(adapted, before)


def test_the_update_has_the_rank_that_was_asked_for(model: GPT) -> None:
    merged = merge_lora(with_random_updates(model, rank=3))
    change = (merged.blocks[0].feed_forward.w_in.weight - model.blocks[0].feed_forward.w_in.weight).detach()
    assert torch.linalg.matrix_rank(change, atol=1e-4) == 3


def test_at_full_rank_any_matrix_can_be_reached() -> None:
    torch.manual_seed(0)
    base, target = nn.Linear(5, 3), torch.randn(3, 5)
    layer = LoRALinear(base, rank=3, alpha=7.0)
    u, s, v = torch.linalg.svd(target - base.weight.detach(), full_matrices=False)
    layer.a.data, layer.b.data = v, u * s * 3 / 7.0
    assert torch.allclose(merge_lora(layer).weight, target, atol=1e-5)


def test_at_full_rank_with_a_fixed_training_b_is_training_the_weights() -> None:
    torch.manual_seed(0)
    plain, x, y = nn.Linear(4, 3), torch.randn(10, 4), torch.randn(10, 3)
    layer = LoRALinear(nn.Linear(4, 3), rank=4, alpha=4.0)
    layer.linear.load_state_dict(plain.state_dict())
    layer.a.data = torch.eye(4)
    for module, weights in ((plain, [plain.weight]), (layer, [layer.b])):
        optimizer = torch.optim.SGD(weights, lr=0.1, momentum=0.9)
        for _ in range(5):
            optimizer.zero_grad()
            (module(x) - y).square().mean().backward()
            optimizer.step()
    assert torch.allclose(merge_lora(layer).weight, plain.weight, atol=1e-6)


def test_training_moves_the_lora_matrices_alone(device: str, model: GPT) -> None:
    model, ids = model.to(device), IDS.to(device)
    original, adapted = copied(model), add_lora(copy.deepcopy(model), rank=2, names=LINEARS)
    frozen = {name: p.clone() for name, p in adapted.named_parameters() if not p.requires_grad}
    optimizer = torch.optim.AdamW([p for p in adapted.parameters() if p.requires_grad], lr=0.1)
    for _ in range(2):  # A has a gradient only once B is no longer zero
        adapted(ids).square().sum().backward()
        optimizer.step()
    assert_unchanged(model, original)
    assert all(p.requires_grad for p in model.parameters())
    for name, p in adapted.named_parameters():
        assert p.requires_grad == name.endswith((".a", ".b"))
        assert name not in frozen or torch.equal(p, frozen[name])
    assert not torch.allclose(adapted(ids), model(ids), atol=1e-2)


@pytest.mark.parametrize("names", [LINEARS, ("w_q",), ("w_q", "w_out")])
def test_the_number_of_trainable_parameters(model: GPT, names: tuple[str, ...]) -> None:
    shapes = {"w_q": (16, 16), "w_kv": (32, 16), "w_o": (16, 16), "w_in": (64, 16), "w_out": (16, 64)}
    adapted = add_lora(model, rank=3, alpha=1.0, names=names)
    trainable = sum(p.numel() for p in adapted.parameters() if p.requires_grad)
    assert trainable == 2 * sum(3 * sum(shapes[name]) for name in names)  # two blocks


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
    with pytest.raises(ValueError, match="rank=0 is not a whole number of at least 1"):
        LoRALinear(nn.Linear(2, 2), rank=0)
    with pytest.raises(ValueError, match="no linear layer named w_q or w_kv"):
        add_lora(nn.Linear(2, 2), rank=1)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_merged_layers_keep_dtype_device_and_what_is_frozen(model: GPT, dtype: torch.dtype) -> None:
    adapted = with_random_updates(model.to(dtype))
    merged = merge_lora(adapted)
    assert {p.dtype for p in merged.parameters()} == {dtype}
    assert not any(p.requires_grad for p in merged.parameters())
    assert merged(IDS).dtype == dtype
    layer, update = merged.blocks[0].attention.w_q, adapted.blocks[0].attention.w_q
    exact = update.linear.weight.double() + update.scale * update.b.double() @ update.a.double()
    assert (layer.weight - exact).abs().max() <= torch.finfo(dtype).eps * exact.abs().max()
    lazy = LoRALinear(nn.Linear(3, 4, device="meta"), rank=2)
    assert merge_lora(lazy).weight.is_meta
    lazy.linear.requires_grad_(True)
    assert merge_lora(lazy).weight.requires_grad


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_update_that_is_not_finite_is_not_merged(model: GPT, value: float) -> None:
    adapted = add_lora(model, rank=2)
    with torch.no_grad():
        adapted.blocks[1].attention.w_kv.b[0, 0] = value
    with pytest.raises(ValueError, match="not finite"):
        merge_lora(adapted)


def test_a_second_call_leaves_the_first_update_trainable(model: GPT) -> None:
    add_lora(add_lora(model, rank=2, names=("w_q",)), rank=2, names=("w_kv",))
    trained = {name.split(".", 3)[3] for name, p in model.named_parameters() if p.requires_grad}
    assert trained == {"w_q.a", "w_q.b", "w_kv.a", "w_kv.b"}
    with pytest.raises(ValueError, match="it has an update already"):
        add_lora(model, rank=2)


def test_a_call_that_fails_freezes_nothing(unchecked, model: GPT) -> None:
    for names in (("nope",), ("w_q", "attention")):
        with pytest.raises(ValueError, match="linear layer"):
            add_lora(model, rank=2, names=names)
    assert all(p.requires_grad for p in model.parameters())


def test_shared_layers_stay_shared(model: GPT) -> None:
    model.blocks[1].attention.w_q = model.blocks[0].attention.w_q
    adapted = add_lora(model, rank=2)
    for one in (adapted, merge_lora(adapted)):
        assert one.blocks[1].attention.w_q is one.blocks[0].attention.w_q
        assert one.blocks[1].attention.w_kv is not one.blocks[0].attention.w_kv


def test_int8_layers_are_refused_by_name(unchecked, model: GPT) -> None:
    with pytest.raises(ValueError, match="Int8Linear is not a linear layer with floating-point weights"):
        add_lora(quantize_linears(model), rank=2)
    with pytest.raises(ValueError, match="Int8Linear cannot be merged"):
        merge_lora(quantize_linears(add_lora(model, rank=2)))


@pytest.mark.parametrize(
    "settings", [{"rank": 1.5}, {"rank": True}, {"rank": -1}]
    + [{"rank": 2, "alpha": alpha} for alpha in (0, -1.0, float("nan"), float("inf"))]
)  # fmt: skip
def test_settings_outside_their_range(unchecked, settings) -> None:
    with pytest.raises(ValueError, match=f"^{list(settings)[-1]}="):
        LoRALinear(nn.Linear(2, 2), **settings)

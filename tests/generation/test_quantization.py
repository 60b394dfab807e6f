"""Int8 weights: the error bound, the size, and layers that compute what their integers say."""

import pytest
import torch
from helpers.small_training import parts
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from course_lib.generation.quantization import Int8Linear, quantize_linears, quantize_rows


def weights(rows: int = 6, columns: int = 10) -> torch.Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(0)) * torch.logspace(
        -3, 2, rows
    ).unsqueeze(1)


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_no_weight_is_off_by_more_than_half_a_step_and_the_largest_is_exact(bits):
    weight = weights()
    integers, scale = quantize_rows(weight, bits)
    assert integers.dtype == torch.int8 and (integers.shape, scale.shape) == ((6, 10), (6, 1))
    assert integers.abs().amax(dim=1).tolist() == [2 ** (bits - 1) - 1] * 6
    error = (integers * scale - weight).abs()
    assert (error <= scale / 2 * (1 + 1e-5)).all()
    largest = weight.abs().argmax(dim=1, keepdim=True)
    assert torch.allclose((integers * scale).gather(1, largest), weight.gather(1, largest), rtol=1e-6)


@pytest.mark.parametrize("bits", [4, 8])
def test_the_rounded_weights_are_those_of_pytorch_s_symmetric_quantization(bits):
    weight, most = weights(), 2 ** (bits - 1) - 1
    integers, scale = quantize_rows(weight, bits)
    zeros = torch.zeros(len(weight), dtype=torch.int32)
    theirs = torch.fake_quantize_per_channel_affine(weight, scale.squeeze(1), zeros, 0, -most, most)
    assert torch.allclose(integers * scale, theirs, rtol=1e-6)


def test_a_row_of_zeros_stays_zero():
    integers, scale = quantize_rows(torch.zeros(2, 3))
    assert not integers.any() and scale.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("bias", [True, False])
def test_the_layer_computes_with_the_rounded_weights(device, bias):
    linear = nn.Linear(10, 6, bias).to(device)
    layer, x = Int8Linear(linear), torch.randn(2, 3, 10).to(device)
    integers, scale = quantize_rows(linear.weight.detach())
    expected = nn.functional.linear(x, integers * scale, linear.bias)
    assert torch.allclose(layer(x), expected, atol=1e-6)
    assert not torch.equal(layer(x), linear(x))


def test_a_model_keeps_its_size_but_for_the_linear_layers_and_nearly_its_logits(device):
    model = parts(dropout=0.0)[1].model.to(device).eval()
    small = quantize_linears(model)
    linears = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
    matrices = sum(layer.weight.numel() for layer in linears)
    rows = sum(layer.out_features for layer in linears)
    assert size(model) - size(small) == 4 * matrices - (matrices + 4 * rows)
    assert not any(isinstance(layer, nn.Linear) for layer in small.modules())

    source, target = torch.randint(3, 20, (2, 4, 9), generator=torch.Generator().manual_seed(0)).to(device)
    with torch.inference_mode():
        exact = model(source, target)
        errors = [(quantize_linears(model, bits)(source, target) - exact).std() for bits in (8, 4)]
    assert 0 < errors[0] < 0.02 * exact.std() and errors[1] > 5 * errors[0]


def size(model: nn.Module) -> int:
    """Bytes of all parameters and buffers."""
    return sum(t.nbytes for t in [*model.parameters(), *model.buffers()])


def test_errors_name_the_bits():
    with pytest.raises(ValueError, match="bits=9 is not a whole number from 2 to 8"):
        quantize_rows(weights(), 9)


DTYPES = st.sampled_from([torch.float32, torch.bfloat16, torch.float16, torch.float64])


@given(dtype=DTYPES, bits=st.integers(2, 8), power=st.floats(-46, 38), seed=st.integers(0, 99))
def test_no_weight_of_any_type_and_size_is_off_by_more_than_half_a_step(dtype, bits, power, seed):
    weight = (torch.randn(5, 40, generator=torch.Generator().manual_seed(seed)).double() * 10**power).to(
        dtype
    )
    weight = torch.where(weight.isfinite(), weight, torch.finfo(dtype).max)
    integers, scale = quantize_rows(weight, bits)
    most = 2 ** (bits - 1) - 1
    assert integers.abs().max() <= most and scale.dtype == torch.promote_types(dtype, torch.float32)
    error = (integers.double() * scale.double() - weight.double()).abs()
    assert (error <= scale.double() / 2 * (1 + 1e-4)).all()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused(value):
    weight = weights()
    weight[1, 2] = value
    with pytest.raises(ValueError, match="1 weights are not finite"):
        quantize_rows(weight)


@pytest.mark.parametrize("bits", [1, 9, 2.5, True])
def test_bits_are_whole_numbers(unchecked, bits):
    with pytest.raises(ValueError, match=f"bits={bits} "):
        quantize_rows(weights(), bits)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_layer_in_half_precision_computes_nearly_what_it_would_in_fp32(dtype):
    """Also where the sums of products with the integers exceed the largest number of fp16."""
    linear = nn.Linear(2000, 3).to(dtype)
    x = torch.full((1, 2000), 30.0, dtype=dtype)
    nn.init.constant_(linear.weight, 0.01)
    y = quantize_linears(linear)(x)
    assert y.dtype == dtype and torch.allclose(y.float(), torch.full((1, 3), 600.0), rtol=0.01)

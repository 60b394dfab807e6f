"""Number formats: what is chosen, and what is refused."""

import pytest
import torch

from course_lib.training import precision
from course_lib.training.precision import autocast, choose_precision, for_inference

CPU = torch.device("cpu")


def test_auto_on_a_cpu_follows_the_measurement(monkeypatch):
    monkeypatch.setattr(precision, "bf16_gain", lambda: 2.0)
    assert choose_precision("auto", CPU) == "bf16"
    monkeypatch.setattr(precision, "bf16_gain", lambda: 1.1)
    assert choose_precision("auto", CPU) == "fp32"


@pytest.mark.parametrize(("native", "chosen"), [(True, "bf16"), (False, "fp16")])
def test_auto_on_a_gpu_asks_for_bf16_without_emulation(monkeypatch, native, chosen):
    def supported(including_emulation=True):
        return including_emulation or native

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    assert choose_precision("auto", torch.device("cuda")) == chosen


def test_the_measurement_is_a_ratio_and_takes_no_part_in_chance():
    """A training that measures, as its evaluations may, goes on to the same losses."""
    state = torch.get_rng_state()
    assert 0.01 < precision.bf16_gain(size=64, repeats=2) < 100
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(("name", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_autocast_changes_products_and_not_weights(name, dtype):
    layer = torch.nn.Linear(3, 2)
    with autocast(CPU, name):
        assert layer(torch.randn(1, 3)).dtype == dtype
    assert layer.weight.dtype == torch.float32


@pytest.mark.parametrize(("name", "message"), [("fp8", "precision='fp8'"), ("fp16", "'fp16' .* cpu")])
def test_refusals(name, message):
    with pytest.raises(ValueError, match=message):
        choose_precision(name, CPU)


def test_for_inference_leaves_the_model_as_it_is():
    layer = torch.nn.Linear(3, 2)
    half = for_inference(layer, "bf16")
    assert for_inference(layer, "fp32") is layer
    assert (half.weight.dtype, layer.weight.dtype) == (torch.bfloat16, torch.float32)
    torch.testing.assert_close(half.weight.float(), layer.weight, rtol=2**-8, atol=0)

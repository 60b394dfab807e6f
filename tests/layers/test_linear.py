"""The linear layer against PyTorch's, with oneDNN and without, and where it uses which."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from course_lib.layers import linear as module
from course_lib.layers.blocks import DecoderBlock
from course_lib.layers.linear import LARGE, Linear, OneDNNLinear, linear, mkl_is_slow, onednn_is_there
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig

ROWS, D_IN, D_OUT = 6, 5, 7
needs_onednn = pytest.mark.skipif(not onednn_is_there(), reason="this system has no oneDNN")


@pytest.fixture
def calls(monkeypatch):
    """As on a processor on which MKL is slow; every product is large. The shapes multiplied by oneDNN."""
    shapes, apply = [], OneDNNLinear.apply
    monkeypatch.setattr(module, "mkl_is_slow", lambda: True)
    monkeypatch.setattr(module, "LARGE", 1)
    monkeypatch.setattr(
        OneDNNLinear, "apply", lambda x, w, b: shapes.append((*x.shape, len(w))) or apply(x, w, b)
    )
    return shapes


def gradients(function, x, weight, bias):
    """The output of a linear function, and its gradients."""
    x, weight = (t.detach().clone().requires_grad_() for t in (x, weight))
    bias = None if bias is None else bias.detach().clone().requires_grad_()
    out = function(x, weight, bias)
    scale = torch.arange(out.numel()).view_as(out) / out.numel()
    (out * scale).sum().backward()
    return [out.detach(), x.grad, weight.grad, *([] if bias is None else [bias.grad])]


@needs_onednn
@pytest.mark.parametrize("shape", [(D_IN,), (ROWS, D_IN), (2, 3, D_IN), (0, D_IN)], ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_values_and_gradients_are_those_of_pytorch(calls, shape, bias):
    torch.manual_seed(0)
    inputs = torch.randn(shape), torch.randn(D_OUT, D_IN), torch.randn(D_OUT) if bias else None
    found, expected = gradients(linear, *inputs), gradients(F.linear, *inputs)
    assert len(found) == 3 + bias and len(calls) == (0 not in shape)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        assert torch.allclose(ours, theirs, atol=1e-6)


@needs_onednn
def test_inputs_and_gradients_may_lie_anyhow_in_memory(calls):
    torch.manual_seed(0)
    x, weight = torch.randn(D_IN, 3, 2).transpose(0, 2), torch.randn(D_IN, D_OUT).t()

    def swapped(function):
        return lambda *inputs: function(*inputs).transpose(0, 1)

    found, expected = (gradients(swapped(function), x, weight, None) for function in (linear, F.linear))
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)
    assert calls == [(6, D_IN, D_OUT)]


@needs_onednn
def test_only_the_needed_gradients_are_computed(calls, monkeypatch):
    products, product = [], module.product
    monkeypatch.setattr(module, "product", lambda *pair: products.append(1) or product(*pair))
    for trained in range(3):
        inputs = [torch.randn(ROWS, D_IN), torch.randn(D_OUT, D_IN), torch.randn(D_OUT)]
        inputs[trained].requires_grad_()
        products.clear()
        linear(*inputs).sum().backward()
        assert len(products) == (1 if trained == 2 else 2)
        assert [t.grad is not None for t in inputs] == [i == trained for i in range(3)]


@needs_onednn
def test_what_onednn_does_not_compute(calls, monkeypatch):
    x, weight = torch.randn(ROWS, D_IN), torch.randn(D_OUT, D_IN)
    for dtype in (torch.float64, torch.bfloat16):
        assert linear(x.to(dtype), weight.to(dtype)).dtype == dtype
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(x, weight).dtype == torch.bfloat16
    assert linear(x.to("meta"), weight.to("meta")).is_meta
    assert not module.faster_with_onednn(x, weight.t())  # PyTorch says that the widths differ
    with monkeypatch.context() as patch:
        patch.setattr(torch.compiler, "is_compiling", lambda: True)
        linear(x, weight)
    with monkeypatch.context() as patch:
        patch.setattr(module, "mkl_is_slow", lambda: False)
        linear(x, weight)
    assert not calls
    linear(x, weight)
    assert calls == [(ROWS, D_IN, D_OUT)]


@needs_onednn
def test_small_products_stay_with_mkl(calls, monkeypatch):
    monkeypatch.setattr(module, "LARGE", ROWS * D_IN * D_OUT)
    weight = torch.randn(D_OUT, D_IN)
    linear(torch.randn(ROWS - 1, D_IN), weight)
    assert not calls
    linear(torch.randn(2, ROWS // 2, D_IN), weight)
    assert calls == [(ROWS, D_IN, D_OUT)]
    assert 64 * 256 * 128 == LARGE


FACTS = {"capability": "AVX512", "processor": "AMD EPYC", "mkl": True, "onednn": True}


@pytest.mark.parametrize(
    ("different", "slow"),
    [
        ({}, True),
        ({"capability": "AVX512_VNNI"}, True),
        ({"capability": "AVX2"}, False),  # both libraries use all of it
        ({"processor": "Intel(R) Xeon(R) Platinum"}, False),
        ({"mkl": False}, False),
        ({"onednn": False}, False),
    ],
    ids=str,
)
def test_where_mkl_is_slow(monkeypatch, different, slow):
    facts = FACTS | different
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: facts["capability"])
    monkeypatch.setattr(module.machine, "processor", lambda: facts["processor"])
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: facts["mkl"])
    monkeypatch.setattr(module, "onednn_is_there", lambda: facts["onednn"])
    assert mkl_is_slow.__wrapped__() is slow


@needs_onednn
def test_operations_are_counted_as_those_of_pytorch(calls):
    x, weight = torch.randn(ROWS, D_IN, requires_grad=True), torch.randn(D_OUT, D_IN, requires_grad=True)
    counts = []
    for function in (linear, F.linear):
        with FlopCounterMode(display=False) as counter:
            function(x, weight).sum().backward()
        counts.append(counter.get_total_flops())
    assert counts == [3 * 2 * ROWS * D_IN * D_OUT] * 2 and calls


def test_the_layer_is_a_linear_layer_of_pytorch():
    torch.manual_seed(0)
    ours, theirs = Linear(D_IN, D_OUT), nn.Linear(D_IN, D_OUT)
    assert isinstance(ours, nn.Linear) and str(ours) == str(theirs)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 3, D_IN)
    assert torch.equal(ours(x), theirs(x))


@needs_onednn
def test_blocks_and_output_layers_use_it(calls):
    torch.manual_seed(0)
    block, x, memory = DecoderBlock(12, 3, 20), torch.randn(2, 4, 12), torch.randn(2, 5, 12)
    block(x, memory)
    attention = [(8, 12, 12), (8, 12, 24), (8, 12, 12)]
    across = [(8, 12, 12), (10, 12, 24), (8, 12, 12)]
    assert calls == [*attention, *across, (8, 12, 20), (8, 20, 12)]
    ids, sizes = torch.ones(2, 4, dtype=torch.long), {"d_model": 12, "heads": 3}
    GPT(GPTConfig(vocab=13, layers=1, **sizes))(ids)
    assert calls[-1] == (8, 12, 13)
    Seq2Seq(Seq2SeqConfig(vocab=17, encoder_layers=1, **sizes))(ids, ids)
    assert calls[-1] == (8, 12, 17)

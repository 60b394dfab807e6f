"""Options of the blocks: every model has them, they reach the layers, and each knows its range."""

from dataclasses import replace

import pytest
import torch
from helpers.no_name import NO_NAME
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from course_lib.layers.blocks import ACTIVATIONS
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.models.vit import ViT, ViTConfig

SIZES = {"d_model": 12, "heads": 3}
CONFIGS = [
    GPTConfig(vocab=11, layers=2, max_tokens=8, **SIZES),
    Seq2SeqConfig(vocab=11, max_tokens=8, dropout=0.0, **SIZES),
    EncoderConfig(vocab=11, layers=2, max_tokens=8, **SIZES),
    ViTConfig(classes=4, image_size=8, layers=2, **SIZES),
]
MODELS = {GPTConfig: GPT, Seq2SeqConfig: Seq2Seq, EncoderConfig: TextEncoder, ViTConfig: ViT}
configs = pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)


def model_of(config):
    torch.manual_seed(0)
    return MODELS[type(config)](config).eval()


def blocks_of(model):
    names = ("blocks", "encoder", "decoder")
    return [block for name in names for block in getattr(model, name, ())]


def run(model):
    if isinstance(model, ViT):
        return model(torch.randn(2, 3, 8, 8))
    ids = torch.tensor([[5, 6, 7], [8, 9, 10]])
    if isinstance(model, TextEncoder):
        return model.hidden_states(ids)
    return model(ids, ids) if isinstance(model, Seq2Seq) else model(ids)


@configs
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(config, activation):
    model = model_of(replace(config, activation=activation))
    assert {block.feed_forward.activation for block in blocks_of(model)} == {ACTIVATIONS[activation]}
    assert run(model).isfinite().all()


@configs
def test_widths_heads_and_norms(config):
    options = {"d_ff": 20, "kv_heads": 1, "qk_norm": True, "epsilon": 1e-3, "norm": "post", "dropout": 0.2}
    model = model_of(replace(config, **options))
    for block in blocks_of(model):
        assert block.feed_forward.w_in.out_features == 20 and not block.pre_norm and block.dropout.p == 0.2
    layers = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    assert layers and all(layer.kv_heads == 1 and layer.qk_norm for layer in layers)
    assert {module.eps for module in model.modules() if isinstance(module, nn.LayerNorm)} == {1e-3}
    assert run(model).isfinite().all()


@configs
def test_a_model_without_blocks_is_allowed(config):
    layers = [name for name in vars(config) if name.endswith("layers")]
    assert run(model_of(replace(config, **dict.fromkeys(layers, 0)))).isfinite().all()


WRONG = {
    "d_model": st.integers(max_value=0) | st.floats(1, 100) | st.booleans(),
    "heads": st.integers(max_value=0) | st.just(5) | st.floats(1, 4),
    "kv_heads": st.integers(max_value=0) | st.just(2) | st.just(4),
    "d_ff": st.integers(max_value=-1) | st.floats(1, 9),
    "dropout": st.floats(min_value=1) | st.floats(max_value=-1e-9) | st.just(float("nan")),
    "epsilon": st.floats(max_value=0) | st.just(float("nan")),
    "norm": NO_NAME,
    "activation": NO_NAME,
    "positions": NO_NAME,
    "layers": st.integers(max_value=-1),
    "encoder_layers": st.integers(max_value=-1),
    "max_tokens": st.integers(max_value=0),
    "vocab": st.integers(max_value=0),
    "classes": st.integers(max_value=0),
    "patch_size": st.integers(max_value=0) | st.just(3),
}


@configs
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_field_knows_its_range(unchecked, config, data):
    field = data.draw(st.sampled_from([name for name in WRONG if hasattr(config, name)]))
    value = data.draw(WRONG[field])
    with pytest.raises(ValueError, match=f"^{field}=") as error:
        replace(config, **{field: value})
    assert "\n" not in str(error.value) or "\n" in str(value)

"""The inference engine computes what the model computes, and steps aside where it would not."""

import pytest
import torch
from torch import nn

from course_lib.generation import engine
from course_lib.generation.decoding import greedy_decode
from course_lib.generation.engine import Product, Seq2SeqEngine
from course_lib.generation.quantization import quantize_linears
from course_lib.layers.hooks import record_attention
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.text.tokenizers import BOS, PAD
from course_lib.training.precision import for_inference

MODERN = {"positions": "rotary", "qk_norm": True, "activation": "squared relu"}
FORMS = [{"norm": "pre"}, {"norm": "post", "activation": "gelu"}, {"positions": "learned"}, MODERN]
ROWS, SOURCE, TARGET = 18, 7, 5  # enough sequences for batched attention


def model_of(device="cpu", **changes):
    torch.manual_seed(0)
    sizes = {"vocab": 23, "d_model": 12, "heads": 3, "d_ff": 20, "encoder_layers": 2, "decoder_layers": 3}
    model = Seq2Seq(Seq2SeqConfig(**{**sizes, "max_tokens": 16, **changes})).to(device).eval()
    with torch.no_grad():  # as after training: no bias is 0 and no norm is the identity
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return model


def random_ids(*shape, device="cpu"):
    return torch.randint(5, 23, shape, generator=torch.Generator().manual_seed(1)).to(device)


def padded_source(rows, device="cpu"):
    source = random_ids(rows, SOURCE, device=device)
    for row in range(0, rows, 2):
        source[row, 2 + row % 5 :] = PAD
    return source


def read_one_by_one(generator, target):
    return torch.stack([generator.read(target[:, i : i + 1]) for i in range(target.shape[1])], dim=1)


def in_use(generator):
    return generator.engine is not None and generator.engine.applies()


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("rows", [1, 5, ROWS])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_equals_the_model(device, monkeypatch, form, rows, padded, packed):
    monkeypatch.setattr(engine, "PACK_AFTER", 1 if packed else 10**9)
    model = model_of(device, **form)
    source = padded_source(rows, device) if padded else random_ids(rows, SOURCE, device=device)
    target = random_ids(rows, TARGET, device=device)
    with torch.inference_mode():
        generator = model.generator(source)
        assert in_use(generator)
        real, memory = source != PAD, model.encode(source).hidden_states
        assert torch.allclose(generator.memory.hidden_states[real], memory[real], atol=1e-5)
        assert torch.allclose(read_one_by_one(generator, target), model(source, target), atol=1e-4)


def test_goes_on_with_the_selected_sequences_and_with_several_tokens():
    """Engine and model share the caches: single tokens, several, fewer rows, forgotten ones."""
    model, source, target = model_of(), padded_source(6), random_ids(6, 7)
    rows = torch.tensor([4, 1, 1])
    with torch.inference_mode():
        whole, generator = model(source, target), model.generator(source)
        generator.select(torch.arange(6))  # before anything was read
        generator.read(target[:, :1])
        generator.read_all(target[:, 1:4])
        generator.forget(2)
        generator.select(rows)
        assert torch.allclose(generator.read(target[rows, 2:3]), whole[rows, 2], atol=1e-4)
        assert torch.allclose(read_one_by_one(generator, target[rows, 3:]), whole[rows, 3:], atol=1e-4)
        with pytest.raises(ValueError, match=r"7 \+ 10 tokens do not fit .*max_tokens=16"):
            generator.read_all(random_ids(3, 10))


def test_starts_by_the_model_where_gradients_are_needed():
    """A generator made outside of inference mode decodes by the engine all the same."""
    model, source = model_of(), padded_source(5)
    generator, start = model.generator(source), torch.full((5, 1), BOS)
    assert generator.memory.hidden_states.requires_grad
    with torch.inference_mode():
        expected = greedy_decode(model.generator(source), start, None, 6)
        assert in_use(generator)
    assert greedy_decode(generator, start, None, 6) == expected
    logits = model.generator(source).read(start)
    logits.sum().backward()
    assert model.encoder[0].attention.w_q.weight.grad.abs().max() > 0


def test_one_engine_serves_several_batches_and_only_its_model():
    model, other = model_of(), model_of(norm="post")
    with torch.inference_mode():
        shared = Seq2SeqEngine(model)
        for rows in (20, 1, 3, 20):
            source, target = padded_source(rows), random_ids(rows, TARGET)
            generator = model.generator(source, engine=shared)
            assert torch.allclose(read_one_by_one(generator, target), model(source, target), atol=1e-4)
        with pytest.raises(ValueError, match="another model"):
            other.generator(padded_source(2), engine=shared)


def hooked(model):
    model.decoder[1].feed_forward.register_forward_hook(lambda module, inputs, output: 2 * output)


def before(model):
    model.encoder[0].register_forward_pre_hook(lambda module, inputs: (2 * inputs[0], *inputs[1:]))


def attending(model):
    model.decoder[0].attention.attend = lambda q, k, v, attn_mask=None, dropout_p=0.0: q


def replaced(model):
    model.decoder[2].feed_forward.w_in = nn.Sequential(model.decoder[2].feed_forward.w_in, nn.Tanh())


def overridden(model):
    norm = model.decoder[0].residuals[0].norm
    norm.forward = lambda x: 2 * x


@pytest.mark.parametrize("change", [hooked, before, attending, replaced, overridden])
def test_steps_aside_for_what_it_does_not_know(change):
    model, source, target = model_of(), random_ids(4, SOURCE), random_ids(4, TARGET)
    with torch.inference_mode():
        plain = model(source, target)
        change(model)
        expected, generator = model(source, target), model.generator(source)
        assert not in_use(generator)
        assert not torch.allclose(plain, expected, atol=1e-3)
        assert torch.allclose(read_one_by_one(generator, target), expected, atol=1e-5)


def test_steps_aside_for_training_for_autocast_and_for_int8():
    model, source = model_of(dropout=0.5), random_ids(4, SOURCE)
    with torch.inference_mode():
        assert not in_use(quantize_linears(model).generator(source))
        with torch.autocast("cpu", torch.bfloat16):
            assert not in_use(model.generator(source))
        assert in_use(model.generator(source))
        assert not in_use(model.train().generator(source))
    assert not in_use(model.eval().generator(source))


def test_attention_is_recorded_in_the_middle_of_generation():
    model, source, target = model_of(), random_ids(2, SOURCE), random_ids(2, 4)
    with torch.inference_mode():
        generator = model.generator(source)
        generator.read(target[:, :1])
        with record_attention(model) as maps:
            generator.read(target[:, 1:2])
        generator.read(target[:, 2:3])
    assert [m.shape for m in maps["decoder.2.attention"]] == [(2, 3, 1, 2)]
    assert [m.shape for m in maps["decoder.0.cross_attention"]] == [(2, 3, 1, SOURCE)]


def test_in_bf16_close_to_the_model():
    model = for_inference(model_of(), "bf16")
    source, target = padded_source(ROWS), random_ids(ROWS, TARGET)
    with torch.inference_mode():
        generator = model.generator(source)
        assert in_use(generator)
        found, expected = read_one_by_one(generator, target).float(), model(source, target).float()
    assert (found - expected).std() < 0.03 * expected.std()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [1, 3, 4, 9])
def test_products_before_and_after_packing(bias, rows):
    torch.manual_seed(0)
    linear, x, residual = nn.Linear(10, 6, bias), torch.randn(rows, 10), torch.randn(rows, 6)
    with torch.inference_mode():
        plain, relu = (Product(linear.weight, linear.bias, relu) for relu in (False, True))
        for _ in range(engine.PACK_AFTER + 1):  # at the latest, now they are packed
            assert torch.allclose(plain(x), linear(x), atol=1e-6)
            assert torch.allclose(relu(x), linear(x).relu(), atol=1e-6)
            assert torch.allclose(plain.plus(x, residual), linear(x) + residual, atol=1e-6)
    if engine.can_pack(linear.weight):
        assert (plain.packed is not None) == (rows >= 4) == (not plain.columns.is_contiguous())


def test_nothing_is_packed_for_a_few_rows():
    linear = nn.Linear(10, 6)
    with torch.inference_mode():
        product = Product(linear.weight, linear.bias)
        for rows in (1, 9, 3, 20):
            product(torch.randn(rows, 10))
    assert product.packed is None and not product.columns.is_contiguous()


def test_only_x86_cpus_pack_and_only_formats_that_onednn_has(monkeypatch):
    monkeypatch.setattr(engine.platform, "machine", lambda: "AMD64")
    assert not engine.can_pack(torch.zeros(2, 2, dtype=torch.float16))
    assert not engine.can_pack(torch.zeros(2, 2, device="meta"))
    assert engine.can_pack(torch.zeros(2, 2)) == torch.backends.mkldnn.is_available()
    with torch.backends.mkldnn.flags(enabled=False):
        assert not engine.can_pack(torch.zeros(2, 2))
    monkeypatch.setattr(engine.platform, "machine", lambda: "arm64")
    assert not engine.can_pack(torch.zeros(2, 2))

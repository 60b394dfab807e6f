"""The translation model: causality, padding, cache, counts, and `nn.Transformer` on copied weights."""

import math

import pytest
import torch
from torch import nn

from course_lib.generation.decoding import greedy_decode
from course_lib.layers.hooks import record_attention
from course_lib.layers.kv_cache import MemoryCache, StaticCache
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.text.tokenizers import BOS, EOS, PAD

CONFIG = {"vocab": 23, "d_model": 12, "heads": 3, "d_ff": 20, "encoder_layers": 2, "decoder_layers": 3}


def model_of(device="cpu", **changes):
    torch.manual_seed(0)
    return Seq2Seq(Seq2SeqConfig(**{**CONFIG, "max_tokens": 16, **changes})).to(device).eval()


def random_ids(*shape, device="cpu"):
    return torch.randint(5, 23, shape, generator=torch.Generator().manual_seed(1)).to(device)


def test_rotary_positions_are_in_every_block_and_share_one_table():
    model = model_of(positions="rotary")
    tables = {block.attention.rotary for block in [*model.encoder, *model.decoder]}
    assert len(tables) == 1 and None not in tables


def test_with_outputs_of_zero_every_sublayer_adds_nothing_at_first():
    model, ids = model_of(**MODERN, zero_outputs=True), random_ids(2, 5)
    encoded = model.encode(ids)
    assert torch.equal(encoded.memory, model.encoder_norm(model.embed(ids)))
    assert torch.equal(model.decode(ids, encoded), model.decoder_norm(model.embed(ids)))
    loss = model(ids, ids).square().sum()
    loss.backward()
    assert all(block.feed_forward.w_out.weight.grad.abs().max() > 0 for block in model.decoder)


@pytest.mark.parametrize("field", ["positions", "activation"])
def test_an_unknown_option_is_named(field):
    with pytest.raises(ValueError, match=rf"{field}='sines' is none of \["):
        model_of(**{field: "sines"})


def test_qk_norm_is_in_all_three_attentions():
    model = model_of(qk_norm=True)
    layers = [block.attention for block in [*model.encoder, *model.decoder]]
    layers += [block.cross_attention for block in model.decoder]
    assert len(layers) == 8 and all(layer.qk_norm for layer in layers)


def test_default_sizes():
    with torch.device("meta"):
        model = Seq2Seq(Seq2SeqConfig(vocab=100))
    d, d_ff, norm = 256, 1024, 2 * 256
    attention, feed_forward = 4 * (d * d + d), d * d_ff + d_ff + d_ff * d + d
    encoder = 2 * (attention + feed_forward + 2 * norm) + norm
    decoder = 2 * (2 * attention + feed_forward + 3 * norm) + norm
    found = sum(p.numel() for p in model.parameters())
    assert found - encoder - decoder in (100 * d, 100 * d + 100)  # embeddings, tied to the output layer


MODERN = {"positions": "rotary", "qk_norm": True, "activation": "squared relu"}
FORMS = [{"norm": "pre"}, {"norm": "post"}, {"positions": "learned"}, {"positions": "rotary"}, MODERN]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_future_is_hidden(device, form, training):
    model = model_of(device, dropout=0.0, **form).train(training)
    source, target = random_ids(2, 5, device=device), random_ids(2, 7, device=device)
    changed = target.clone()
    changed[:, 4:] = (target[:, 4:] - 5 + 1) % 18 + 5
    before, after = model(source, target), model(source, changed)
    assert torch.allclose(before[:, :4], after[:, :4], atol=1e-5)
    assert ((before[:, 4:] - after[:, 4:]).abs().amax(-1) > 1e-3).all()


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_padded_token_equals_an_absent_one(device, form):
    model = model_of(device, **form)
    source, target = random_ids(2, 5, device=device), random_ids(2, 4, device=device)
    padded = torch.cat([source, torch.full((2, 3), PAD, device=device)], dim=1)
    longer = torch.cat([target, torch.full((2, 2), PAD, device=device)], dim=1)
    assert torch.allclose(model(padded, longer)[:, :4], model(source, target), atol=1e-5)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_cached_decoding_equals_one_pass(device, form):
    model = model_of(device, **form)
    source, target = random_ids(2, 5, device=device), random_ids(2, 7, device=device)
    source[1, 3:] = PAD
    whole = model(source, target)
    for sizes in ([1] * 7, [3, 1, 3], [7]):
        generator, position = model.generator(source), 0
        for size in sizes:
            logits = generator.read(target[:, position : position + size])
            position += size
            assert torch.allclose(logits, whole[:, position - 1], atol=1e-5)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_cache_that_compiled_code_uses_equals_one_pass(form):
    model, source, target = model_of(**form), random_ids(3, 5), random_ids(3, 7)
    source[1, 3:] = PAD
    whole, memory = model(source, target), model.encode(source)
    caches = [(StaticCache(9), MemoryCache()) for _ in model.decoder]
    position, rows = 0, torch.arange(3)
    for size in (3, 1, 1, 2):
        states = model.decode(target[rows, position : position + size], memory, caches)
        position += size
        assert torch.allclose(model.output_logits(states), whole[rows, position - size : position], atol=1e-5)
        assert all(own.length == position for own, _ in caches)
        if position == 4:  # in the middle, two of the sentences go on
            chosen = torch.tensor([2, 1])
            rows, memory = rows[chosen], memory.select(chosen)
            for own, cross in caches:
                own.select(chosen)
                cross.select(chosen)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_order_of_the_words_counts(form):
    model = model_of(**form)
    source, target = random_ids(2, 5), random_ids(2, 7)
    with torch.no_grad():  # learned positions begin so small that one would hardly see them
        for parameter in model.positions.parameters():
            parameter *= 20
    order = torch.tensor([2, 0, 1, 4, 3])
    assert not torch.allclose(model(source[:, order], target), model(source, target), atol=1e-3)


def test_generator_goes_on_with_the_selected_sentences():
    model = model_of()
    source, target = random_ids(3, 5), random_ids(3, 4)
    whole, generator, rows = model(source, target), model.generator(source), torch.tensor([2, 0])
    generator.read(target[:, :3])
    generator.select(rows)
    assert torch.allclose(generator.read(target[rows, 3:]), whole[rows, 3], atol=1e-5)


def by_recomputing(model, source, most):
    """Greedy decoding without a cache, one sentence at a time."""
    written = []
    for row in source:
        ids = [BOS]
        while len(ids) <= most:
            best = model(row[None], torch.tensor([ids]))[0, -1].argmax().item()
            if best == EOS:
                break
            ids.append(best)
        written.append(ids[1:])
    return written


def test_greedy_equals_recomputing_everything():
    model = model_of()
    with torch.no_grad():  # a random model seldom ends a sentence: make EOS likely
        model.embedding.weight[EOS] *= 3
    source = random_ids(8, 5)
    ours = greedy_decode(model.generator(source), torch.full((8, 1), BOS), EOS, max_tokens=12)
    assert ours == by_recomputing(model, source, 12)
    assert len({len(ids) for ids in ours}) > 1  # some ended early, and left the batch
    with pytest.raises(ValueError, match="max_tokens=0"):
        greedy_decode(model.generator(source), torch.full((8, 1), BOS), EOS, max_tokens=0)


def test_the_cache_refuses_more_tokens_than_it_holds():
    generator = model_of().generator(random_ids(1, 5))
    with pytest.raises(ValueError, match="17.*max_tokens=16"):
        generator.read(random_ids(1, 17))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_equals_nn_transformer_on_copied_weights(norm):
    model = model_of(norm=norm, encoder_layers=2, decoder_layers=2)
    theirs = nn.Transformer(12, 3, 2, 2, 20, 0.0, batch_first=True, norm_first=norm == "pre")
    theirs = theirs.eval()
    if norm == "post":  # PyTorch ends both stacks in a LayerNorm in any case
        theirs.encoder.norm, theirs.decoder.norm = None, None

    def copy(ours, layer, attentions):
        for mine, his in attentions:
            mine.w_q.weight.copy_(his.in_proj_weight[:12])
            mine.w_q.bias.copy_(his.in_proj_bias[:12])
            mine.w_kv.weight.copy_(his.in_proj_weight[12:])
            mine.w_kv.bias.copy_(his.in_proj_bias[12:])
            mine.w_o.load_state_dict(his.out_proj.state_dict())
        ours.feed_forward.w_in.load_state_dict(layer.linear1.state_dict())
        ours.feed_forward.w_out.load_state_dict(layer.linear2.state_dict())

    with torch.no_grad():
        for ours, layer in zip(model.encoder, theirs.encoder.layers, strict=True):
            copy(ours, layer, [(ours.attention, layer.self_attn)])
        for ours, layer in zip(model.decoder, theirs.decoder.layers, strict=True):
            pairs = [(ours.attention, layer.self_attn), (ours.cross_attention, layer.multihead_attn)]
            copy(ours, layer, pairs)
    source, target = random_ids(2, 5), random_ids(2, 4)
    source[0, 3:] = PAD
    states = theirs(
        model.embed(source),
        model.embed(target),
        tgt_mask=torch.ones(4, 4, dtype=torch.bool).triu(1),
        src_key_padding_mask=source == PAD,
        memory_key_padding_mask=source == PAD,
    )
    assert torch.allclose(model.output_logits(states), model(source, target), atol=1e-4)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_parameter_count(form):
    d, d_ff, vocab, encoder, decoder = 12, 20, 23, 2, 3
    attention, feed_forward, norm = 4 * (d * d + d), 2 * d * d_ff + d + d_ff, 2 * d
    expected = vocab * d + encoder * (attention + feed_forward + 2 * norm)
    expected += decoder * (2 * attention + feed_forward + 3 * norm)
    expected += 0 if form.get("norm") == "post" else 2 * norm
    expected += 16 * d if form.get("positions") == "learned" else 0
    assert sum(p.numel() for p in model_of(**form).parameters()) == expected


def test_every_attention_can_be_seen():
    model = model_of()
    with record_attention(model) as maps:
        model(random_ids(2, 5), random_ids(2, 4))
    assert len(maps) == 2 + 2 * 3
    assert maps["decoder.2.cross_attention"][0].shape == (2, 3, 4, 5)
    assert torch.equal(maps["decoder.0.attention"][0].triu(1), torch.zeros(2, 3, 4, 4))


def test_embeddings_start_at_the_size_of_the_positions():
    vectors = model_of(d_model=48, vocab=500).embedding(torch.arange(500)) * 48**0.5
    assert vectors.var().item() == pytest.approx(1, rel=0.05)


def test_embeddings_times_the_root_of_the_width_plus_positions():
    model, ids = model_of(), random_ids(2, 7)
    angles = torch.arange(7)[:, None] / 10000 ** (torch.arange(0, 12, 2) / 12)
    positions = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    expected = model.embedding.weight[ids] * math.sqrt(12) + positions
    assert torch.allclose(model.embed(ids), expected, atol=1e-5)
    assert torch.allclose(model.embed(ids[:, 4:], start=4), expected[:, 4:], atol=1e-5)


def test_matrices_start_with_xavier_s_spread_and_biases_at_zero():
    model = model_of(d_model=48, d_ff=96)
    for module in model.modules():
        if isinstance(module, nn.Linear):
            bound = math.sqrt(6 / (module.in_features + module.out_features))
            assert 0.97 * bound < module.weight.abs().max().item() <= bound
            assert module.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)
            assert not module.bias.any()


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_training_drops_features_of_the_embeddings(form):
    model, ids = model_of(dropout=0.25, d_model=48, **form), random_ids(8, 16)
    whole, dropped = model.embed(ids), model.train().embed(ids)
    kept = dropped != 0
    assert kept.float().mean().item() == pytest.approx(0.75, abs=0.03)
    assert torch.allclose(dropped[kept], whole[kept] / 0.75, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 14, "heads": 4}, "heads=4 .*d_model=14"),
        ({"d_model": 15}, "d_model=15 is odd"),
        ({"norm": "none"}, "norm='none'"),
        ({"positions": "relative"}, "positions='relative' .*learned.*rotary.*sinusoidal"),
        ({"positions": "rotary", "heads": 4}, "d_head=3 is odd"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        model_of(**changes)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_too_long_a_sentence_is_refused(form):
    with pytest.raises(ValueError, match="17 .*max_tokens=16"):
        model_of(**form)(random_ids(1, 17), random_ids(1, 4))


def test_sources_are_padded_for_compiling_and_nothing_changes(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda function, **options: function)  # compiling takes minutes
    model, source = model_of(), random_ids(2, 5)
    start = torch.full((2, 1), BOS)
    plain = greedy_decode(model.generator(source, 8), start, EOS, 6)
    padded = greedy_decode(model.generator(source, 8, compiled=True), start, EOS, 6)
    assert plain == padded


def test_a_source_of_padding_alone_disturbs_nobody():
    """Its logits are finite, and those of the other sentences what they are without it, in a large batch."""
    torch.manual_seed(0)
    model = Seq2Seq(Seq2SeqConfig(vocab=30, d_model=32, heads=2, d_ff=64, max_tokens=20)).eval()
    sources, start = torch.randint(5, 30, (20, 6)), torch.ones(20, 1, dtype=torch.long)
    sources[0] = PAD
    with torch.inference_mode():
        found = model.generator(sources).read(start)
        assert found.isfinite().all()
        assert torch.allclose(found[1:], model.generator(sources[1:]).read(start[1:]), atol=1e-5)
        assert torch.allclose(found, model(sources, start)[:, -1], atol=1e-5)

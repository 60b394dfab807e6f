"""DLStudio rebuilt: parameter counts, each deviation by itself, the Transformer that is left without any."""

import math
from dataclasses import fields, replace
from itertools import islice

import pytest
import torch
from helpers.few_pairs import few_pairs
from torch import nn

from course_lib.layers.multi_head_attention import attention
from course_lib.lectures.dlstudio import (
    EOS,
    SOS,
    BasicDecoder,
    BasicEncoder,
    Corpus,
    Deviations,
    DLStudioAttention,
    DLStudioConfig,
    Procedure,
    TransformerFG,
    TransformerPreLN,
    Translation,
    Vocabulary,
    corpus_of,
    demonstrate,
    dlstudio_attention,
    evaluation,
    loss_of,
    real_words,
    score,
    small_model,
    training,
    translate,
    translations,
)
from course_lib.lectures.dlstudio.blocks import keep_first
from course_lib.lectures.dlstudio.deviations import FLAT

SIZES = {
    "source_vocab": 31,
    "target_vocab": 37,
    "d_model": 24,
    "heads": 3,
    "encoder_layers": 1,
    "decoder_layers": 2,
}
CONFIG = DLStudioConfig(tokens=7, **SIZES)
NAMES = [one.name for one in fields(Deviations)]
KINDS = [TransformerFG, TransformerPreLN]
LECTURES = {
    "FG": (TransformerFG, Deviations.lecture()),
    "FG, masked": (TransformerFG, Deviations.lecture(masking=True)),
    "PreLN": (TransformerPreLN, Deviations.lecture_preln(masking=False)),
    "PreLN, masked": (TransformerPreLN, Deviations.lecture_preln()),
    "slides": (TransformerFG, Deviations.slides()),
    "2.5.2": (TransformerFG, Deviations.later()),
    "correct FG": (TransformerFG, Deviations()),
    "correct PreLN": (TransformerPreLN, Deviations()),
}
lectures = pytest.mark.parametrize(("kind", "deviations"), LECTURES.values(), ids=LECTURES)


def model_of(deviations=None, kind=TransformerFG, config=CONFIG, device="cpu"):
    torch.manual_seed(0)
    return kind(config, deviations or Deviations()).to(device).eval()


def some_ids(vocab=31, batch=5, tokens=7, padding=0, device="cpu"):
    ids = torch.randint(2, vocab, (batch, tokens), generator=torch.Generator().manual_seed(vocab + tokens))
    ids[:, 0] = SOS
    ids[:, tokens - padding :] = EOS
    return ids.to(device)


def numbers(module):
    return sum(p.numel() for p in module.parameters()), len(list(module.parameters()))


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    ("kind", "deviations", "encoder", "decoder"),
    [
        (TransformerFG, Deviations.lecture(), 124_583_936, 149_886_015),
        (TransformerPreLN, Deviations.lecture_preln(), 124_583_936, 149_886_015),
        (TransformerFG, Deviations.slides(), 105_092_096, 130_394_175),
        (TransformerFG, Deviations.later(), 1_255_424, 7_065_663),
        (TransformerPreLN, Deviations.lecture_preln().without(*FLAT), 1_255_424, 7_065_663),
    ],
    ids=["2.4.3 FG", "2.4.3 PreLN", "slides", "2.5.2 FG", "2.5.2 PreLN"],
)
def test_parameter_counts_of_the_lecture(kind, deviations, encoder, decoder):
    with torch.device("meta"):
        model = kind(DLStudioConfig(), deviations)
    assert numbers(model.encoder) == (encoder, 128)
    assert numbers(model.decoder) == (decoder, 234)


def test_parameter_count_without_deviations_is_that_of_the_paper():
    d, d_ff, vocab = 24, 48, 37
    attend, feed_forward, norm = 4 * (d * d + d), d * d_ff + d_ff + d_ff * d + d, 2 * d
    model = model_of()
    assert numbers(model.encoder)[0] == attend + feed_forward + 2 * norm
    assert numbers(model.decoder)[0] == 2 * (2 * attend + feed_forward + 3 * norm) + vocab * d
    assert numbers(model_of(kind=TransformerPreLN).encoder)[0] == numbers(model.encoder)[0] + norm


def test_flat_layers_hold_nearly_all_parameters_of_the_lecture():
    with torch.device("meta"):
        whole = numbers(TransformerFG(DLStudioConfig(), Deviations.lecture()).encoder)[0]
        block = TransformerFG(DLStudioConfig(), Deviations.lecture()).encoder.blocks[0]
    assert numbers(block.feed_forward)[0] == 2560 * 5120 + 5120 + 5120 * 2560 + 2560 == 26_222_080
    assert numbers(block.attention)[0] == 3 * 4 * (640 * 640 + 640)
    assert 4 * (26_222_080 + 4_922_880 + 4 * 256) == whole


# ---------------------------------------------------------------- what all forms share


@lectures
def test_log_probabilities_and_words(device, kind, deviations):
    model = model_of(deviations, kind, device=device)
    log_probabilities, ids = model(some_ids(device=device), some_ids(37, device=device))
    assert log_probabilities.shape == (5, 7, 37)
    assert torch.equal(log_probabilities[:, 0], torch.zeros_like(log_probabilities[:, 0]))
    assert torch.allclose(log_probabilities[:, 1:].exp().sum(-1), torch.ones(5, 6, device=device), atol=1e-5)
    assert torch.equal(ids[:, 1:], log_probabilities[:, 1:].argmax(-1))
    assert (ids[:, 0] == (EOS if deviations.starts_with_eos else SOS)).all()


def test_lecture_output_begins_with_eos_and_that_of_preln_with_sos():
    words = Vocabulary(["es tu profesor"])
    assert words.spell(torch.tensor([EOS, 2, 4, 3, EOS])) == "EOS es tu profesor EOS"
    assert Deviations.lecture().starts_with_eos and not Deviations.lecture_preln().starts_with_eos


@pytest.mark.parametrize("name", NAMES)
def test_each_deviation_can_be_fixed_alone(name):
    model = model_of(Deviations.lecture().without(name))
    assert model(some_ids(), some_ids(37))[0].isfinite().all()


@pytest.mark.parametrize("name", NAMES)
def test_each_deviation_alone_changes_the_model_and_keeps_it_working(name):
    zeroing = name in ("mask_by_zeroing", "mask_only_at_entry", "mask_slices_embedding")
    before = Deviations(pass_per_position=zeroing, mask_by_zeroing=zeroing and name != "mask_by_zeroing")
    kind = TransformerPreLN if name == "no_final_norm" else TransformerFG
    source, target = some_ids(padding=2), some_ids(37, padding=3)

    def outcome(deviations):
        """What a training step and an evaluation can see of a model, and how often its blocks run."""
        model, calls = model_of(deviations, kind), []
        model.decoder.blocks[0].register_forward_hook(lambda *_: calls.append(1))
        log_probabilities, ids = model(source, target)
        seen = log_probabilities.detach().sum(-1).flatten().tolist(), ids.flatten().tolist()
        torch.manual_seed(1)
        return *seen, loss_of(model.train(), source, target).item(), len(calls), numbers(model)

    after = outcome(replace(before, **{name: True}))
    assert after != outcome(before)
    assert math.isfinite(after[2])


def test_every_deviation_says_what_it_does():
    described = Deviations.descriptions()
    assert list(described) == NAMES
    assert {row for row, _ in described.values()} == {1, 2, 3, 4, 6, 9, 10, 11, 13, 14, 15, 16, 18}
    assert all(len(does) > 20 for _, does in described.values())


def test_the_forms_differ_in_what_the_list_says():
    def on(deviations):
        return {name for name in NAMES if getattr(deviations, name)}

    fg, preln, slides = on(Deviations.lecture()), on(Deviations.lecture_preln(False)), on(Deviations.slides())
    assert fg - preln == {"no_cross_residual", "starts_with_eos"}
    assert preln - fg == {"mask_only_at_entry", "no_final_norm"}
    assert fg - slides == {"unmasked", "flat_self_attention", "softmax_over_queries"}
    assert slides - fg == {"no_encoder_residual", "mask_slices_embedding"}
    assert fg - on(Deviations.later()) == set(FLAT)
    assert fg - on(Deviations.lecture(masking=True)) == {"unmasked"}
    assert on(Deviations()) == set()


def test_refusals_of_deviations():
    with pytest.raises(ValueError, match="mask_by_zeroing=True needs pass_per_position=True"):
        Deviations.lecture(masking=True).without("pass_per_position")
    with pytest.raises(ValueError, match="'dropout' is not one of the 23 deviations"):
        Deviations().without("dropout")


# ---------------------------------------------------------------- rows 1 to 4: attention, feed-forward


def q_k_v():
    generator = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(2, 3, tokens, 4, generator=generator) for tokens in (5, 6, 6))
    return q * 3, k, v


@pytest.mark.parametrize("masked", [False, True])
def test_attention_without_deviations_is_attention(masked):
    mask = torch.rand(2, 1, 5, 6, generator=torch.Generator().manual_seed(0)) < 0.5 if masked else None
    if masked:
        mask[:, :, 2] = False
    for mine, right in zip(
        dlstudio_attention(*q_k_v(), mask, Deviations()), attention(*q_k_v(), mask), strict=True
    ):
        assert torch.allclose(mine, right, atol=1e-6)


def test_softmax_over_queries_makes_columns_sum_to_one():
    _, weights = dlstudio_attention(*q_k_v(), None, Deviations(softmax_over_queries=True))
    assert torch.allclose(weights.sum(-2), torch.ones(2, 3, 6))
    assert (weights.sum(-1) - 1).abs().max() > 0.5


def test_softmax_over_queries_leaves_hidden_keys_out():
    mask = torch.tensor([True, True, False, True, True, False])[None, None, None]
    out, weights = dlstudio_attention(*q_k_v(), mask, Deviations(softmax_over_queries=True))
    assert (weights[..., [2, 5]] == 0).all() and out.isfinite().all()


def test_scale_after_the_softmax_shrinks_the_output_and_not_the_scores():
    q, k, v = q_k_v()
    out, weights = dlstudio_attention(q, k, v, None, Deviations(scale_after_softmax=True))
    assert torch.allclose(weights, (q @ k.mT).softmax(-1), atol=1e-6)
    assert torch.allclose(out, weights @ v / 2, atol=1e-6)
    softer = dlstudio_attention(q, k, v, None, Deviations())[1]
    assert weights.amax(-1).mean() > softer.amax(-1).mean() + 0.1


def attend_of(flat=False, **deviations):
    torch.manual_seed(0)
    return DLStudioAttention(24, 3, 7, flat, Deviations(**deviations))


@pytest.mark.parametrize("flat", [False, True])
def test_flat_projections_break_equivariance(flat):
    attend, x = attend_of(flat), torch.randn(2, 7, 24)
    order = torch.tensor([3, 0, 6, 2, 5, 1, 4])
    gap = (attend(x[:, order], x[:, order]) - attend(x, x)[:, order]).abs().max()
    assert gap > 0.01 if flat else gap < 1e-5


@pytest.mark.parametrize("flat", [False, True])
def test_flat_feed_forward_mixes_positions(flat):
    block = BasicEncoder(CONFIG, Deviations(flat_feed_forward=flat), "post")
    x = torch.randn(2, 7, 24)
    changed = x.clone()
    changed[:, 4] += 1
    moved = (block.feed_forward(changed) - block.feed_forward(x)).abs().amax((0, 2)) > 1e-6
    assert moved.tolist() == ([True] * 7 if flat else [False] * 4 + [True] + [False] * 2)


@pytest.mark.parametrize("sliced", [False, True])
@pytest.mark.parametrize("unmixed", [False, True])
def test_sliced_heads_see_only_their_slice_until_they_are_mixed(sliced, unmixed):
    attend = attend_of(sliced_heads=sliced, no_output_projection=unmixed)
    x = torch.randn(2, 7, 24)
    changed = x.clone()
    changed[..., 8:16] += 1
    moved = (attend(changed, changed) - attend(x, x)).abs().amax((0, 1)) > 1e-6
    expected = [False] * 8 + [True] * 8 + [False] * 8 if sliced and unmixed else [True] * 24
    assert moved.tolist() == expected


def test_cross_attention_may_be_flat_by_itself():
    block = BasicDecoder(CONFIG, Deviations(flat_cross_attention=True), "post")
    assert block.cross_attention.w_q.flat and not block.attention.w_q.flat
    block = BasicDecoder(CONFIG, Deviations(flat_self_attention=True), "post")
    assert block.attention.w_q.flat and not block.cross_attention.w_q.flat


# ---------------------------------------------------------------- rows 5 and 6: embeddings, regularisation


def test_positions_of_the_lecture_are_those_of_the_paper():
    exponents = 2 * torch.arange(0, 24, 2, dtype=torch.float64) / 24  # as on the slide
    angles = torch.arange(7)[:, None] / 100.0**exponents
    table = model_of().embed_source.positions.double()
    assert torch.allclose(table[:, 0::2], angles.sin(), atol=1e-6)
    assert torch.allclose(table[:, 1::2], angles.cos(), atol=1e-6)


@pytest.mark.parametrize("unscaled", [False, True])
def test_embeddings_are_scaled_unless_odd(unscaled):
    embed = model_of(Deviations(unscaled_embeddings=unscaled)).embed_source
    words = embed(some_ids()) - embed.positions
    scale = 1 if unscaled else math.sqrt(24)
    assert torch.allclose(words, embed.embedding.weight[some_ids()] * scale, atol=1e-5)


def test_untied_output_has_weights_and_a_bias_of_its_own():
    tied, untied = model_of(), model_of(Deviations(untied_output=True))
    assert tied.decoder.out.weight is tied.embed_target.embedding.weight and tied.decoder.out.bias is None
    assert untied.decoder.out.weight is not untied.embed_target.embedding.weight
    assert numbers(untied)[0] - numbers(tied)[0] == 37 * 24 + 37


@pytest.mark.parametrize("odd", [False, True])
def test_no_dropout_makes_training_repeat_itself(odd):
    model = model_of(Deviations(no_dropout=odd)).train()
    first, second = (model(some_ids(), some_ids(37))[0] for _ in range(2))
    assert torch.equal(first, second) == odd


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("counted", [False, True])
def test_loss_by_hand(smoothing, counted):
    model = model_of(Deviations(no_label_smoothing=not smoothing, padding_counted=counted))
    source, target = some_ids(), some_ids(37, padding=3)
    log_probabilities = model(source, target)[0]
    expected = 0.0
    for b in range(5):
        for t in range(1, 7 if counted else 5):  # the words, the first EOS, and then padding
            row = log_probabilities[b, t]
            expected -= (1 - smoothing) * row[target[b, t]] + smoothing * row.mean()
    assert torch.allclose(loss_of(model, source, target), expected / 5, atol=1e-4)


# ---------------------------------------------------------------- rows 9 to 11: what the decoder sees


def dependence(deviations, kind=TransformerFG, train=False):
    """For each slot 1, 2, … and each position of the target: does the prediction depend on that word?"""
    model = model_of(deviations, kind, replace(CONFIG, dropout=0.0)).train(train)
    source, target = some_ids(), some_ids(37)
    caught = []
    model.embed_target.register_forward_hook(lambda *hook: caught.append(hook[-1]))
    log_probabilities = model(source, target)[0]
    rows = []
    for slot in range(1, 7):
        value = log_probabilities[:, slot, 5].sum()
        grad = torch.autograd.grad(value, caught[0], retain_graph=True)[0]
        rows.append((grad.abs().amax((0, 2)) > 0).tolist())
    return torch.tensor(rows)


PAST = torch.ones(6, 7, dtype=torch.bool).tril()  # slot t (row t - 1) depends on the words before t


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize(
    ("kind", "deviations"),
    [
        (TransformerFG, Deviations.lecture(masking=True)),
        (TransformerPreLN, Deviations.lecture_preln()),
        (TransformerFG, Deviations()),
        (TransformerPreLN, Deviations()),
        (TransformerFG, Deviations(pass_per_position=True)),
    ],
    ids=["FG zeroing", "PreLN zeroing", "correct FG", "correct PreLN", "correct, pass per position"],
)
def test_the_future_is_hidden(kind, deviations, train):
    assert torch.equal(dependence(deviations, kind, train), PAST)


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize(
    "deviations",
    [Deviations.lecture(), Deviations.later(), Deviations(unmasked=True)],
    ids=["lecture", "2.5.2", "otherwise correct"],
)
def test_unmasked_every_word_is_seen(deviations, train):
    assert dependence(deviations, train=train).all()


def test_a_causal_mask_does_not_help_where_other_layers_mix_positions():
    own = torch.eye(6, 7, dtype=torch.bool).roll(1, dims=1)  # slot t and word t
    assert torch.equal(dependence(Deviations(no_shift=True)), PAST | own)
    for name in (*FLAT[::2], "softmax_over_queries"):
        assert dependence(Deviations(**{name: True}))[:5].all(), name


def test_zeroing_hides_all_but_the_first_words_or_features():
    x = torch.ones(2, 3, 4)
    assert keep_first(x, 2, dim=1).sum((0, 2)).tolist() == [8, 8, 0]
    assert keep_first(x, 2, dim=2).sum((0, 1)).tolist() == [6, 6, 0, 0]


def visible_words(deviations, kind=TransformerFG):
    """The `visible` of each call of each decoder block, in their order."""
    model, calls = model_of(deviations, kind), []
    for block in model.decoder.blocks:
        block.register_forward_hook(lambda module, inputs, output: calls.append(inputs[-1]))
    model(some_ids(), some_ids(37))
    return calls


def test_the_mask_grows_by_one_word_for_each_pass():
    assert visible_words(Deviations.lecture(masking=True)) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    assert visible_words(Deviations.lecture()) == [None] * 12
    assert visible_words(Deviations.lecture().without("pass_per_position")) == [None] * 2
    assert visible_words(Deviations()) == [None] * 2


def block_dependence(deviations, visible):
    """Which positions, and which features, a decoder block's output depends on."""
    torch.manual_seed(0)
    block, memory = BasicDecoder(CONFIG, deviations, "pre"), torch.randn(2, 7, 24)
    x = torch.randn(2, 7, 24, requires_grad=True)
    block(x, memory, None, None, visible)[..., 0].sum().backward()
    return (x.grad.abs().amax((0, 2)) > 0).tolist(), (x.grad.abs().amax((0, 1)) > 0).tolist()


def test_what_a_block_zeroes():
    zeroing = Deviations(mask_by_zeroing=True, pass_per_position=True)
    assert block_dependence(zeroing, 3) == ([True] * 3 + [False] * 4, [True] * 24)
    printed = replace(zeroing, mask_slices_embedding=True)
    assert block_dependence(printed, 3) == ([True] * 7, [True] * 3 + [False] * 21)
    preln = replace(zeroing, mask_only_at_entry=True)
    assert block_dependence(preln, 3) == ([True] * 7, [True] * 24)


def test_zeroed_words_still_take_part_in_the_softmax():
    attend = attend_of()
    x = keep_first(torch.randn(2, 7, 24), 3, dim=1)
    weights = dlstudio_attention(attend.w_q(x), attend.w_k(x), attend.w_v(x), None, Deviations())[1]
    assert weights[..., 3:].sum(-1).min() > 0.1


@pytest.mark.parametrize("deviations", [Deviations.lecture(), Deviations(), Deviations(no_shift=True)])
def test_passes_for_each_word_give_what_one_pass_gives(deviations):
    many, one = (model_of(replace(deviations, pass_per_position=odd)) for odd in (True, False))
    one.load_state_dict(many.state_dict())
    assert torch.allclose(many(some_ids(), some_ids(37))[0], one(some_ids(), some_ids(37))[0], atol=1e-5)


@pytest.mark.parametrize("odd", [False, True])
def test_a_word_is_predicted_one_position_before_it_unless_odd(odd):
    model = model_of(Deviations(no_shift=odd))
    states = []
    model.decoder.norm.register_forward_hook(lambda *hook: states.append(hook[-1]))
    predicted = model(some_ids(), some_ids(37))[0][:, 1:]
    read = states[0][:, 1:] if odd else states[0][:, :-1]
    assert torch.allclose(predicted, model.decoder.out(read).log_softmax(-1), atol=1e-6)


# ---------------------------------------------------------------- rows 14 to 18: padding, residuals, norms


def test_real_words_end_with_the_first_eos():
    ids = torch.tensor([[SOS, 5, 3, EOS, EOS], [SOS, EOS, EOS, EOS, EOS], [SOS, 2, 4, 6, 8]])
    assert real_words(ids).sum(-1).tolist() == [4, 2, 5]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attended", [False, True])
@pytest.mark.parametrize("unmasked", [False, True])
def test_a_padded_word_equals_an_absent_one_unless_odd(kind, attended, unmasked):
    model = model_of(Deviations(padding_attended=attended, unmasked=unmasked), kind)
    source, target = some_ids(padding=4), some_ids(37, padding=3)
    gap = (model(source, target)[0][:, :5] - model(source[:, :4], target[:, :5])[0]).abs().max()
    assert gap > 1e-3 if attended else gap < 1e-5


def silenced(block):
    """The block, its sublayers saying nothing: what comes out is what the residuals carry."""
    for name, parameter in block.named_parameters():
        if ".w_o" in name:
            nn.init.zeros_(parameter)
    return block


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_only_the_named_residuals_are_missing(norm):
    x, memory = torch.randn(2, 7, 24), torch.randn(2, 7, 24)

    def carried(block, *inputs):
        return silenced(block)(*inputs).abs().max() > 0.1

    assert carried(BasicEncoder(CONFIG, Deviations(no_cross_residual=True), norm), x)
    assert not carried(BasicEncoder(CONFIG, Deviations(no_encoder_residual=True), norm), x)
    assert carried(BasicDecoder(CONFIG, Deviations(no_encoder_residual=True), norm), x, memory)
    assert not carried(BasicDecoder(CONFIG, Deviations(no_cross_residual=True), norm), x, memory)


def test_preln_ends_in_a_layer_norm_unless_odd():
    right, odd = (model_of(Deviations(no_final_norm=n), TransformerPreLN) for n in (False, True))
    for stack in (right.encoder, right.decoder):
        assert isinstance(stack.norm, nn.LayerNorm)
    for stack in (odd.encoder, odd.decoder, model_of().encoder, model_of().decoder):
        assert isinstance(stack.norm, nn.Identity)


# ---------------------------------------------------------------- the Transformer that is left


def copied(theirs, mine):
    """`mine`'s attention weights in an `nn.MultiheadAttention`."""
    linears = [linear for w in (mine.w_q, mine.w_k, mine.w_v) for linear in w.linears]
    theirs.in_proj_weight.data = torch.cat([linear.weight for linear in linears])
    theirs.in_proj_bias.data = torch.cat([linear.bias for linear in linears])
    theirs.out_proj.load_state_dict(mine.w_o.state_dict())


@pytest.mark.parametrize("kind", KINDS)
def test_without_deviations_it_is_torch_s_transformer(kind):
    model, pre = model_of(kind=kind), kind is TransformerPreLN
    sizes = {"d_model": 24, "nhead": 3, "dim_feedforward": 48, "batch_first": True, "norm_first": pre}
    encoder, decoder = (
        nn.TransformerEncoderLayer(**sizes),
        [nn.TransformerDecoderLayer(**sizes) for _ in "12"],
    )
    for mine, theirs in zip([*model.encoder.blocks, *model.decoder.blocks], [encoder, *decoder], strict=True):
        copied(theirs.self_attn, mine.attention)
        theirs.linear1.load_state_dict(mine.feed_forward.w_in.state_dict())
        theirs.linear2.load_state_dict(mine.feed_forward.w_out.state_dict())
        for i, residual in enumerate(mine.residuals, start=1):
            getattr(theirs, f"norm{i}").load_state_dict(residual.norm.state_dict())
        if hasattr(mine, "cross_attention"):
            copied(theirs.multihead_attn, mine.cross_attention)
        theirs.eval()
    source, target = some_ids(padding=2), some_ids(37)
    hidden, future = ~real_words(source), torch.ones(7, 7, dtype=torch.bool).triu(1)
    memory = model.encoder.norm(encoder(model.embed_source(source), src_key_padding_mask=hidden))
    states = model.embed_target(target)
    for layer in decoder:
        states = layer(states, memory, tgt_mask=future, memory_key_padding_mask=hidden)
    expected = model.decoder.out(model.decoder.norm(states)).log_softmax(-1)
    assert torch.allclose(model(source, target)[0][:, 1:], expected[:, :-1], atol=1e-5)


# ---------------------------------------------------------------- words


def test_words_to_ids_and_back():
    words = Vocabulary(["¿Es tu profesor?", "Él no es", "don't"])
    assert words.words == ["SOS", "EOS", "don't", "es", "no", "profesor", "tu", "él"]
    ids = words.encode(["Es tu profesor.", "él"], tokens=6)
    assert ids.tolist() == [[0, 3, 6, 5, 1, 1], [0, 7, 1, 1, 1, 1]]
    assert words.decode(ids[0]) == ["es", "tu", "profesor"]
    assert words.decode(torch.tensor([EOS, 3, 6])) == ["es", "tu"]
    assert words.holds("no es") and not words.holds("no soy")


def test_words_refused():
    words = Vocabulary(["es tu profesor"])
    with pytest.raises(ValueError, match="3 words, SOS and EOS do not fit into tokens=4"):
        words.encode(["es tu profesor"], tokens=4)
    with pytest.raises(ValueError, match=r"\['ella'\] not in the vocabulary of 5 words"):
        words.encode(["ella es"], tokens=6)


def test_sizes_refused():
    with pytest.raises(ValueError, match="heads=5 does not divide d_model=24"):
        DLStudioConfig(d_model=24, heads=5)
    with pytest.raises(ValueError, match="sentences of 8 tokens do not fit a model of tokens=7"):
        model_of()(some_ids(tokens=8), some_ids(37))
    with pytest.raises(ValueError, match="sentences of 6 tokens do not fit a model of tokens=7"):
        model_of(Deviations.lecture())(some_ids(tokens=6), some_ids(37))
    assert model_of()(some_ids(tokens=6), some_ids(37, tokens=4))[0].shape == (5, 4, 37)


# ---------------------------------------------------------------- the procedure

PAIRS = [
    ("One cat.", "Un gato."),
    ("Two cats.", "Dos gatos."),
    ("One dog sleeps.", "Un perro duerme."),
    ("Two dogs sleep here.", "Dos perros duermen aquí."),
    ("One cat sleeps.", "Un gato duerme."),
]


def small_corpus():
    source, target = (Vocabulary(pair[side] for pair in PAIRS) for side in (0, 1))
    return Corpus(PAIRS[:4], PAIRS[4:], source, target, tokens=6)


def trained(deviations, procedure, steps, kind=TransformerFG):
    corpus = small_corpus()
    torch.manual_seed(0)
    sizes = {**SIZES, "source_vocab": len(corpus.source), "target_vocab": len(corpus.target)}
    model = kind(DLStudioConfig(tokens=6, dropout=0.05, **sizes), deviations)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    losses = list(islice(training(model, *corpus.encode(corpus.train), procedure), steps))
    return corpus, model, before, losses


FAST = Procedure(peak=5e-3, warmup=20, batch=4)


@pytest.mark.parametrize("kind", KINDS)
def test_without_deviations_it_memorizes_one_batch(kind):
    corpus, model, _, _ = trained(Deviations(), FAST, 120, kind)
    lines = translations(model, corpus, corpus.train, FAST)
    assert [line.words for line in lines] == [
        "un gato".split(),
        "dos gatos".split(),
        "un perro duerme".split(),
        "dos perros duermen aquí".split(),
    ]
    result = score(lines)
    assert (result.right, result.words_right) == (1, 1) and result.bleu == pytest.approx(100)
    assert lines[0].spelt.startswith("SOS un gato EOS")
    # rows 8 and 12 by themselves: with new word vectors, or without its own words, it knows nothing
    for name in ("new_embeddings", "no_feedback"):
        wrong = score(translations(model, corpus, corpus.train, replace(FAST, **{name: True})))
        assert wrong.right < 0.5, name
    assert score(translations(model, corpus, corpus.train, FAST)).right == 1


def test_the_loss_falls_to_nothing_without_label_smoothing_and_dropout():
    deviations = Deviations(no_label_smoothing=True, no_dropout=True)
    corpus, _, _, losses = trained(deviations, FAST, 120)
    words = real_words(corpus.encode(corpus.train)[1])[:, 1:].sum().item() / len(corpus.train)
    assert losses[-1] / words < 0.05 < 1 < losses[0] / words


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("untied", [False, True])
def test_frozen_embeddings_stay_but_for_those_that_are_the_output_layer(frozen, untied):
    _, model, before, _ = trained(
        Deviations(untied_output=untied), replace(FAST, frozen_embeddings=frozen), 2
    )
    same = {name: torch.equal(value, before[name]) for name, value in model.state_dict().items()}
    assert same["embed_source.embedding.weight"] == frozen
    assert same["embed_target.embedding.weight"] == (frozen and untied)
    assert not same["decoder.out.weight"] and not same["encoder.blocks.0.attention.w_q.linears.0.weight"]


@pytest.mark.parametrize("odd", [False, True])
def test_new_embeddings_are_there_for_evaluation_only(odd):
    model = model_of(Deviations.lecture())
    before = model.embed_source.embedding.weight.detach().clone()
    with evaluation(model, Procedure(new_embeddings=odd)):
        assert torch.equal(model.embed_source.embedding.weight, before) != odd
    assert torch.equal(model.embed_source.embedding.weight, before)
    assert model.embed_source.embedding.weight.requires_grad


def test_evaluation_leaves_no_trace_when_it_fails():
    model = model_of().train()
    before = model.embed_source.embedding.weight.detach().clone()
    with pytest.raises(KeyError), evaluation(model, Procedure(new_embeddings=True)):
        raise KeyError
    assert model.training and torch.equal(model.embed_source.embedding.weight, before)


@pytest.mark.parametrize("odd", [False, True])
def test_never_eval_stays_in_training_mode(odd):
    model = model_of().train()
    with evaluation(model, Procedure(never_eval=odd)):
        assert model.training == odd
    assert model.training


@lectures
def test_feedback_gives_the_decoder_its_own_words(kind, deviations):
    model, source = model_of(deviations, kind), some_ids()
    stub = torch.full((5, 7), EOS)
    stub[:, 0] = SOS
    once = translate(model, source, Procedure(no_feedback=True))
    assert torch.equal(once, model(source, stub)[1])
    written = translate(model, source, Procedure())
    target = stub.clone()
    for slot in range(1, 7):  # by recomputing everything for each word
        target[:, slot] = model(source, target)[1][:, slot]
    assert torch.equal(written[:, 1:], target[:, 1:])
    assert (written[:, 0] == (EOS if deviations.starts_with_eos else SOS)).all()


def test_learning_rates_of_the_lecture():
    procedure = Procedure.lecture()
    rates = [procedure.rate(step, "post", 256) for step in range(8000)]
    peak = max(rates)
    assert peak == pytest.approx(1.976e-3, abs=1e-6) and rates.index(peak) == 3999
    assert rates[0] == pytest.approx(2 * 256**-0.5 * 4000**-1.5)
    assert rates[7999] == pytest.approx(2 * 256**-0.5 * 8000**-0.5)
    assert {procedure.rate(step, "pre", 256) for step in range(0, 8000, 999)} == {1e-5}
    assert peak / 1e-5 == pytest.approx(198, abs=1)


def test_fixed_learning_rates_are_the_same_for_both():
    procedure = Procedure(peak=2e-3, warmup=50)
    for place in ("post", "pre"):
        assert procedure.rate(0, place, 256) == pytest.approx(2e-3 / 50)
        assert procedure.rate(49, place, 24) == pytest.approx(2e-3)
        assert procedure.rate(199, place, 256) == pytest.approx(1e-3)


def test_test_sentences_come_from_the_training_if_odd():
    corpus = small_corpus()
    assert corpus.tested(Procedure()) == PAIRS[4:]
    assert corpus.tested(Procedure.lecture()) == PAIRS[:4]


def test_procedure_of_the_lecture_has_all_switches_on():
    switches = [one.name for one in fields(Procedure) if one.type in (bool, "bool")]
    assert len(switches) == 6
    assert all(getattr(Procedure.lecture(), name) and not getattr(Procedure(), name) for name in switches)


def test_scores_of_translations():
    lines = [
        Translation(("a", "Uno dos tres, cuatro."), "", ["uno", "dos", "tres", "cuatro"]),
        Translation(("b", "Dos dos."), "", ["dos", "tres", "tres"]),
        Translation(("c", "Tres."), "", []),
    ]
    result = score(lines)
    assert (result.right, result.words_right) == (1 / 3, 5 / 7)
    assert 0 < result.bleu < 100


# ---------------------------------------------------------------- the demonstration


def test_corpus_holds_out_sentences_and_no_words():
    corpus = corpus_of(few_pairs(), train=300, held_out=20)
    assert (len(corpus.train), len(corpus.held_out)) == (300, 20)
    assert not set(corpus.train) & set(corpus.held_out)
    source, target = corpus.encode(corpus.held_out)  # refuses unknown words
    assert source.shape == target.shape == (20, 10)
    short = corpus_of(few_pairs(), train=50, held_out=1, tokens=6)
    assert short.encode(short.train)[0].shape == (50, 6)


def test_corpus_refuses_too_few_pairs():
    with pytest.raises(ValueError, match="held_out=900 pairs requested, .* to train=30"):
        corpus_of(few_pairs(), train=30, held_out=900)
    with pytest.raises(ValueError, match="train=500 pairs requested, but only 400 fit into tokens=10"):
        corpus_of(few_pairs(), train=500)


def test_demonstration_shows_training_sentences_and_held_out_ones_beside_them():
    corpus = corpus_of(few_pairs(), train=300, held_out=30)
    procedure = replace(Procedure.lecture(), batch=25)
    shown, again = (
        demonstrate(small_model(corpus, Deviations.later()), corpus, procedure, steps=2) for _ in range(2)
    )
    assert len(shown.training) == len(shown.held_out) == 20 and len(shown.losses) == 2
    assert {line.pair for line in shown.training} <= set(corpus.train)
    assert {line.pair for line in shown.held_out} <= set(corpus.held_out)
    assert all(line.spelt.startswith("EOS ") for line in shown.training)
    assert again.losses == shown.losses
    assert [line.pair for line in again.training] == [line.pair for line in shown.training]

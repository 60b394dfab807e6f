"""The notes' einsum Transformer: equal to our blocks, and each bug of the listing seen by its own check."""

import inspect
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.layers import blocks
from course_lib.layers.masks import causal_mask, padding_mask
from course_lib.lectures import einsum_transformer
from course_lib.lectures.einsum_bugs import BUGS, BY_NAME
from course_lib.lectures.einsum_course import course_decoder_block, course_encoder_block
from course_lib.lectures.einsum_repair import as_printed, listing, outcome
from course_lib.lectures.einsum_transformer import (
    DecoderBlock,
    SelfAttention,
    Transformer,
    TransformerBlock,
    layer_norm_mean,
)

E, HEADS, EXPANSION, LAYERS, SRC, TRG, LONGEST, S, T = 12, 3, 2, 2, 17, 19, 8, 6, 7


def model_of(device="cpu", **changes):
    torch.manual_seed(0)
    sizes = {"embed_size": E, "heads": HEADS, "forward_expansion": EXPANSION, "num_layers": LAYERS}
    sizes |= {"max_length": LONGEST, "device": device} | changes
    return Transformer(SRC, TRG, 0, **sizes).eval()


def random_ids(vocab, *shape, device="cpu"):
    return torch.randint(1, vocab, shape, generator=torch.Generator().manual_seed(1)).to(device)


def randomise(module):
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.4)


# ---- equality with our library


def test_encoder_block_equals_ours_on_copied_weights():
    torch.manual_seed(0)
    theirs = TransformerBlock(E, HEADS, 0.0, EXPANSION)
    randomise(theirs)
    x, mask = torch.randn(2, S, E), padding_mask(torch.tensor([[1] * 6, [1] * 4 + [0] * 2]), 0)
    ours, expected = course_encoder_block(theirs), theirs(x, x, x, mask)
    assert isinstance(ours, blocks.EncoderBlock) and not ours.pre_norm
    assert torch.allclose(ours(x, mask), expected, atol=1e-4)
    one_head = ours.attention.w_q.weight.unflatten(0, (HEADS, -1)).unflatten(-1, (HEADS, -1))
    assert torch.equal(one_head[1, :, 1], theirs.attention.queries.weight)
    assert one_head[0, :, 1].abs().max() == 0


def test_decoder_block_equals_ours_on_copied_weights():
    torch.manual_seed(0)
    theirs = DecoderBlock(E, HEADS, "cpu", EXPANSION, 0.0)
    randomise(theirs)
    x, memory = torch.randn(2, T, E), torch.randn(2, S, E)
    mask, memory_mask = causal_mask(T), padding_mask(torch.tensor([[1] * 6, [1] * 4 + [0] * 2]), 0)
    expected = theirs(x, memory, memory, memory_mask, mask[None, None])
    assert torch.allclose(course_decoder_block(theirs)(x, memory, mask, memory_mask), expected, atol=1e-4)


def by_our_blocks(model, src, trg):
    """The model's logits through our masks and blocks; only the tables and the last layer are the model's."""
    embed = lambda side, ids: side.word_embedding(ids) + side.position_embedding.weight[: ids.shape[1]]  # noqa: E731
    mask, memory = padding_mask(src, model.src_pad_idx), embed(model.encoder, src)
    for block in model.encoder.layers:
        memory = course_encoder_block(block)(memory, mask)
    x = embed(model.decoder, trg)
    for block in model.decoder.layers:
        x = course_decoder_block(block)(x, memory, causal_mask(trg.shape[1], device=trg.device), mask)
    return model.decoder.fc_out(x)


def test_the_model_equals_our_blocks(device):
    model, src, trg = model_of(device), random_ids(SRC, 3, S, device=device), random_ids(TRG, 3, T).to(device)
    src[1, 4:] = 0
    src[2] = 0  # a sentence of nothing but padding
    assert torch.allclose(model(src, trg), by_our_blocks(model, src, trg), atol=1e-4)


def test_dropout_stands_after_the_norm():
    torch.manual_seed(0)
    theirs, x, mask = TransformerBlock(E, HEADS, 0.5, EXPANSION), torch.randn(40, S, E), causal_mask(S)
    ours = course_encoder_block(theirs)
    assert (theirs(x, x, x, mask) == 0).float().mean().item() == pytest.approx(0.5, abs=0.05)
    assert (ours(x, mask) == 0).sum() == 0 and ours.dropout.p == 0.5


# ---- what every model of the course must do


@pytest.mark.parametrize("training", [True, False])
def test_the_future_is_hidden(device, training):
    model = model_of(device).train(training)
    src, trg = random_ids(SRC, 2, S, device=device), random_ids(TRG, 2, T, device=device)
    changed = trg.clone()
    changed[:, 4:] = trg[:, 4:] % (TRG - 1) + 1
    before, after = model(src, trg), model(src, changed)
    assert torch.allclose(before[:, :4], after[:, :4], atol=1e-5)
    assert ((before[:, 4:] - after[:, 4:]).abs().amax(-1) > 1e-3).all()


def test_a_padded_token_equals_an_absent_one(device):
    model = model_of(device)
    src, trg = random_ids(SRC, 2, S, device=device), random_ids(TRG, 2, T, device=device)
    padded, longer = F.pad(src, (0, 2)), F.pad(trg, (0, 1))
    assert torch.allclose(model(padded, longer)[:, :T], model(src, trg), atol=1e-5)


def test_masks_have_the_shapes_of_the_notes():
    model, src, trg = model_of(), random_ids(SRC, 2, S), random_ids(TRG, 2, T)
    assert model.make_src_mask(src).shape == (2, 1, 1, S)
    assert torch.equal(model.make_trg_mask(trg), causal_mask(T).expand(2, 1, T, T))


def test_parameter_count():
    d_head = E // HEADS
    attention, norm = 3 * d_head**2 + E * E + E, 2 * E
    block = attention + 2 * norm + 2 * EXPANSION * E * E + EXPANSION * E + E
    expected = (SRC + TRG + 2 * LONGEST) * E + LAYERS * block
    expected += LAYERS * (attention + norm + block) + E * TRG + TRG
    assert sum(p.numel() for p in model_of().parameters()) == expected


def test_memorizes_one_batch():
    model, src, trg = model_of(embed_size=24), random_ids(SRC, 5, S), random_ids(TRG, 5, T)
    optimizer = torch.optim.Adam(model.train().parameters(), lr=1e-2)
    for _ in range(150):
        loss = F.cross_entropy(model(src, trg[:, :-1]).flatten(0, 1), trg[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05
    written = trg[:, :1]
    for _ in range(T - 1):
        written = torch.cat([written, model.eval()(src, written)[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(written, trg)


def test_layer_norm_takes_off_the_mean_of_each_token():
    x = torch.randn(2, 5, E, generator=torch.Generator().manual_seed(0))
    deviation = (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
    assert torch.allclose(nn.LayerNorm(E)(x), (x - layer_norm_mean(x)) / deviation, atol=1e-5)


def test_refusals():
    with pytest.raises(ValueError, match="heads=5 .*embed_size=12"):
        SelfAttention(12, 5)
    with pytest.raises(ValueError, match="9 tokens .*max_length=8"):
        model_of()(random_ids(SRC, 1, 9), random_ids(TRG, 1, T))


# ---- the bugs

RIGHT = {bug.name: bug.right for bug in BUGS}


def test_each_bug_names_one_line_and_the_line_before_it():
    assert len(BY_NAME) == len(BUGS) == 18
    for bug in BUGS:
        source = inspect.getsource(getattr(einsum_transformer, bug.where))
        lines = [line.strip() for line in source.splitlines()]
        assert lines.count(bug.right) == 1, bug.name
        assert any(line.startswith(bug.after) for line in lines[: lines.index(bug.right)]), bug.name
        assert bug.why.endswith(".")


def test_the_listing_as_printed_cannot_run():
    printed = listing({bug.name: bug.says for bug in BUGS})
    assert len(re.findall("enisum", printed)) == 2 and "-le20" in printed and "make_src_masc" in printed
    room = {"__name__": "printed"}
    exec(printed, room)  # every class can be read, and none of the model's can be made and run
    with pytest.raises(AttributeError, match="layers"):
        room["Transformer"](SRC, TRG, 0)
    attention = room["SelfAttention"](E, HEADS)
    with pytest.raises(AttributeError, match="heads"):
        attention(*[torch.randn(1, S, E)] * 3, causal_mask(S))
    assert as_printed("Encoder") in printed and "self.layers == nn.ModuleList" in as_printed("Encoder")
    with pytest.raises(ValueError, match="'Translator' has no bugs"):
        as_printed("Translator")


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_each_check_accepts_the_repair_and_sees_the_bug(bug):
    expected = outcome(bug.name, bug.right)
    assert expected.isfinite().all()
    try:
        found = outcome(bug.name, bug.says)
    except (AttributeError, NameError, TypeError, ValueError):
        return
    assert found is None or not torch.allclose(found, expected, atol=1e-2)


PROJECTIONS = """
    keys = self.keys(keys)
    values = self.values(values)
    queries = self.queries(queries)
"""


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("scale", "attention = F.softmax(energy / math.sqrt(keys.shape[-1]), dim=-1)"),
        ("fill", "energy = energy.masked_fill(~mask, -1e20)"),
        ("fill", "energy = torch.where(mask, energy, -torch.inf)"),
        ("empty rows", "attention = attention.nan_to_num(0.0)"),
        ("scores", "energy = queries.transpose(1, 2) @ keys.permute(0, 2, 3, 1)"),
        ("projections", PROJECTIONS),
        ("one block", "blocks = map(lambda i: TransformerBlock(*arguments), range(num_layers))"),
        ("decoder returns", "    return self.fc_out(x)"),
        ("LayerNorm", "return x.sum(2, keepdim=True) / x.shape[2]"),
    ],
)  # fmt: skip
def test_another_spelling_of_a_repair_is_right(name, line):
    line = f"import math; import torch.nn.functional as F; {line}" if "F." in line else line
    assert torch.allclose(outcome(name, line), outcome(name, RIGHT[name]), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("projections", "queries, keys = self.queries(queries), self.keys(keys)"),
        ("scale", "attention = torch.softmax(energy / self.head_dim, dim=3)"),
        ("scale", "attention = torch.softmax(energy / (self.head_dim ** 0.5), dim=2)"),
        ("fill", "energy = energy.masked_fill(mask, float('-inf'))"),
        ("src_mask", "x = layer(x, enc_out, enc_out, trg_mask, src_mask)"),
        ("argument order", "arguments = (embed_size, heads, dropout, forward_expansion, device)"),
        ("LayerNorm", "return x.mean()"),
    ],
)
def test_a_wrong_repair_is_seen(name, line):
    try:
        found = outcome(name, line)
    except (TypeError, RuntimeError, ValueError):
        return
    assert not torch.allclose(found, outcome(name, RIGHT[name]), atol=1e-2)


def test_checking_leaves_the_random_numbers_alone():
    outcome.cache_clear()
    torch.manual_seed(5)
    outcome("heads", RIGHT["heads"])
    assert torch.rand(()) == (torch.manual_seed(5), torch.rand(()))[1]


def test_minus_1e20_does_not_fit_into_float16():
    with pytest.raises(RuntimeError, match="overflow"):
        torch.zeros(2, dtype=torch.float16).masked_fill(torch.tensor([True, False]), -1e20)

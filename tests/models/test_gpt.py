"""The language model: causality, cache, counts, what each switch does, and what is refused."""

import pytest
import torch
from helpers.random_weights import randomized

from course_lib.generation.beam import beam_search
from course_lib.generation.decoding import greedy_decode, sample
from course_lib.layers.hooks import record_attention
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.pretrained.gpt2 import SINCE_GPT2

CONFIG = {"vocab": 23, "d_model": 12, "heads": 3, "layers": 2, "max_tokens": 16}
FORMS = [{}, {"positions": "sinusoidal"}, *({key: value} for key, value in SINCE_GPT2.items()), SINCE_GPT2]


def model_of(device="cpu", **changes):
    """A small model whose weights are so large that no part of it can hide."""
    torch.manual_seed(0)
    model = GPT(GPTConfig(**{**CONFIG, **changes}))
    return randomized(model, device)


def random_ids(*shape, device="cpu"):
    return torch.randint(5, 23, shape, generator=torch.Generator().manual_seed(1)).to(device)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_future_is_hidden(device, form, training):
    model, ids = model_of(device, **form).train(training), random_ids(2, 7, device=device)
    changed = ids.clone()
    changed[:, 4:] = (ids[:, 4:] - 5 + 1) % 18 + 5
    before, after = model(ids), model(changed)
    assert torch.allclose(before[:, :4], after[:, :4], atol=1e-5)
    assert ((before[:, 4:] - after[:, 4:]).abs().amax(-1) > 1e-3).all()


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_cached_reading_equals_one_pass(device, form):
    model, ids = model_of(device, **form), random_ids(2, 7, device=device)
    whole = model(ids)
    for sizes in ([1] * 7, [3, 1, 3], [7]):
        generator, position = model.generator(), 0
        for size in sizes:
            logits = generator.read(ids[:, position : position + size])
            position += size
            assert torch.allclose(logits, whole[:, position - 1], atol=1e-4)


def by_recomputing(model, start, number):
    ids = start
    for _ in range(number):
        ids = torch.cat([ids, model(ids)[:, -1].argmax(-1, keepdim=True)], dim=1)
    return ids[:, start.shape[1] :].tolist()


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_greedy_equals_recomputing_everything(device, form):
    model, start = model_of(device, **form), random_ids(5, 3, device=device)
    assert greedy_decode(model.generator(), start, None, 13) == by_recomputing(model, start, 13)


def test_a_text_that_has_ended_leaves_the_batch():
    model, start = model_of(), random_ids(8, 3)
    end = max(sum(greedy_decode(model.generator(), start, None, 9), []), key=lambda i: i)
    cut = [ids[: ids.index(end)] if end in ids else ids for ids in by_recomputing(model, start, 9)]
    assert greedy_decode(model.generator(), start, end, 9) == cut
    assert len({len(ids) for ids in cut}) > 1


def test_a_beam_of_one_is_greedy_and_temperature_zero_too():
    model, start = model_of(), random_ids(4, 3)
    best = greedy_decode(model.generator(), start, 7, 9)
    assert [found[0].ids for found in beam_search(model.generator(), start, 7, 9, 1)] == best
    assert sample(model.generator(), start, 7, 9, temperature=0.0) == best


def test_samples_depend_on_their_seed_alone():
    model, start = model_of(), random_ids(4, 3)

    def drawn(seed):
        return sample(model.generator(), start, None, 9, rng=torch.Generator().manual_seed(seed))

    assert drawn(3) == drawn(3) != drawn(4)


def test_generator_goes_on_with_the_selected_texts():
    model, ids, rows = model_of(), random_ids(3, 5), torch.tensor([2, 0])
    whole, generator = model(ids), model.generator()
    generator.read(ids[:, :4])
    generator.select(rows)
    assert torch.allclose(generator.read(ids[rows, 4:]), whole[rows, 4], atol=1e-5)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_order_of_the_tokens_counts(form):
    model, ids = model_of(**form), random_ids(2, 5)
    assert not torch.allclose(model(ids[:, [1, 0, 2, 3, 4]])[:, 4], model(ids)[:, 4], atol=1e-3)


def test_another_mask_can_be_asked_for():
    model, ids = model_of(), random_ids(2, 5)
    changed = ids.clone()
    changed[:, 4] = (ids[:, 4] - 5 + 1) % 18 + 5
    everyone = torch.ones(5, 5, dtype=torch.bool)
    moved = (model.hidden_states(ids, everyone) - model.hidden_states(changed, everyone)).abs().amax(-1)
    assert (moved > 1e-4).all()


def test_a_padded_token_equals_an_absent_one():
    model, ids = model_of(), random_ids(2, 5)
    padded = torch.cat([ids, torch.zeros(2, 3, dtype=torch.long)], dim=1)
    assert torch.allclose(model(padded)[:, :5], model(ids), atol=1e-5)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_parameter_count(form):
    d, vocab, layers = 12, 23, 2
    block = 12 * d * d + 9 * d + 4 * d  # matrices, biases, two norms
    expected = vocab * d + layers * block + 2 * d + (16 * d if "positions" not in form else 0)
    assert sum(p.numel() for p in model_of(**form).parameters()) == expected


def first_vectors(model, ids):
    """What the first block gets."""
    seen = []
    with model.blocks[0].register_forward_pre_hook(lambda module, args: seen.append(args[0])):
        model(ids)
    return seen[0]


@pytest.mark.parametrize("positions", ["learned", "rotary", "sinusoidal"])
def test_only_beside_sines_embeddings_are_scaled(positions):
    model, ids = model_of(positions=positions), random_ids(2, 5)
    angles = torch.arange(5)[:, None] / 10000 ** (torch.arange(0, 12, 2) / 12)
    sines = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    vectors = model.embedding.weight[ids]
    expected = {
        "learned": lambda: vectors + model.positions.table[:5],
        "rotary": lambda: vectors,
        "sinusoidal": lambda: vectors * 12**0.5 + sines,
    }
    assert torch.allclose(first_vectors(model, ids), expected[positions](), atol=1e-5)


def test_training_drops_features_of_the_embeddings():
    model, ids = model_of(dropout=0.25, d_model=48), random_ids(8, 16)
    whole, dropped = first_vectors(model, ids), first_vectors(model.train(), ids)
    kept = dropped != 0
    assert kept.float().mean().item() == pytest.approx(0.75, abs=0.03)
    assert torch.allclose(dropped[kept], whole[kept] / 0.75, atol=1e-5)


def test_zero_outputs_begin_as_if_there_were_no_blocks():
    torch.manual_seed(0)
    model, ids = GPT(GPTConfig(**CONFIG, zero_outputs=True)), random_ids(2, 5)
    assert torch.equal(model.hidden_states(ids), model.norm(model.positions(model.embedding(ids))))


def test_first_weights_have_the_spread_of_gpt2():
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab=500, d_model=96, layers=8))
    assert model.embedding.weight.std().item() == pytest.approx(0.02, rel=0.05)
    block = model.blocks[3]
    assert block.feed_forward.w_in.weight.std().item() == pytest.approx(0.02, rel=0.05)
    for last in (block.attention.w_o, block.feed_forward.w_out):
        assert last.weight.std().item() == pytest.approx(0.02 / 4, rel=0.05)  # √(2 · 8) = 4
        assert not last.bias.any()


def test_normalised_scores_stay_within_the_root_of_d_head():
    model, ids = model_of(qk_norm=True, positions="rotary"), random_ids(2, 5)
    attention, seen = model.blocks[0].attention, []
    attend = attention.attend

    def watched(q, k, v, **settings):
        seen.extend((q, k))
        return attend(q, k, v, **settings)

    attention.attend = watched
    with torch.no_grad():
        attention.w_q.weight *= 100
    model(ids)
    for vectors in seen:
        assert torch.allclose(vectors.norm(dim=-1), torch.tensor(4.0).sqrt(), atol=1e-3)


def test_every_attention_can_be_seen():
    model = model_of()
    with record_attention(model) as maps:
        model(random_ids(2, 5))
    assert list(maps) == ["blocks.0.attention", "blocks.1.attention"]
    assert torch.equal(maps["blocks.1.attention"][0].triu(1), torch.zeros(2, 3, 5, 5))


def test_memorizes_one_batch():
    torch.manual_seed(0)
    model, ids = GPT(GPTConfig(**{**CONFIG, "d_model": 48})), random_ids(4, 9)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(150):
        loss = torch.nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    start = ids[:, :3]
    assert greedy_decode(model.eval().generator(), start, None, 6) == ids[:, 3:].tolist(), loss.item()


def test_bf16_works(device):
    model, ids = model_of(device, **SINCE_GPT2).to(torch.bfloat16), random_ids(2, 7, device=device)
    assert model(ids).dtype == torch.bfloat16
    assert model.generator().read(ids).shape == (2, 23)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 14, "heads": 4}, "heads=4 .*d_model=14"),
        ({"positions": "relative"}, "positions='relative' .*learned.*rotary.*sinusoidal"),
        ({"activation": "sine"}, "activation='sine' .*gelu.*relu.*squared relu"),
        ({"positions": "rotary", "heads": 4}, "d_head=3 is odd"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        model_of(**changes)


def test_too_long_and_empty_texts_are_refused():
    model = model_of()
    with pytest.raises(ValueError, match="17 tokens.*max_tokens=16"):
        model(random_ids(2, 17))
    with pytest.raises(ValueError, match="0 tokens: the model takes 1 to"):
        model(random_ids(2, 0))
    generator = model.generator()
    generator.read(random_ids(2, 10))
    with pytest.raises(ValueError, match=r"10 \+ 7 tokens.*max_tokens=16"):
        generator.read(random_ids(2, 7))
    assert generator.read(random_ids(2, 6)).shape == (2, 23)  # a refusal leaves everything as it was
    with pytest.raises(ValueError, match=r"16 \+ 1 tokens.*max_tokens=16"):
        greedy_decode(model.generator(), random_ids(2, 10), None, 8)

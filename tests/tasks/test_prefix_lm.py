"""A pair as one text, its loss, and translating by going on with a prompt."""

from itertools import combinations

import pytest
import torch
import torch.nn.functional as F
from helpers.small_training import PAIRS, learn

from course_lib.generation.decoding import greedy_decode
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.tasks.prefix_lm import (
    NOT_COUNTED,
    PrefixLMBatches,
    PrefixLMLoss,
    next_labels,
    prompt,
    translate_with_lm,
)
from course_lib.text.tokenizers import BOS, EOS, PAD, Tokenizer

TEXTS = [text for pair in PAIRS for text in pair]
SIZES = {"d_model": 24, "heads": 3, "layers": 2, "max_tokens": 40}


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXTS, vocab=90)


@pytest.fixture(params=["learned", "rotary"])
def model(request, tokenizer) -> GPT:
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab=len(tokenizer), positions=request.param, **SIZES)).eval()
    with torch.no_grad():
        for p in model.parameters():  # large weights: an untrained model would say the same everywhere
            if p.ndim == 2:
                p.mul_(6)
    return model


def test_labels_by_hand():
    ids = [*prompt([7, 8]), 20, 21, EOS]
    assert ids == [BOS, 7, 8, EOS, 20, 21, EOS]
    assert next_labels(ids) == [7, 8, EOS, 20, 21, EOS, NOT_COUNTED]
    assert next_labels(ids, first=4) == [NOT_COUNTED] * 3 + [20, 21, EOS, NOT_COUNTED]


def test_a_pool_of_one_batch_gives_batches_of_random_pairs(tokenizer):
    for pool, mixed in ((1, True), (100, False)):
        texts = PrefixLMBatches(PAIRS, tokenizer, batch=5, pool=pool)
        batches = texts.batch_sampler.batches(0)
        assert sorted(n for batch in batches for n in batch) == list(range(len(PAIRS)))
        lengths = [[texts.batch_sampler.lengths[n] for n in batch] for batch in batches]
        assert any(min(a) < max(b) and min(b) < max(a) for a, b in combinations(lengths, 2)) == mixed


def test_batches_are_whole_texts_whose_labels_begin_with_the_target(tokenizer):
    texts = PrefixLMBatches(PAIRS, tokenizer, batch=5, max_tokens=40)
    assert sorted(n for batch in texts.batch_sampler.batches(0) for n in batch) == list(range(len(PAIRS)))
    ids, labels = texts.batch_of([3, 14, 0])
    for (source, target), row, row_labels in zip((PAIRS[3], PAIRS[14], PAIRS[0]), ids, labels, strict=True):
        first, second = (tokenizer.encode(text) for text in (source, target))
        whole = [BOS, *first, EOS, *second, EOS]
        assert row.tolist() == whole + [PAD] * (ids.shape[1] - len(whole))
        assert row_labels[row_labels != NOT_COUNTED].tolist() == [*second, EOS]
        assert row_labels[len(first) + 1] == second[0]  # what follows the separating EOS


def test_the_joint_loss_counts_every_token_but_bos(tokenizer):
    ids, labels = PrefixLMBatches(PAIRS, tokenizer, batch=5, joint=True).batch_of(range(7))
    assert torch.equal(labels[:, :-1][ids[:, 1:] != PAD], ids[:, 1:][ids[:, 1:] != PAD])
    assert (labels != NOT_COUNTED).sum() == (ids != PAD).sum() - 7


def test_the_loss_is_pytorchs_and_that_of_source_and_target_adds_up(tokenizer, model):
    parts = [
        PrefixLMBatches(PAIRS, tokenizer, batch=5, joint=joint).batch_of(range(7)) for joint in (False, True)
    ]
    sums = [PrefixLMLoss(model)(*part) for part in parts]
    for (ids, labels), (total, count) in zip(parts, sums, strict=True):
        logits = model(ids).flatten(0, 1)
        expected = F.cross_entropy(logits, labels.flatten(), ignore_index=NOT_COUNTED, reduction="sum")
        assert total.item() == pytest.approx(expected.item(), rel=1e-5)
        assert count.item() == (labels != NOT_COUNTED).sum().item()
    (ids, target), (_, both) = parts
    source = both.masked_fill(target != NOT_COUNTED, NOT_COUNTED)
    assert (PrefixLMLoss(model)(ids, source)[0] + sums[0][0]).item() == pytest.approx(sums[1][0].item())


@pytest.mark.parametrize("causal", [True, False])
def test_padding_does_not_change_the_loss(tokenizer, model, causal):
    ids, labels = PrefixLMBatches(PAIRS, tokenizer, batch=5).batch_of(range(7))
    wide = F.pad(ids, (0, 3), value=PAD), F.pad(labels, (0, 3), value=NOT_COUNTED)
    objective = PrefixLMLoss(model, causal)
    assert objective(*wide)[0].item() == pytest.approx(objective(ids, labels)[0].item(), rel=1e-5)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("causal", [True, False])
def test_the_future_counts_only_without_the_causal_mask(tokenizer, model, training, causal):
    ids, labels = PrefixLMBatches(PAIRS, tokenizer, batch=5).batch_of([3])
    first = (labels[0] != NOT_COUNTED).nonzero()[0, 0]
    labels = torch.full_like(labels, NOT_COUNTED).index_fill(1, first, 9)  # one label, before the target
    changed = ids.clone()
    changed[:, first + 1 :] = 11
    objective = PrefixLMLoss(model.train(training), causal)
    assert (objective(ids, labels)[0] == objective(changed, labels)[0]) == causal


def test_sentences_of_different_lengths_come_back_as_one_by_one(tokenizer, model):
    english = [pair[0] for pair in PAIRS]
    assert len({len(tokenizer.encode(text)) for text in english}) > 1
    together = translate_with_lm(model, tokenizer, english, batch=4, max_tokens=7)
    assert together == [translate_with_lm(model, tokenizer, [text], max_tokens=7)[0] for text in english]
    assert len(set(together)) > 1


def test_translating_with_the_cache_is_reading_everything_anew(tokenizer, model):
    ids = prompt(tokenizer.encode(PAIRS[3][0]))
    for _ in range(6):
        ids.append(model(torch.tensor([ids]))[0, -1].argmax().item())
    written = greedy_decode(model.generator(), torch.tensor([ids[:-6]]), None, 6)[0]
    assert written == ids[-6:]
    ended = written[: written.index(EOS)] if EOS in written else written
    assert translate_with_lm(model, tokenizer, [PAIRS[3][0]], max_tokens=6) == [tokenizer.decode(ended)]


def test_it_learns_the_pairs_by_heart(device, tokenizer):
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab=len(tokenizer), **SIZES))
    texts = PrefixLMBatches(PAIRS, tokenizer, batch=len(PAIRS), max_tokens=40)
    history = learn(PrefixLMLoss(model), texts, device=device, steps=250, lr=1e-2, warmup=20)
    assert history.losses[-1] < 0.05
    english, spanish = zip(*PAIRS, strict=True)
    assert translate_with_lm(model, tokenizer, english) == list(spanish)


def test_refusals_name_the_numbers(tokenizer, model):
    with pytest.raises(ValueError, match="none of the 20 pairs fits into max_tokens=3"):
        PrefixLMBatches(PAIRS[:20], tokenizer, batch=5, max_tokens=3)
    with pytest.raises(ValueError, match="sentence 1 is empty"):
        translate_with_lm(model, tokenizer, ["one.", " "])
    with pytest.raises(ValueError, match=r"prompt of \d+ tokens leaves no room to generate in max_tokens=40"):
        translate_with_lm(model, tokenizer, ["one and two. " * 20])

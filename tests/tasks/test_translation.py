"""Translating sentences, batches of pairs, the loss, and a translator's files."""

import pytest
import torch
import torch.nn.functional as F
from helpers.small_training import PAIRS, parts

from course_lib.tasks.translation import (
    TranslationBatches,
    TranslationDataset,
    TranslationLoss,
    translate,
)
from course_lib.text.tokenizers import BOS, EOS, PAD, UNK


@pytest.fixture
def small():
    tokenizer, objective, batches = parts(dropout=0.0)
    return tokenizer, objective.model.eval(), batches


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_pytorchs_over_real_tokens(small, smoothing):
    _, model, batches = small
    source, target = batches.batch_of(range(9))
    total, count = TranslationLoss(model, smoothing)(source, target)
    logits = model(source, target[:, :-1])
    expected = F.cross_entropy(
        logits.flatten(0, 1),
        target[:, 1:].flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="sum",
    )
    assert total.item() == pytest.approx(expected.item(), rel=1e-5)
    assert count.item() == (target[:, 1:] != PAD).sum().item() < target[:, 1:].numel()


def test_padding_does_not_change_the_loss(small):
    _, model, batches = small
    objective = TranslationLoss(model)
    source, target = batches.batch_of(range(9))
    wider = [torch.cat([ids, torch.full((9, 4), PAD)], dim=1) for ids in (source, target)]
    assert objective(*wider)[0].item() == pytest.approx(objective(source, target)[0].item(), rel=1e-5)


def test_batches_hold_every_pair_once_an_epoch_framed_by_control_tokens(small):
    tokenizer, _, batches = small
    sampler = batches.batch_sampler
    assert sorted(n for batch in sampler.batches(0) for n in batch) == list(range(len(PAIRS)))
    source, target = batches.batch_of([3, 14])
    assert [tokenizer.decode(row) for row in source.tolist()] == [PAIRS[3][0], PAIRS[14][0]]
    assert [tokenizer.decode(row) for row in target.tolist()] == [PAIRS[3][1], PAIRS[14][1]]
    assert (target[:, 0] == BOS).all() and (source[:, 0] != BOS).all()
    assert all(row[row != PAD][-1] == EOS for row in (*source, *target))


def test_a_translation_gets_room_for_twice_its_source_and_ten_more(small, monkeypatch):
    tokenizer, model, _ = small
    with torch.no_grad():
        model.embedding.weight[EOS] = 0  # its logit is then 0, and another one is always larger
    monkeypatch.setattr(tokenizer, "decode", lambda ids: str(len(ids)))
    source = len(tokenizer.encode("one.")) + 1
    assert translate(model, tokenizer, ["one."], precision="fp32") == [str(2 * source + 10)]
    for most, written in ((5, "5"), (99, "23")):  # max_tokens=24 of the model include BOS
        assert translate(model, tokenizer, ["one."], max_tokens=most, precision="fp32") == [written]


@pytest.mark.parametrize("width", [1, 3])
def test_the_limit_of_a_translation_is_its_own_whatever_the_batch(small, width):
    tokenizer, model, _ = small
    with torch.no_grad():
        model.embedding.weight[EOS] = -model.embedding.weight.mean(dim=0)  # it hardly ever ends
    texts = ["one.", "one", "one and two.", "two.", "one"]
    alone = [translate(model, tokenizer, [text], width=width)[0] for text in texts]
    for batch in (2, 128):
        assert translate(model, tokenizer, texts, width=width, batch=batch) == alone
    assert len({len(tokenizer.encode(text)) for text in alone}) > 1


def test_what_is_typed_is_cleaned_as_the_training_text(small):
    tokenizer, model, _ = small
    plain = translate(model, tokenizer, ["one and two."], max_tokens=9)
    assert translate(model, tokenizer, ["\ufeffone a\u00adnd\u00a0two\u200b."], max_tokens=9) == plain
    dataset = TranslationDataset([("\ufeffone  a\u00adnd two.", "u\u200bno.")], tokenizer)
    assert dataset[0] == ([*tokenizer.encode("one and two."), EOS], [BOS, *tokenizer.encode("uno."), EOS])


def test_pairs_without_room_are_counted(small):
    tokenizer, _, _ = small
    long = ("one and two. " * 9, "uno y dos.")
    with pytest.warns(UserWarning, match=r"^2 of 44 pairs are left out: .* max_tokens=24$"):
        batches = TranslationBatches([*PAIRS, long, ("", "uno.")], tokenizer, batch=8, max_tokens=24)
    assert (batches.dataset.too_long, len(batches.dataset)) == (2, len(PAIRS))
    with pytest.raises(ValueError, match="none of the 1 pairs fits into max_tokens=24"):
        TranslationBatches([long], tokenizer, batch=8, max_tokens=24)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nothing to translate"),
        ("   ", "nothing to translate"),
        ("one and " * 30, "exceed max_tokens=24"),
        ("犬" * 30, "3[0-9] tokens and EOS exceed max_tokens=24: '犬犬"),  # each counts, though unknown
    ],
)
def test_an_empty_or_too_long_sentence_is_refused(small, text, message):
    tokenizer, model, _ = small
    with pytest.raises(ValueError, match=message):
        translate(model, tokenizer, ["one.", text])


@pytest.mark.parametrize("text", ["犬は走る。", "Собака бежит.", "🐕 😀", "犬 <b>one</b> &amp;", "one\ue000"])
def test_text_in_another_script_is_unknown_characters_and_translated_all_the_same(small, text):
    tokenizer, model, _ = small
    settings = {"max_tokens": 9, "precision": "fp32"}
    with pytest.warns(UserWarning, match="the tokenizer does not know all of .* 1 of 2 texts"):
        found = translate(model, tokenizer, ["one and two.", text], **settings)
    assert UNK in tokenizer.encode(text) and isinstance(found[1], str)
    assert found[0] == translate(model, tokenizer, ["one and two."], **settings)[0]

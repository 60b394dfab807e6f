"""Translating sentences, batches of pairs, the loss, and a translator's files."""

import json

import pytest
import torch
import torch.nn.functional as F
from small_training import PAIRS, parts

from course_lib.tokens import BOS, EOS, PAD, UNK, Tokens, pad
from course_lib.translation import (
    TranslationBatches,
    TranslationObjective,
    load_translator,
    save_translator,
    translate,
)


@pytest.fixture
def small():
    tokens, objective, batches = parts(dropout=0.0)
    return tokens, objective.model.eval(), batches


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_pytorchs_over_real_tokens(small, smoothing):
    _, model, batches = small
    source, target = batches.collate(range(9))
    total, count = TranslationObjective(model, smoothing)(source, target)
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
    objective = TranslationObjective(model)
    source, target = batches.collate(range(9))
    wider = [torch.cat([ids, torch.full((9, 4), PAD)], dim=1) for ids in (source, target)]
    assert objective(*wider)[0].item() == pytest.approx(objective(source, target)[0].item(), rel=1e-5)


def test_batches_hold_every_pair_once_an_epoch_framed_by_control_tokens(small):
    tokens, _, batches = small
    numbers = [n for batch in batches.epoch(0) for n in batch]
    assert sorted(numbers) == list(range(len(PAIRS)))
    assert batches.epoch(0) == batches.epoch(0) != batches.epoch(1)
    source, target = batches.collate([3, 14])
    assert [tokens.decode(row) for row in source.tolist()] == [PAIRS[3][0], PAIRS[14][0]]
    assert [tokens.decode(row) for row in target.tolist()] == [PAIRS[3][1], PAIRS[14][1]]
    assert (target[:, 0] == BOS).all() and (source[:, 0] != BOS).all()
    assert all(row[row != PAD][-1] == EOS for row in (*source, *target))


def test_pairs_without_room_are_counted(small):
    tokens, _, _ = small
    long = ("one and two. " * 9, "uno y dos.")
    batches = TranslationBatches([*PAIRS, long, ("", "uno.")], tokens, batch=8, max_tokens=24)
    assert (batches.too_long, len(batches.ids)) == (2, len(PAIRS))
    with pytest.raises(ValueError, match="none of the 1 pairs fits into max_tokens=24"):
        TranslationBatches([long], tokens, batch=8, max_tokens=24)


def test_sentences_come_back_in_order_whatever_the_batches(small):
    tokens, model, _ = small
    english = [pair[0] for pair in PAIRS] + ["one.", "one and two and three and four."]
    one_by_one = [translate(model, tokens, [text])[0] for text in english]
    assert translate(model, tokens, english, batch=5, max_tokens=9) == [
        translate(model, tokens, [text], max_tokens=9)[0] for text in english
    ]
    assert len(one_by_one) == len(english)


def test_translating_leaves_the_mode_of_the_model(small):
    tokens, model, _ = small
    for training in (True, False):
        model.train(training)
        translate(model, tokens, ["one."])
        assert model.training is training


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_sentence_is_refused(small, text):
    tokens, model, _ = small
    with pytest.raises(ValueError, match="nothing to translate"):
        translate(model, tokens, ["one.", text])


def test_a_sentence_over_the_limit_is_refused(small):
    tokens, model, _ = small
    with pytest.raises(ValueError, match="exceed max_tokens=24"):
        translate(model, tokens, ["one and " * 30])


@pytest.mark.parametrize(
    "text", ["犬は走る。", "Собака бежит.", "🐕 😀", "犬 <b>one</b> &amp;", "\u202eone\u0000"]
)
def test_text_in_another_script_is_unknown_characters_and_translated_all_the_same(small, text):
    tokens, model, _ = small
    settings = {"max_tokens": 9, "precision": "fp32"}
    found = translate(model, tokens, ["one and two.", text], **settings)
    assert UNK in tokens.encode(text) and isinstance(found[1], str)
    assert found[0] == translate(model, tokens, ["one and two."], **settings)[0]


def test_each_unknown_character_counts_as_a_token_of_the_sentence(small):
    tokens, model, _ = small
    with pytest.raises(ValueError, match="3[0-9] tokens and EOS exceed max_tokens=24: '犬犬"):
        translate(model, tokens, ["犬" * 30])


def test_a_translator_comes_back_from_its_files(small, tmp_path):
    tokens, model, _ = small
    save_translator(tmp_path / "model", model, tokens)
    again, tokens_again = load_translator(tmp_path / "model")
    english = [pair[0] for pair in PAIRS]
    assert translate(again, tokens_again, english) == translate(model, tokens, english)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokens.json",
    ]


def test_files_that_do_not_belong_together_are_refused(small, tmp_path):
    tokens, model, _ = small
    save_translator(tmp_path / "model", model, tokens)
    other = Tokens.train(["a b c d e f"], vocab=9)
    other.save(tmp_path / "model" / "tokens.json")
    with pytest.raises(
        ValueError, match=f"vocabulary has {len(other)} tokens, the model has vocab={len(tokens)}"
    ):
        load_translator(tmp_path / "model")


def test_the_vocabulary_of_another_model_is_refused_even_where_its_size_fits(small, tmp_path):
    tokens, model, _ = small
    save_translator(tmp_path / "model", model, tokens)
    other = Tokens.train([f"{pair[1]} {pair[0]} zzz" for pair in PAIRS], vocab=len(tokens))
    assert len(other) == len(tokens) and other.fingerprint != tokens.fingerprint
    other.save(tmp_path / "model" / "tokens.json")
    with pytest.raises(ValueError, match="tokens.json is the vocabulary of another model"):
        load_translator(tmp_path / "model")


def test_the_weights_of_another_model_are_refused(small, tmp_path):
    tokens, model, _ = small
    save_translator(tmp_path / "model", model, tokens)
    path = tmp_path / "model" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "d_ff": 96}))
    with pytest.raises(
        ValueError, match=r"another model: decoder.0.feed_forward.w_in.bias is \(64,\) there and \(96,\)"
    ):
        load_translator(tmp_path / "model")


def test_damaged_weights_are_refused(small, tmp_path):
    tokens, model, _ = small
    save_translator(tmp_path / "model", model, tokens)
    path = tmp_path / "model" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match="model.safetensors is not a whole safetensors file"):
        load_translator(tmp_path / "model")


def test_pad_is_what_the_model_calls_padding(small):
    _, model, _ = small
    source = pad([[7, 8, EOS], [9, EOS]])
    assert model.encode(source).mask[:, 0, 0].tolist() == [[True, True, True], [True, True, False]]

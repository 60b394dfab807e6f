"""Sampling with and without label smoothing: scores, stored runs, and what chapter 6b says of them."""

from dataclasses import replace

import pytest

from course_lib.chapters.ch06_translation import sampling, stored_translator
from course_lib.datasets import load_translation
from course_lib.tasks import translate
from course_lib.text import held_out_scores
from course_lib.training import TrainConfig


def test_greedy_scores_are_those_of_translate_and_every_way_has_one():
    model, tokenizer = stored_translator.stored_translator()
    pairs = load_translation("grammar").test[:5]
    english, spanish = zip(*pairs, strict=True)
    found = sampling.scores(model, tokenizer, list(pairs))
    said = translate(model, tokenizer, english, max_tokens=30)
    assert found["greedy"] == round(held_out_scores(said, list(spanish)).bleu, 1)
    assert list(found) == list(sampling.WAYS)


def test_smoothing_and_seed_reach_the_training(monkeypatch):
    data, (_, tokenizer) = load_translation("grammar"), stored_translator.stored_translator()
    small = replace(data, train=data.train[:100])
    monkeypatch.setattr(stored_translator, "material", lambda: (small, tokenizer))
    monkeypatch.setattr(stored_translator, "SETTINGS", TrainConfig(steps=1, lr=3e-3, warmup=0))

    def trained(smoothing, seed):
        return stored_translator.trained(smoothing, seed)[0].embedding.weight

    first = trained(0.1, 0)
    assert trained(0.1, 0).equal(first)
    assert not trained(0.0, 0).equal(first) and not trained(0.1, 1).equal(first)


@pytest.mark.parametrize("seed", sampling.SEEDS)
def test_most_of_the_loss_of_sampling_comes_from_label_smoothing(seed):
    runs = {run.smoothing: run.bleu for run in sampling.stored() if run.seed == seed}
    lost = {smoothing: bleu["greedy"] - bleu["T = 1"] for smoothing, bleu in runs.items()}
    assert 0 < lost[0.0] < 0.3 * lost[0.1]

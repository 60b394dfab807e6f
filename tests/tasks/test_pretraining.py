"""Texts without labels, and the labels that are made from them."""

import pytest
import torch
from helpers.small_training import PAIRS

from course_lib.tasks.prefix_lm import NOT_COUNTED
from course_lib.tasks.pretraining import TASKS, PretrainingBatches, add_noise, is_special, mask_tokens
from course_lib.text.tokenizers import BOS, EOS, PAD, Tokenizer

TEXTS = [text for pair in PAIRS for text in pair][:15]


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXTS, vocab=90)


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def many() -> torch.Tensor:
    """Texts with control tokens at both ends, and enough tokens to count shares."""
    ids = torch.randint(5, 50, (300, 40), generator=rng(1))
    ids[:, 0], ids[:, -2], ids[:, -1] = BOS, EOS, PAD
    return ids


def test_of_the_tokens_15_percent_are_chosen_and_80_10_10_of_these(many):
    ids, labels = mask_tokens(many, mask=50, rng=rng())
    chosen = labels != NOT_COUNTED
    assert torch.equal(labels[chosen], many[chosen]) and torch.equal(ids[~chosen], many[~chosen])
    assert not (chosen & is_special(many)).any()
    assert chosen.sum() / (~is_special(many)).sum() == pytest.approx(0.15, abs=0.01)
    masked, same = (ids[chosen] == 50).float().mean(), (ids[chosen] == many[chosen]).float().mean()
    assert masked == pytest.approx(0.8, abs=0.03)
    assert same == pytest.approx(0.1 + 0.1 / 45, abs=0.03)  # some of the random ones are right by chance
    other = ids[chosen & (ids != 50) & (ids != many)]
    assert 0.05 < len(other) / chosen.sum() < 0.13 and other.min() >= 5 and len(other.unique()) > 30


def test_masks_come_anew_and_the_same_chance_gives_the_same(many):
    first, again, other = (mask_tokens(many, 50, rng=rng(seed)) for seed in (0, 0, 1))
    assert torch.equal(first[0], again[0]) and not torch.equal(first[1], other[1])
    everything, _ = mask_tokens(many, 50, fraction=1.0, rng=rng())
    assert (everything[~is_special(many)] == 50).float().mean() > 0.75


@pytest.mark.parametrize("seed", range(20))
def test_at_least_one_token_is_chosen_if_there_is_one(seed):
    _, labels = mask_tokens(
        torch.tensor([[BOS, 5, 6, EOS, PAD], [BOS, EOS, PAD, PAD, PAD]]), 50, 1e-6, rng(seed)
    )
    assert (labels != NOT_COUNTED).sum() == 1 and labels.max() in (5, 6)
    ids = torch.tensor([[BOS, EOS]])
    same, labels = mask_tokens(ids, 50, rng=rng(seed))
    assert torch.equal(same, ids) and (labels == NOT_COUNTED).all()


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.01])
def test_a_share_outside_0_to_1_is_refused(many, fraction):
    with pytest.raises(ValueError, match=rf"fraction={fraction} is outside \(0, 1\]"):
        mask_tokens(many, 50, fraction)


def test_long_sentences_are_cut(tokenizer):
    whole = PretrainingBatches(TEXTS, tokenizer, batch=3).dataset.examples
    cut = PretrainingBatches(TEXTS, tokenizer, batch=3, longest=2).dataset.examples
    assert cut == [row[:2] for row in whole] != whole


def test_labels_of_the_tasks_that_read_two_unrelated_sentences(tokenizer):
    a, b, c = (tokenizer.encode(TEXTS[n]) for n in (2, 5, 7))
    whole = [BOS, *a, EOS, *b, EOS]
    for task in set(TASKS) - {"denoising"}:
        torch.manual_seed(0)
        ids, labels = PretrainingBatches(TEXTS, tokenizer, 3, task).batch_of([2, 5, 7])
        short = [*([BOS, *c, EOS]), *[PAD] * (ids.shape[1] - len(c) - 2)]
        if task == "next token":
            assert labels[0, : len(whole)].tolist() == [*whole[1:], NOT_COUNTED]
        if task == "autoencoder":
            assert torch.equal(ids[ids != PAD], labels[labels != NOT_COUNTED])
        if task == "masked token":
            ids = torch.where(labels == NOT_COUNTED, ids, labels)  # the right tokens back in their places
        assert ids[0, : len(whole)].tolist() == whole and ids[1].tolist() == short


def test_denoising_reads_a_damaged_sentence_and_writes_the_whole(tokenizer):
    texts = PretrainingBatches(TEXTS, tokenizer, 3, "denoising")
    assert max(map(len, texts.batch_sampler.batches(0))) == 3
    torch.manual_seed(0)
    ids, labels = texts.batch_of([2, 5, 7])
    for row, answers, n in zip(ids.tolist(), labels.tolist(), (2, 5, 7), strict=True):
        whole = [*tokenizer.encode(TEXTS[n]), EOS]
        end = row.index(EOS)  # of the damaged one: from here on the model writes
        assert row[0] == BOS and row[end + 1 :][: len(whole)] == whole
        assert answers[end:][: len(whole)] == whole and set(answers[:end]) == {NOT_COUNTED}
        assert set(answers[end + len(whole) :]) == {NOT_COUNTED}
        assert set(row[1:end]) <= {*whole, len(tokenizer)}


def test_damage_leaves_out_hides_and_moves():
    draws, ids = rng(), list(range(5, 45))
    damaged = [add_noise(ids, 50, draws) for _ in range(200)]
    together = [i for some in damaged for i in some]
    assert len(together) / (200 * 40) == pytest.approx(0.9, abs=0.01)
    assert together.count(50) / len(together) == pytest.approx(0.15, abs=0.01)
    for some in damaged:
        seen = [i for i in some if i != 50]
        assert len(set(seen)) == len(seen) and set(seen) <= set(ids)
        for place, i in enumerate(seen):  # at most one that stood behind it now stands before it
            assert sum(other > i for other in seen[:place]) <= 1
    assert sum(some != sorted(some) for some in damaged) > 190


def test_a_sentence_is_never_damaged_to_nothing():
    assert all(len(add_noise([7], 50, rng(seed))) == 1 for seed in range(60))
    assert {add_noise([7], 50, rng(seed))[0] for seed in range(60)} == {7, 50}


def test_the_mask_is_one_id_past_the_vocabulary(tokenizer):
    torch.manual_seed(0)
    for task in ("masked token", "denoising"):
        ids, _ = PretrainingBatches(TEXTS, tokenizer, 8, task).batch_of(range(len(TEXTS)))
        assert ids.max() == len(tokenizer)


def test_refusals(tokenizer):
    with pytest.raises(ValueError, match="task='cloze' is none of"):
        PretrainingBatches(TEXTS, tokenizer, 3, "cloze")
    with pytest.raises(ValueError, match="there are no sentences"):
        PretrainingBatches([], tokenizer, 3)

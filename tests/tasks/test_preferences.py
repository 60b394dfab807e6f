"""DPO: the loss against the paper's formulas, log-probabilities counted token by token, the batches."""

import itertools
import math

import numpy as np
import pytest
import torch
from helpers.small_training import learn

from course_lib.models.gpt import GPT, GPTConfig
from course_lib.tasks.preferences import DPOLoss, Preference, PreferenceBatches, dpo_loss, sequence_log_prob
from course_lib.tasks.prefix_lm import NOT_COUNTED
from course_lib.text.tokenizers import BOS, EOS, PAD, WordTokenizer

PREFERENCES = [
    Preference("sort b a", "a b", "sure : a b"),
    Preference("copy b", "b", "sure : b"),
    Preference("copy a b", "a b", "sure : a b"),
]


@pytest.fixture
def tokenizer() -> WordTokenizer:
    return WordTokenizer.train(["sort copy sure : a b"])


@pytest.fixture
def model(tokenizer: WordTokenizer) -> GPT:
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab=len(tokenizer), d_model=16, heads=2, layers=1, max_tokens=16)).eval()
    with torch.no_grad():
        for p in model.parameters():  # large weights: an untrained model would find every token as likely
            p.mul_(5)
    return model


def test_the_loss_is_a_cross_entropy_of_bradley_and_terry() -> None:
    """With rewards β log(π / π_ref), P(chosen is preferred) = e^r_w / (e^r_w + e^r_l): equations 1 and 5."""
    rng = np.random.default_rng(0)
    chosen, rejected, ref_chosen, ref_rejected = -10 * rng.random((4, 20))
    reward, other = 0.3 * (chosen - ref_chosen), 0.3 * (rejected - ref_rejected)
    expected = -np.log(np.exp(reward) / (np.exp(reward) + np.exp(other)))
    scores = map(torch.tensor, (chosen, rejected, ref_chosen, ref_rejected))
    assert np.allclose(dpo_loss(*scores, beta=0.3).numpy(), expected)


def test_a_large_margin_does_not_overflow() -> None:
    zero = torch.zeros(2)
    loss = dpo_loss(torch.tensor([5000.0, -5000.0]), zero, zero, zero, beta=1.0)
    assert loss.tolist() == [0.0, 5000.0]


def test_log_probabilities_are_counted_token_by_token(model: GPT) -> None:
    ids = torch.tensor([[BOS, 5, EOS, 7, 8, EOS]])
    labels = torch.tensor([[NOT_COUNTED, NOT_COUNTED, 7, 8, EOS, NOT_COUNTED]])
    expected = 0.0
    for position in (2, 3, 4):
        p = model(ids[:, : position + 1])[0, -1].exp()
        expected += math.log(p[ids[0, position + 1]].item() / p.sum().item())
    assert sequence_log_prob(model, ids, labels).tolist() == pytest.approx([expected], abs=1e-4)
    padded, no_label = torch.full((1, 3), PAD), torch.full((1, 3), NOT_COUNTED)
    again = sequence_log_prob(model, torch.cat([ids, padded], 1), torch.cat([labels, no_label], 1))
    assert again.tolist() == pytest.approx([expected], abs=1e-4)


def test_a_batch_has_the_chosen_and_the_rejected_texts(tokenizer: WordTokenizer) -> None:
    batches = PreferenceBatches(PREFERENCES, tokenizer, batch=2)
    chosen, chosen_labels, rejected, rejected_labels = batches.batch_of([0, 1])
    encode = tokenizer.encode
    assert chosen.tolist() == [
        [BOS, *encode("sort b a"), EOS, *encode("a b"), EOS],
        [BOS, *encode("copy b"), EOS, *encode("b"), EOS, PAD, PAD],
    ]
    skipped = NOT_COUNTED
    assert chosen_labels[0].tolist() == [*[skipped] * 4, *encode("a b"), EOS, skipped]
    assert rejected_labels[1].tolist() == [*[skipped] * 3, *encode("sure : b"), EOS, *[skipped] * 3]
    assert rejected.shape == rejected_labels.shape == (2, 10)
    with pytest.raises(ValueError, match="3 preferences are too few for a batch of 4"):
        PreferenceBatches(PREFERENCES, tokenizer, batch=4)


def test_dropout_is_off_in_the_policy_as_in_the_reference(tokenizer: WordTokenizer) -> None:
    """As in TRL; otherwise, the margins would begin as noise. The modes stay as they were."""
    batch = PreferenceBatches(PREFERENCES, tokenizer, batch=3).batch_of(range(3))
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab=len(tokenizer), d_model=16, heads=2, layers=1, max_tokens=16, dropout=0.5))
    objective = DPOLoss(model).train()
    loss, number = objective(*batch)
    assert loss.item() / number.item() == pytest.approx(math.log(2), abs=1e-6)
    assert all(module.training for module in objective.modules())
    loss.backward()
    assert all(p.grad is not None for p in model.parameters())


def test_log_probabilities_of_a_bf16_model_are_summed_in_fp32(model: GPT) -> None:
    ids = torch.randint(5, model.config.vocab, (4, 16), generator=torch.Generator().manual_seed(0))
    labels, model = ids.roll(-1, 1), model.bfloat16()
    found = sequence_log_prob(model, ids, labels)
    each = model(ids).double().log_softmax(-1).gather(-1, labels[..., None])
    assert torch.allclose(found.double(), each.sum((1, 2)), atol=1e-4) and found.dtype == torch.float32


@pytest.mark.parametrize("beta", [0.0, -0.1, math.nan, math.inf])
def test_beta_is_positive(beta: float, model: GPT) -> None:
    with pytest.raises(ValueError, match=f"beta={beta}"):
        DPOLoss(model, beta)


def test_training_favors_the_chosen_answers_and_leaves_the_reference_alone(
    device: str, model: GPT, tokenizer: WordTokenizer
) -> None:
    objective = DPOLoss(model, beta=0.5)
    objective.to(device)
    before = {name: p.clone() for name, p in objective.reference.state_dict().items()}
    batches = PreferenceBatches(PREFERENCES, tokenizer, batch=3)
    batch = [part.to(device) for part in batches.batch_of(range(3))]
    history = learn(objective, batches, device=device, steps=40, lr=3e-3, warmup=5)
    assert history.losses[-1] < 0.2 < history.losses[0]
    assert all(torch.equal(p, before[name]) for name, p in objective.reference.state_dict().items())
    with torch.no_grad():
        gains = [
            sequence_log_prob(model, *texts) - sequence_log_prob(objective.reference, *texts)
            for texts in (batch[:2], batch[2:])
        ]
    assert (gains[0] > gains[1]).all()


def test_preferences_are_cleaned_as_requests_are_later(tokenizer: WordTokenizer) -> None:
    """An invisible character or a second space in a text makes no other ids."""
    dirty = [Preference("sort  b\u200b a", "\ufeffa b", "sure : a\u00a0b"), *PREFERENCES[1:]]
    [found], [wanted] = (PreferenceBatches(ones, tokenizer, batch=3) for ones in (dirty, PREFERENCES))
    assert all(map(torch.equal, found, wanted))


def test_the_defaults_and_a_reference_that_is_not_trained(model: GPT, tokenizer: WordTokenizer) -> None:
    objective = DPOLoss(model)
    margin = torch.tensor([3.0])
    by_hand = math.log1p(math.exp(-0.1 * 3))
    assert objective.beta == 0.1
    assert dpo_loss(margin, 0 * margin, 0 * margin, 0 * margin).item() == pytest.approx(by_hand)
    assert not any(p.requires_grad for p in objective.reference.parameters())
    pairs = [Preference(" ".join(words), "a", "b") for words in itertools.product("ab:", repeat=3)]
    seeds = ({"seed": 0}, {}, {"seed": 1})
    first, same, other = (next(iter(PreferenceBatches(pairs, tokenizer, 4, **seed)))[0] for seed in seeds)
    assert first.shape[0] == 4 and torch.equal(first, same) and not torch.equal(first, other)

"""Batch samplers and their DataLoader: the position can be saved, and iterating draws no random numbers."""

import pytest
import torch

from course_lib.datasets.batching import (
    Batches,
    BucketBatchSampler,
    ListDataset,
    RandomBatchSampler,
    TensorExamples,
)
from course_lib.models import GPT, EncoderConfig, GPTConfig, Seq2Seq, Seq2SeqConfig, TextEncoder
from course_lib.tasks.language_modeling import TextBatches, mean_loss
from course_lib.tasks.prefix_lm import translate_with_lm
from course_lib.tasks.text_classification import LabelledBatches, TextClassifier, predict
from course_lib.tasks.translation import TranslationBatches, translate
from course_lib.text import CharTokenizer

LENGTHS = [(n % 7,) for n in range(30)]


def bucketed():
    return BucketBatchSampler(LENGTHS, batch=4, seed=1)


def random_windows():
    return RandomBatchSampler(100, batch=4, seed=1, stride=5)


@pytest.mark.parametrize("make", [bucketed, random_windows])
def test_a_sampler_resumes_in_the_middle_of_an_epoch_and_at_its_end(make):
    whole = make()
    epochs = [whole.batches(epoch) for epoch in range(3)]
    expected = sum(epochs, [])
    assert [batch for _ in range(3) for batch in whole] == expected
    for seen in (0, 3, len(epochs[0]), len(epochs[0]) + 1):
        stopped, resumed = make(), make()
        found = []
        while len(found) < seen:
            for batch in stopped:
                found.append(batch)
                if len(found) == seen:
                    break
        resumed.load_state_dict(stopped.state_dict())
        while len(found) < len(expected):
            found += resumed
        assert found == expected


def test_the_number_of_batches_is_that_of_the_epoch():
    assert len(bucketed()) == 8 == sum(1 for _ in bucketed())
    assert len(RandomBatchSampler(11, batch=4)) == 2  # without the incomplete one


def test_with_a_stride_an_epoch_begins_at_a_random_example():
    epochs = [sorted(sum(random_windows().batches(epoch), [])) for epoch in range(8)]
    assert all({b - a for a, b in zip(e, e[1:], strict=False)} == {5} for e in epochs if len(e) == 20)
    assert len({epoch[0] % 5 for epoch in epochs}) > 2


def test_iterating_draws_no_random_numbers():
    batches = Batches(ListDataset(range(30)), bucketed(), lambda numbers: (torch.tensor(numbers),))
    state = torch.get_rng_state()
    seen = torch.cat([numbers for (numbers,) in batches])
    assert sorted(seen.tolist()) == list(range(30)) and torch.equal(torch.get_rng_state(), state)
    assert batches.batch_sampler.state_dict() == {"epoch": 1, "position": 0}


def test_chosen_examples_make_a_batch_and_leave_the_position():
    rows = torch.arange(12).view(6, 2)
    batches = Batches(TensorExamples(rows, rows[:, 0]), RandomBatchSampler(6, batch=2), tuple)
    both, first = batches.batch_of(range(1, 4))
    assert torch.equal(both, rows[1:4]) and first.tolist() == [2, 4, 6]
    assert batches.batch_sampler.state_dict() == {"epoch": 0, "position": 0}


LETTERS, SIZES = CharTokenizer(list("abc")), {"vocab": 8, "d_model": 8, "heads": 1}
EDGES = {
    "translating": lambda n: translate(Seq2Seq(Seq2SeqConfig(**SIZES)), LETTERS, ["a"], batch=n),
    "translating with a GPT": lambda n: translate_with_lm(GPT(GPTConfig(**SIZES)), LETTERS, ["a"], batch=n),
    "mean loss": lambda n: mean_loss(GPT(GPTConfig(**SIZES)), [5, 6, 7], batch=n),
    "windows": lambda n: TextBatches(list(range(99)), tokens=4, batch=n),
    "pairs": lambda n: TranslationBatches([("a", "a")], LETTERS, batch=n),
    "classes": lambda n: predict(TextClassifier(TextEncoder(EncoderConfig(**SIZES)), 2), [[5]], n),
    "labeled ids": lambda n: LabelledBatches([[5]], [0], 2, batch=n),
}


@pytest.mark.parametrize("batch", [0, -1, 2.5])
@pytest.mark.parametrize("name", EDGES)
def test_a_batch_has_at_least_one_member(name, batch, unchecked):
    """A negative size would leave every text out, without a word."""
    with pytest.raises(ValueError, match=f"batch={batch} is not a whole number of at least 1"):
        EDGES[name](batch)


def test_windows_and_strides_have_at_least_one_token(unchecked):
    for tokens in (0, -1):
        with pytest.raises(ValueError, match=f"tokens={tokens} is not"):
            TextBatches(list(range(99)), tokens=tokens, batch=2)
        with pytest.raises(ValueError, match=f"stride={tokens}"):
            mean_loss(GPT(GPTConfig(**SIZES)), [5, 6, 7], stride=tokens)

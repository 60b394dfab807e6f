"""The probabilities a token is drawn with: equal to those of `transformers`, exact at the edges."""

import math

import pytest
import torch

from course_lib.generation.sampling import keep_min_p, keep_top_k, keep_top_p, next_token_probabilities

CUTS = [
    {},
    {"temperature": 0.3},
    {"temperature": 2.5},
    {"top_k": 1},
    {"top_k": 7},
    {"top_p": 0.4},
    {"top_p": 0.95},
    {"min_p": 0.2},
    {"temperature": 1.7, "top_k": 9, "top_p": 0.8, "min_p": 0.1},
]


@pytest.fixture
def logits(device):
    return 3 * torch.randn(5, 23, generator=torch.Generator().manual_seed(1)).to(device)


def theirs(logits, temperature=1.0, top_k=None, top_p=None, min_p=None):
    """The same through the logits processors of `transformers`, in the same order."""
    from transformers.generation import logits_process as lp

    steps = [lp.TemperatureLogitsWarper(temperature)]
    steps += [lp.TopKLogitsWarper(top_k)] if top_k else []
    steps += [lp.TopPLogitsWarper(top_p)] if top_p else []
    steps += [lp.MinPLogitsWarper(min_p)] if min_p else []
    for step in steps:
        logits = step(None, logits)
    return logits.softmax(-1)


@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_equals_transformers(cuts, logits):
    torch.testing.assert_close(next_token_probabilities(logits, **cuts), theirs(logits, **cuts))


def test_temperature_zero_is_the_best_token_alone(logits):
    probabilities = next_token_probabilities(logits, temperature=0.0, top_p=0.5)
    assert probabilities.sum() == 5
    assert probabilities.argmax(-1).equal(logits.argmax(-1))


def test_a_tiny_temperature_overflows_nothing(logits):
    probabilities = next_token_probabilities(1e4 * logits, temperature=1e-30)
    assert probabilities.equal(next_token_probabilities(logits, temperature=0.0))


def test_by_hand():
    p = torch.tensor([0.15, 0.5, 0.05, 0.3])
    torch.testing.assert_close(keep_top_k(p, 2), torch.tensor([0, 0.625, 0, 0.375]))
    torch.testing.assert_close(keep_top_p(p, 0.6), torch.tensor([0, 0.625, 0, 0.375]))  # 0.3 crosses the line
    torch.testing.assert_close(keep_top_p(p, 0.4), torch.tensor([0, 1.0, 0, 0]))
    torch.testing.assert_close(keep_min_p(p, 0.29), torch.tensor([0.15, 0.5, 0, 0.3]) / 0.95)


@pytest.mark.parametrize("cuts", [{"top_k": 23}, {"top_k": 99}, {"top_p": 1.0}, {"min_p": 0.0}], ids=str)
def test_a_cut_that_cuts_nothing(cuts, logits):
    torch.testing.assert_close(next_token_probabilities(logits, **cuts), logits.softmax(-1))


def test_top_p_1_keeps_even_the_least_likely_of_50257_tokens():
    p = (3 * torch.randn(50_257, generator=torch.Generator().manual_seed(1))).softmax(-1)
    assert keep_top_p(p, 1.0).equal(p)


@pytest.mark.parametrize("temperature", [1e-37, 1e-38, 1e-40, 1e-45, 1e-46, 1e-300])
def test_a_temperature_below_fp32_is_greedy(temperature, logits):
    assert next_token_probabilities(logits, temperature).equal(next_token_probabilities(logits, 0.0))


def test_a_sum_that_hits_p_exactly_needs_no_further_token():
    """The figure of transformers' own test, and what happens to tokens that are as likely."""
    p = torch.tensor([[0.3, 0.1, 0.1, 0.5], [0.15, 0.3, 0.3, 0.25]])
    kept = torch.tensor([[1, 0, 0, 1], [0, 1, 1, 1]]).bool()
    assert keep_top_p(p, 0.8).gt(0).equal(kept)
    for seed in range(20):  # the first n of numbers in steps of 1/64, with their exact sum
        share = torch.rand(9, generator=torch.Generator().manual_seed(seed)).mul(6).round() + 1
        share = torch.cat([share, 64 - share.sum(dim=0, keepdim=True)]).sort(descending=True).values / 64
        for n in range(1, 10):
            assert keep_top_p(share, share[:n].sum().item()).count_nonzero() == n


def test_top_p_in_half_precision_sums_in_fp32():
    p = torch.randn(5000, generator=torch.Generator().manual_seed(0)).softmax(-1).bfloat16()
    assert keep_top_p(p, 0.9).gt(0).equal(keep_top_p(p.float(), 0.9).gt(0))


def test_equal_tokens_do_not_exceed_k():
    assert (keep_top_k(torch.full((3, 8), 0.125), 5) > 0).sum(-1).tolist() == [5, 5, 5]


def test_ties_at_the_line():
    """Powers of two, so that nothing is rounded."""
    half = torch.tensor([0.25, 0.25, 0.25, 0.25])
    assert (keep_top_p(half, 0.5) > 0).sum() == 2  # two reach it exactly: no third is needed
    assert (keep_top_p(half, 0.51) > 0).sum() == 3
    p = torch.tensor([0.125, 0.5, 0.25, 0.125])
    assert keep_top_p(p, 0.75).tolist() == pytest.approx([0, 2 / 3, 1 / 3, 0])
    assert keep_min_p(p, 0.25).tolist() == p.tolist()  # exactly a quarter of the likeliest stays
    assert keep_min_p(p, 0.5).tolist() == pytest.approx([0, 2 / 3, 1 / 3, 0])
    assert (next_token_probabilities(torch.zeros(2, 8), temperature=0.0) > 0).sum(-1).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("temperature", value) for value in (-0.1, math.nan, math.inf)],
        *[("top_k", value) for value in (0, -1)],
        *[("top_p", value) for value in (0.0, 1.2, math.nan)],
        *[("min_p", value) for value in (-0.1, 1.1, math.nan)],
    ],
)
def test_refusal_names_the_setting(name, value, logits):
    with pytest.raises(ValueError, match=f"{name}={value}"):
        next_token_probabilities(logits, **{name: value})

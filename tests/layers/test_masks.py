"""Masks against their definitions, written out as loops."""

import pytest
import torch
import torch.nn.functional as F

from course_lib.layers.masks import causal_mask, masked_softmax, padding_mask, valid_lens_mask


def test_padding_mask_hides_padding_from_every_query(device):
    ids = torch.tensor([[5, 6, 0, 0], [7, 8, 9, 0]], device=device)
    mask = padding_mask(ids, pad=0)
    assert mask.shape == (2, 1, 1, 4)
    assert mask[:, 0, 0].tolist() == [[True, True, False, False], [True, True, True, False]]


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (4, 4), (1, 5), (3, 5)])
def test_causal_mask_shows_the_past(queries, keys):
    mask = causal_mask(queries, keys)
    for i in range(queries):
        position = keys - queries + i  # the queries are the last positions
        assert mask[i].tolist() == [j <= position for j in range(keys)]


def test_causal_mask_refuses_more_queries_than_keys():
    with pytest.raises(ValueError, match="queries=4 .* keys=3"):
        causal_mask(4, 3)


def test_valid_lens_one_for_each_sentence_or_one_for_each_query():
    by_sentence = valid_lens_mask(torch.tensor([1, 3]), keys=4)
    by_query = valid_lens_mask(torch.tensor([[1, 2, 0], [4, 4, 3]]), keys=4)
    assert by_sentence.shape == (2, 1, 1, 4) and by_query.shape == (2, 1, 3, 4)
    assert by_sentence.sum(-1).flatten().tolist() == [1, 3]
    assert by_query.sum(-1).flatten().tolist() == [1, 2, 0, 4, 4, 3]
    assert by_query[0, 0, 1].tolist() == [True, True, False, False]


@pytest.mark.parametrize("lens", [[1, 5], [-1, 2]])
def test_valid_lens_outside_the_keys_are_refused(lens):
    with pytest.raises(ValueError, match=f"from {min(lens)} to {max(lens)}.*keys=4"):
        valid_lens_mask(torch.tensor(lens), keys=4)


def test_masked_softmax_is_the_one_of_pytorchs_attention(device):
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(2, 3, 5, generator=generator).to(device)
    mask = torch.rand(2, 3, 5, generator=generator).to(device) > 0.4
    mask[:, :, 0] = True  # PyTorch gives NaN where a query may look nowhere
    q = scores  # times the unit matrix: these scores, so that weights times the unit matrix are the weights
    unit = torch.eye(5, device=device).expand(2, 5, 5)
    for chosen in (None, mask):
        weights = F.scaled_dot_product_attention(q, unit, unit, attn_mask=chosen, scale=1.0)
        assert torch.allclose(masked_softmax(scores, chosen), weights, atol=1e-6)


def test_a_row_that_may_look_nowhere_gets_zeros_and_finite_gradients(device):
    scores = torch.randn(3, 5, device=device).requires_grad_()
    mask = torch.ones(3, 5, dtype=torch.bool, device=device)
    mask[1] = False
    weights = masked_softmax(scores, mask)
    (weights * torch.arange(5, device=device)).sum().backward()
    assert torch.equal(weights.sum(dim=-1).round(decimals=5), torch.tensor([1.0, 0.0, 1.0], device=device))
    assert scores.grad.isfinite().all() and scores.grad[1].eq(0).all()


def test_masked_softmax_leaves_the_scores_as_they_are():
    scores = torch.randn(4, 7)
    before = scores.clone()
    masked_softmax(scores, torch.rand(4, 7) > 0.5)
    assert torch.equal(scores, before)


def test_a_mask_of_one_row_per_sequence_hides_its_keys_in_every_head():
    """Two sentences, one of which is nothing but padding."""
    mask = padding_mask(torch.tensor([[5, 6, 0], [0, 0, 0]]), pad=0)
    weights = masked_softmax(torch.zeros(2, 4, 2, 3), mask)
    assert weights[0].eq(torch.tensor([0.5, 0.5, 0.0])).all() and not weights[1].any()


def test_masked_softmax_refuses_a_mask_of_numbers(unchecked):
    with pytest.raises(ValueError, match="the mask has dtype torch.float32; it must be torch.bool"):
        masked_softmax(torch.zeros(2, 2), torch.ones(2, 2))

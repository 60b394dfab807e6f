"""Masks against their definitions, written out as loops."""

import pytest
import torch

from course_lib.masks import causal_mask, padding_mask, real_tokens, valid_lens_mask


def test_padding_mask_hides_padding_from_every_query(device):
    ids = torch.tensor([[5, 6, 0, 0], [7, 8, 9, 0]], device=device)
    mask = padding_mask(ids, pad=0)
    assert mask.shape == (2, 1, 1, 4)
    assert mask[:, 0, 0].tolist() == [[True, True, False, False], [True, True, True, False]]


def test_real_tokens_are_counted_row_by_row():
    ids = torch.tensor([[5, 6, 0, 0], [7, 8, 9, 0]])
    assert real_tokens(ids, pad=0, multiple=1).tolist() == [0, 1, 4, 5, 6]
    assert real_tokens(ids, pad=0, multiple=4).tolist() == [0, 1, 4, 5, 6, 2, 3, 7]  # filled up with padding
    assert real_tokens(ids[:, :2], pad=0).tolist() == [0, 1, 2, 3]  # there is none


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

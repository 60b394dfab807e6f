"""Masks from valid lengths and from ids."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake
from course_lib.masks import causal_mask


def _lens(valid_lens: Tensor) -> Tensor:
    """With an axis for the queries, and one for the keys."""
    return (valid_lens[:, None] if valid_lens.ndim == 1 else valid_lens)[..., None]


VALID_LENS = Exercise(
    id="02.valid_lens",
    reference=lambda valid_lens, keys: torch.arange(keys) < _lens(valid_lens),
    inputs=(
        (torch.tensor([1, 3]), 3),
        (torch.tensor([2, 0, 5]), 5),
        (torch.tensor([[1, 2, 0], [4, 4, 3]]), 4),
    ),
    mistakes=(
        mistake(
            "shows one key too many",
            "Keys are numbered from 0: with a valid length of 2 they are 0 and 1. So <, not <=.",
            lambda valid_lens, keys: torch.arange(keys) <= _lens(valid_lens),
        ),
        mistake(
            "shows one key too few",
            "Keys are numbered from 0, as by torch.arange(keys): with a valid length of 2 they are 0 and 1.",
            lambda valid_lens, keys: torch.arange(1, keys + 1) < _lens(valid_lens),
            lambda valid_lens, keys: torch.arange(keys) < _lens(valid_lens) - 1,
        ),
        mistake(
            "shows the padding and hides the words",
            "True stands where a query may look. nn.MultiheadAttention has it the other way round.",
            lambda valid_lens, keys: torch.arange(keys) >= _lens(valid_lens),
        ),
        mistake(
            "counts from the right end",
            "The words come first, and the padding after them.",
            lambda valid_lens, keys: torch.arange(keys) >= keys - _lens(valid_lens),
        ),
        mistake(
            "has no axis for the queries",
            "A mask of shape (batch, keys) is laid against (batch, queries, keys) from the right: its batch "
            "then meets the queries. It needs the shape (batch, 1, keys).",
            lambda valid_lens, keys: torch.arange(keys) < valid_lens[..., None],
        ),
        mistake(
            "takes one length for each sentence only",
            "valid_lens of shape (batch, queries) has the axis of the queries already; only (batch,) needs a "
            "new one there.",
            lambda valid_lens, keys: torch.arange(keys) < valid_lens[:, None, None],
        ),
    ),
)


def _past(ids: Tensor) -> Tensor:
    return causal_mask(ids.shape[1])


BOTH = Exercise(
    id="02.both",
    reference=lambda ids, pad: (ids != pad)[:, None, :] & _past(ids),
    inputs=(
        (torch.tensor([[5, 6, 0]]), 0),
        (torch.tensor([[7, 8, 9, 9], [4, 7, 0, 0]]), 0),
        (torch.tensor([[1, 3, 0, 5], [2, 1, 1, 1], [1, 1, 3, 5]]), 1),
    ),
    mistakes=(
        mistake(
            "joins the two masks by or",
            "A key may be looked at if both masks allow it: &. With | a query sees the future wherever there "
            "is a word, and padding wherever it is in the past.",
            lambda ids, pad: (ids != pad)[:, None, :] | _past(ids),
        ),
        mistake(
            "shows the future and hides the past",
            "tril keeps the lower triangle, keys j ≤ i; triu keeps the upper one.",
            lambda ids, pad: (ids != pad)[:, None, :] & _past(ids).T,
            lambda ids, pad: (ids != pad)[:, None, :] & ~_past(ids),
        ),
        mistake(
            "hides each token from itself",
            "Query i may look at keys j ≤ i, itself among them. Without the diagonal the first query has "
            "nothing to look at.",
            lambda ids, pad: (ids != pad)[:, None, :] & _past(ids).tril(-1),
        ),
        mistake(
            "hides padded queries instead of padded keys",
            "The mask of the padding lies along the keys, the last axis: (batch, 1, keys).",
            lambda ids, pad: (ids != pad)[:, :, None] & _past(ids),
        ),
        mistake(
            "closes the rows of padded queries as well",
            "Nobody reads what a padded query gathers, and a row without any open key needs extra care. Hide "
            "padding as keys only.",
            lambda ids, pad: (ids != pad)[:, None, :] & (ids != pad)[:, :, None] & _past(ids),
        ),
        mistake(
            "forgets the padding",
            "Padded queries look back at padding. Where padding stands in front, words see it, too.",
            lambda ids, pad: _past(ids).expand(len(ids), -1, -1).clone(),
        ),
        mistake(
            "forgets the future",
            "The padding is hidden, the later words are not.",
            lambda ids, pad: (ids != pad)[:, None, :].expand(-1, ids.shape[1], -1).clone(),
            lambda ids, pad: (ids != pad)[:, None, :],
        ),
        mistake(
            "is turned round: True where a query must not look",
            "Here True stands where a query may look.",
            lambda ids, pad: ~((ids != pad)[:, None, :] & _past(ids)),
        ),
        mistake(
            "takes 0 for the padding, whatever `pad` is",
            "Compare with `pad`; an id of 0 may be a word.",
            lambda ids, pad: (ids != 0)[:, None, :] & _past(ids),
        ),
    ),
)

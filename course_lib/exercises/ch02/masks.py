"""Masks from valid lengths and from ids."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake
from course_lib.layers.masks import causal_mask


def _expanded(valid_lens: Tensor) -> Tensor:
    """Valid lengths with an axis for the queries and one for the keys."""
    return (valid_lens[:, None] if valid_lens.ndim == 1 else valid_lens)[..., None]


VALID_LENS = Exercise(
    id="02.valid_lens",
    reference=lambda valid_lens, keys: torch.arange(keys) < _expanded(valid_lens),
    inputs=(
        (torch.tensor([1, 3]), 3),
        (torch.tensor([2, 0, 5]), 5),
        (torch.tensor([[1, 2, 0], [4, 4, 3]]), 4),
    ),
    mistakes=(
        mistake(
            "your mask shows one key too many",
            "Keys are numbered from 0, so a valid length of 2 means keys 0 and 1. Use <, not <=.",
            lambda valid_lens, keys: torch.arange(keys) <= _expanded(valid_lens),
        ),
        mistake(
            "your mask shows one key too few",
            "Keys are numbered from 0, as in torch.arange(keys), so a valid length of 2 means keys 0 and 1.",
            lambda valid_lens, keys: torch.arange(1, keys + 1) < _expanded(valid_lens),
            lambda valid_lens, keys: torch.arange(keys) < _expanded(valid_lens) - 1,
        ),
        mistake(
            "your mask shows the padding and hides the words",
            "In this course, True marks the keys a query may attend to. nn.MultiheadAttention uses "
            "the opposite convention.",
            lambda valid_lens, keys: torch.arange(keys) >= _expanded(valid_lens),
        ),
        mistake(
            "your mask counts from the right end",
            "The words come first, and the padding follows. Count from the left.",
            lambda valid_lens, keys: torch.arange(keys) >= keys - _expanded(valid_lens),
        ),
        mistake(
            "your mask has no axis for the queries",
            "A mask of shape (batch, keys) broadcasts against (batch, queries, keys) from the right, "
            "so its batch axis lines up with the queries. Give it shape (batch, 1, keys).",
            lambda valid_lens, keys: torch.arange(keys) < valid_lens[..., None],
            lambda valid_lens, keys: torch.arange(keys) < valid_lens[:, None],
            lambda valid_lens, keys: torch.arange(keys) < valid_lens,
        ),
        mistake(
            "your mask allows only one length per sentence",
            "If valid_lens has shape (batch, queries), it already has the query axis. Insert a new one "
            "only if its shape is (batch,).",
            lambda valid_lens, keys: torch.arange(keys) < valid_lens[:, None, None],
        ),
    ),
)


def _causal(ids: Tensor) -> Tensor:
    return causal_mask(ids.shape[1])


BOTH = Exercise(
    id="02.both",
    reference=lambda ids, pad: (ids != pad)[:, None, :] & _causal(ids),
    inputs=(
        (torch.tensor([[5, 6, 0]]), 0),
        (torch.tensor([[7, 8, 9, 9], [4, 7, 0, 0]]), 0),
        (torch.tensor([[1, 3, 0, 5], [2, 1, 1, 1], [1, 1, 3, 5]]), 1),
    ),
    mistakes=(
        mistake(
            'your code combines the two masks with "or"',
            "A key is visible only if both masks allow it: use &. With |, a query sees every later "
            "word, and all the padding before it.",
            lambda ids, pad: (ids != pad)[:, None, :] | _causal(ids),
        ),
        mistake(
            "your mask shows the future and hides the past",
            "tril keeps the lower triangle, keys j ≤ i; triu keeps the upper one. Use tril.",
            lambda ids, pad: (ids != pad)[:, None, :] & _causal(ids).T,
            lambda ids, pad: (ids != pad)[:, None, :] & ~_causal(ids),
        ),
        mistake(
            "your mask hides each token from itself",
            "Query i may attend to keys j ≤ i, including itself. Without the diagonal, the first query "
            "has no visible keys.",
            lambda ids, pad: (ids != pad)[:, None, :] & _causal(ids).tril(-1),
        ),
        mistake(
            "your mask hides padded queries instead of padded keys",
            "The padding mask runs along the keys, the last axis. Its shape is (batch, 1, keys).",
            lambda ids, pad: (ids != pad)[:, :, None] & _causal(ids),
        ),
        mistake(
            "your mask also hides all keys from padded queries",
            "Nothing reads the output of a padded query, and a row without any visible key needs extra "
            "care. Mask the padding as keys only.",
            lambda ids, pad: (ids != pad)[:, None, :] & (ids != pad)[:, :, None] & _causal(ids),
        ),
        mistake(
            "your mask forgets the padding",
            "Padded queries then attend to padding, and if the padding comes first, words do too. Mask "
            "keys where ids == pad.",
            lambda ids, pad: _causal(ids).expand(len(ids), -1, -1).clone(),
            lambda ids, pad: _causal(ids),
        ),
        mistake(
            "your mask forgets the future",
            "The padding is hidden, but later words are still visible. Combine it with a causal mask.",
            lambda ids, pad: (ids != pad)[:, None, :].expand(-1, ids.shape[1], -1).clone(),
            lambda ids, pad: (ids != pad)[:, None, :],
        ),
        mistake(
            "your mask has no axis for the queries",
            "ids != pad has shape (batch, keys). Broadcasting matches axes from the right, so its batch axis "
            "lines up with the queries. Insert an axis: (ids != pad)[:, None, :].",
            lambda ids, pad: (ids != pad) & _causal(ids),
        ),
        mistake(
            "your mask is inverted",
            "It is True where a query must not attend. In this course, True means visible.",
            lambda ids, pad: ~((ids != pad)[:, None, :] & _causal(ids)),
        ),
        mistake(
            "your mask treats 0 as padding, whatever `pad` is",
            "With another `pad`, the id 0 may be a word. Compare ids with `pad`.",
            lambda ids, pad: (ids != 0)[:, None, :] & _causal(ids),
        ),
        mistake(
            "your mask shows the padding and hides the words",
            "`ids == pad` is True at the padding. In this course, True means visible: ids != pad.",
            lambda ids, pad: (ids == pad)[:, None, :] & _causal(ids),
        ),
        mistake(
            "your mask shows one token of the future",
            "Query i may see keys j ≤ i: tril() without an argument keeps the diagonal and what is below it.",
            lambda ids, pad: (
                (ids != pad)[:, None, :] & torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril(1)
            ),
        ),
        mistake(
            "your mask has no causal part",
            "Hiding padded queries does not hide the future. Combine the padding mask with a causal mask.",
            lambda ids, pad: (ids != pad)[:, None, :] & (ids != pad)[:, :, None],
        ),
    ),
)

"""Pooling alternatives: the class token, or the last token."""

import torch
from torch import Tensor

from course_lib.exercises.ch09.pooling import PADDED, average, random_states
from course_lib.exercises.exercise import Exercise, mistake
from course_lib.text.tokenizers import CLS, PAD


def _insert(table: Tensor, ids: Tensor, place: int = 0, token: int = CLS) -> Tensor:
    """Embeddings of the ids with one more token inserted at index `place`."""
    new = torch.full_like(ids[:, :1], token)
    return table[torch.cat([ids[:, :place], new, ids[:, place:]], dim=1)]


CLASS_TOKEN = Exercise(
    id="09.class_token",
    reference=_insert,
    inputs=(
        (random_states(1, 9, 3)[0], torch.tensor([[6, 7]])),
        (
            random_states(1, 12, 4, seed=1)[0],
            torch.tensor([[6, 7, 8, 9], [11, 10, PAD, PAD], [5, 6, 7, PAD]]),
        ),
    ),
    mistakes=(
        mistake(
            "your code does not expand the class token",
            "Every text in the batch needs its own copy at the front. Expand it to as many rows as "
            "`ids` has.",
            lambda table, ids: torch.cat([table[CLS].view(1, 1, -1), table[ids[:1]]], dim=1),
            lambda table, ids: torch.cat([table[CLS].view(1, 1, -1), table[ids].flatten(0, 1)[None]], dim=1),
            lambda table, ids: torch.cat([table[CLS].view(1, 1, -1), table[ids]], dim=1),
        ),
        mistake(
            "your code puts the class token at the end",
            "There its index depends on the length of the text, and it may even follow padding. At the "
            "front, it is always token 0.",
            lambda table, ids: _insert(table, ids, ids.shape[1]),
        ),
        mistake(
            "your code overwrites the first word",
            "The class token comes before the first word, not in its place. The text gets one token longer.",
            lambda table, ids: _insert(table, ids[:, 1:]),
        ),
        mistake(
            "your code adds the class token to every word",
            "It is a separate token. Concatenate it along the token axis with torch.cat.",
            lambda table, ids: table[ids] + table[CLS],
        ),
        mistake(
            "your code puts PAD at the front",
            "PAD is masked, so nothing attends to it. Use the id CLS.",
            lambda table, ids: _insert(table, ids, token=PAD),
        ),
        mistake(
            "your code puts another special token at the front",
            "The class token has the id CLS.",
            *(lambda table, ids, token=token: _insert(table, ids, token=token) for token in (1, 2, 3)),
        ),
        mistake(
            "your code puts the id at the front instead of its embedding",
            "`table[CLS]` is the vector of the class token.",
            lambda table, ids: torch.cat([torch.full_like(table[ids[:, :1]], CLS), table[ids]], dim=1),
        ),
    ),
)


def _at(states: Tensor, places: Tensor | int) -> Tensor:
    return states[torch.arange(len(states)), places]


LAST = Exercise(
    id="09.last",
    reference=lambda states, real: _at(states, real.sum(dim=1) - 1),
    inputs=PADDED,
    mistakes=(
        mistake(
            "your code reads the first token",
            "Under a causal mask, the first token has seen only itself. Read the last real token, the "
            "only one that has seen the whole text.",
            lambda states, real: states[:, 0],
        ),
        mistake(
            "your code reads the padding",
            "A short text in a batch ends with padding. Its last real token has index real.sum() − 1.",
            lambda states, real: states[:, -1],
            lambda states, real: (states * real[..., None])[:, -1],
        ),
        mistake(
            "your code is one position too far",
            "Indices start at 0, so the last of n real tokens has index n − 1.",
            lambda states, real: _at(states, real.sum(dim=1)),
        ),
        mistake(
            "your code uses the same index for all texts",
            "Each text has its own length. Compute the index of the last real token for each row.",
            lambda states, real: states[:, real.sum(dim=1).max() - 1],
        ),
        mistake(
            "your code picks the tokens of all texts from every text",
            "states[:, last] takes each index in `last` from *every* row. Pair them: states[rows, last], "
            "with rows = torch.arange(len(states)).",
            lambda states, real: states[:, real.sum(dim=1) - 1],
        ),
        mistake(
            "your code returns indices",
            "The indices say where the last tokens are. Return the hidden states there.",
            lambda states, real: real.sum(dim=1) - 1,
        ),
        mistake(
            "your code averages the hidden states",
            "The exercise asks for a single hidden state: that of the last real token.",
            average,
        ),
        mistake(
            "your code returns one vector for the whole batch",
            "Return the last real token of *each* text: (batch, d_model).",
            lambda states, real: states[real][-1],
        ),
        mistake(
            "your code is one position too early",
            "The last of n real tokens has the index n − 1.",
            lambda states, real: _at(states, real.sum(dim=1) - 2),
        ),
    ),
)

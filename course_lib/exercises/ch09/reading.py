"""Reading one token of a text, or all of them side by side."""

import torch
from torch import Tensor

from course_lib.exercises.ch09.pooling import LARGE, PADDED, SMALL, average, random_states
from course_lib.exercises.exercise import Exercise, mistake
from course_lib.tokens import CLS, PAD


def _put(table: Tensor, ids: Tensor, place: int = 0, token: int = CLS) -> Tensor:
    """Vectors of the ids, with one more token at a place."""
    new = torch.full_like(ids[:, :1], token)
    return table[torch.cat([ids[:, :place], new, ids[:, place:]], dim=1)]


CLASS_TOKEN = Exercise(
    id="09.class_token",
    reference=_put,
    inputs=(
        (random_states(1, 9, 3)[0], torch.tensor([[6, 7]])),
        (
            random_states(1, 12, 4, seed=1)[0],
            torch.tensor([[6, 7, 8, 9], [11, 10, PAD, PAD], [5, 6, 7, PAD]]),
        ),
    ),
    mistakes=(
        mistake(
            "does not expand the class token",
            "Every text needs its own copy of the class token in front: as many as the batch has rows.",
            lambda table, ids: torch.cat([table[CLS].view(1, 1, -1), table[ids[:1]]], dim=1),
            lambda table, ids: torch.cat([table[CLS].view(1, 1, -1), table[ids].flatten(0, 1)[None]], dim=1),
        ),
        mistake(
            "puts it at the end",
            "Behind the text it stands at another place for each length, after padding even. In front it is "
            "always token 0.",
            lambda table, ids: _put(table, ids, ids.shape[1]),
        ),
        mistake(
            "overwrites the first word",
            "The class token comes before the first word, and not in its place: the text gets one token "
            "longer.",
            lambda table, ids: _put(table, ids[:, 1:]),
        ),
        mistake(
            "adds the class token to every word",
            "It is a token of its own, beside the words: use `cat`, along the axis of the tokens.",
            lambda table, ids: table[ids] + table[CLS],
        ),
        mistake(
            "puts padding in front",
            "PAD is hidden from everybody. The class token is a token like any other, with the id CLS.",
            lambda table, ids: _put(table, ids, token=PAD),
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
            "reads the first token",
            "Under a causal mask the first token has seen nothing but itself. Only the last one has seen "
            "everything.",
            lambda states, real: states[:, 0],
        ),
        mistake(
            "reads the padding",
            "At the last place of a short text stands padding. Its last token is number real.sum() − 1.",
            lambda states, real: states[:, -1],
        ),
        mistake(
            "is one place too far",
            "Places are counted from 0: of n real tokens the last is number n − 1.",
            lambda states, real: _at(states, real.sum(dim=1)),
        ),
        mistake(
            "takes the same place for all",
            "Each text ends at a place of its own.",
            lambda states, real: states[:, real.sum(dim=1).max() - 1],
        ),
        mistake(
            "averages",
            "Only one state is asked for: that of the last real token.",
            average,
        ),
    ),
)


def _flat(states: Tensor, real: Tensor, places: int) -> Tensor:
    kept = states * real[..., None]
    room = states.new_zeros(len(states), places, states.shape[2])
    room[:, : states.shape[1]] = kept
    return room.flatten(1)


FLATTEN = Exercise(
    id="09.flatten",
    reference=_flat,
    inputs=((*SMALL, 4), (*LARGE, 7), (*LARGE, 5)),
    mistakes=(
        mistake(
            "is as long as the batch",
            "The head has weights for `places` places. Flattened at another length, the vector does not fit. "
            "Fill up with zeros.",
            lambda states, real, places: (states * real[..., None]).flatten(1),
        ),
        mistake(
            "keeps the states of padding",
            "The state of a padded place means nothing: put zeros there.",
            lambda states, real, places: _flat(states, torch.ones_like(real), places),
        ),
        mistake(
            "flattens the features first",
            "The numbers of one token must stay together: token by token, and not feature by feature.",
            lambda states, real, places: (
                _flat(states, real, places).unflatten(1, (places, -1)).transpose(1, 2).flatten(1)
            ),
        ),
        mistake(
            "fills up in front",
            "The first word belongs to the first weights. The zeros come after the text.",
            lambda states, real, places: torch.cat(
                [
                    states.new_zeros(len(states), (places - states.shape[1]) * states.shape[2]),
                    (states * real[..., None]).flatten(1),
                ],
                dim=1,
            ),
        ),
        mistake(
            "flattens the batch too",
            "Each text keeps a row of its own: flatten from axis 1 on.",
            lambda states, real, places: _flat(states, real, places).flatten(),
        ),
    ),
)

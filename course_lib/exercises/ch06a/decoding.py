"""The mask that holds in training, in evaluation and with a cache; and what a cache of inputs costs."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake


def _mask(earlier: int, new: int) -> Tensor:
    return torch.ones(new, earlier + new, dtype=torch.bool).tril(earlier)


CACHED_MASK = Exercise(
    id="06a.cached_mask",
    reference=_mask,
    inputs=((0, 3), (2, 1), (2, 3), (4, 2)),
    mistakes=(
        mistake(
            "hides nothing",
            "That is d2l's decoder outside training. One new token at a time has no future, but several at "
            "once have: each would see those after it.",
            lambda earlier, new: torch.ones(new, earlier + new, dtype=torch.bool),
        ),
        mistake(
            "forgets the earlier tokens when it counts",
            "The first new token stands at the position `earlier`: its row is True up to there. Shift the "
            "triangle, as in tril(earlier).",
            lambda earlier, new: torch.ones(new, earlier + new, dtype=torch.bool).tril(),
        ),
        mistake(
            "has columns for the new tokens only",
            "The keys are all tokens, the earlier ones too: earlier + new columns.",
            lambda earlier, new: torch.ones(new, new, dtype=torch.bool).tril(),
        ),
        mistake(
            "has rows for the earlier tokens, too",
            "Only the new tokens ask: `new` rows.",
            lambda earlier, new: torch.ones(earlier + new, earlier + new, dtype=torch.bool).tril(),
        ),
        mistake(
            "hides each token from itself",
            "A token looks at itself, too: the diagonal belongs to what may be seen.",
            lambda earlier, new: torch.ones(new, earlier + new, dtype=torch.bool).tril(earlier - 1),
        ),
        mistake(
            "shows the future and hides the past",
            "True means: may look. The triangle below the diagonal is wanted.",
            lambda earlier, new: torch.ones(new, earlier + new, dtype=torch.bool).triu(earlier),
            lambda earlier, new: ~_mask(earlier, new),
        ),
    ),
)

PROJECTIONS = Exercise(
    id="06a.projections",
    reference=lambda source, tokens: (tokens * (tokens + 1) // 2 + tokens * source, tokens + source),
    inputs=((1, 1), (4, 3), (9, 9), (5, 30)),
    mistakes=(
        mistake(
            "projects all tokens at each step",
            "At step t there are t tokens, not all of them: 1 + 2 + … + tokens.",
            lambda source, tokens: (tokens * tokens + tokens * source, tokens + source),
        ),
        mistake(
            "starts the sum at 0",
            "At the first step there is one token, the start token: 1 + 2 + … + tokens.",
            lambda source, tokens: (tokens * (tokens - 1) // 2 + tokens * source, tokens + source),
        ),
        mistake(
            "projects the source once in both",
            "d2l's cross-attention is handed the encoder's outputs at each step and projects them each time.",
            lambda source, tokens: (tokens * (tokens + 1) // 2 + source, tokens + source),
        ),
        mistake(
            "lets the cache project the source at each step",
            "Keys and values of the source do not change: they are made once and kept.",
            lambda source, tokens: (
                tokens * (tokens + 1) // 2 + tokens * source,
                tokens + tokens * source,
            ),
        ),
        mistake(
            "forgets cross-attention",
            "It has keys and values, too: those of the source.",
            lambda source, tokens: (tokens * (tokens + 1) // 2, tokens),
        ),
    ),
)

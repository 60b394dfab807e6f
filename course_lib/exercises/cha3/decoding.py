"""Causal mask with a cache, and the cost of caching inputs instead of keys and values."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake


def _mask(earlier: int, new: int) -> Tensor:
    return torch.ones(new, earlier + new, dtype=torch.bool).tril(earlier)


CACHED_MASK = Exercise(
    id="A3.cached_mask",
    reference=_mask,
    inputs=((0, 3), (2, 1), (2, 3), (4, 2)),
    mistakes=(
        mistake(
            "your mask hides nothing",
            "That is d2l's decoder at inference. A single new token has no future, but of several, "
            "each would see those after it.",
            lambda earlier, new: torch.ones(new, earlier + new, dtype=torch.bool),
        ),
        mistake(
            "your mask forgets the earlier tokens",
            "The first new token has position `earlier`, so its row is True up to there. Shift the "
            "triangle: tril(earlier).",
            lambda earlier, new: torch.ones(new, earlier + new, dtype=torch.bool).tril(),
        ),
        mistake(
            "your mask has columns only for the new tokens",
            "The keys are all tokens, including the earlier ones. Use earlier + new columns.",
            lambda earlier, new: torch.ones(new, new, dtype=torch.bool).tril(),
        ),
        mistake(
            "your mask also has rows for the earlier tokens",
            "Only the new tokens are queries. Use `new` rows.",
            lambda earlier, new: torch.ones(earlier + new, earlier + new, dtype=torch.bool).tril(),
        ),
        mistake(
            "your mask hides each token from itself",
            "A token may attend to itself. Keep the diagonal True.",
            lambda earlier, new: torch.ones(new, earlier + new, dtype=torch.bool).tril(earlier - 1),
        ),
        mistake(
            "your mask shows the future and hides the past",
            "True marks the keys a query may attend to. Keep the lower triangle, not the upper one.",
            lambda earlier, new: torch.ones(new, earlier + new, dtype=torch.bool).triu(earlier),
            lambda earlier, new: ~_mask(earlier, new),
        ),
        mistake(
            "your mask is transposed",
            "Rows are the new tokens, columns all tokens.",
            lambda earlier, new: torch.ones(earlier + new, new, dtype=torch.bool).tril(earlier).T,
        ),
        mistake(
            "your mask shows the next token",
            "A token may see itself and what comes before it.",
            lambda earlier, new: torch.ones(new, earlier + new, dtype=torch.bool).tril(earlier + 1),
        ),
    ),
)

PROJECTIONS = Exercise(
    id="A3.projections",
    reference=lambda source, tokens: (tokens * (tokens + 1) // 2 + tokens * source, tokens + source),
    inputs=((1, 1), (4, 3), (9, 9), (5, 30)),
    mistakes=(
        mistake(
            "your answer projects all tokens at each step",
            "At step t there are only t tokens. Sum 1 + 2 + … + tokens.",
            lambda source, tokens: (tokens * tokens + tokens * source, tokens + source),
        ),
        mistake(
            "your answer starts the sum at 0",
            "The first step already has one token, the start token. Sum 1 + 2 + … + tokens.",
            lambda source, tokens: (tokens * (tokens - 1) // 2 + tokens * source, tokens + source),
        ),
        mistake(
            "your answer projects the source once in both cases",
            "d2l's cross-attention gets the encoder's outputs at each step and projects them again "
            "every time.",
            lambda source, tokens: (tokens * (tokens + 1) // 2 + source, tokens + source),
        ),
        mistake(
            "your answer lets the cache project the source at each step",
            "Keys and values of the source do not change. Compute them once and keep them.",
            lambda source, tokens: (
                tokens * (tokens + 1) // 2 + tokens * source,
                tokens + tokens * source,
            ),
        ),
        mistake(
            "your answer forgets cross-attention",
            "It needs keys and values too: those of the source.",
            lambda source, tokens: (tokens * (tokens + 1) // 2, tokens),
        ),
    ),
)

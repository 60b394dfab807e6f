"""The KV cache: one step with it, and the positions of what is new."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.attention import attention
from course_lib.exercises.exercise import Answer, Exercise, mistake, normal

KeysValues = tuple[Tensor, Tensor]

POSITIONS = Exercise(
    id="06.positions",
    reference=lambda cached, new: list(range(cached, cached + new)),
    inputs=((0, 3), (3, 1), (4, 2)),
    mistakes=(
        mistake(
            "starts again at 0",
            "In the cache stand tokens already; a new one comes after them. With position 0 for everything "
            "that is read after the first step, the model no longer knows the order of its own words.",
            lambda cached, new: list(range(new)),
            lambda cached, new: [0] * new,
        ),
        mistake(
            "is one too high",
            "The first token of all has position 0, so a cache of 4 tokens holds the positions 0 to 3, and "
            "the next token has position 4.",
            lambda cached, new: list(range(cached + 1, cached + new + 1)),
        ),
        mistake(
            "is one too low",
            "A cache of 4 tokens holds the positions 0 to 3: the next token has position 4, not 3.",
            lambda cached, new: list(range(cached - 1, cached + new - 1)),
            lambda cached, new: list(range(max(cached - 1, 0), max(cached - 1, 0) + new)),
        ),
        mistake(
            "gives all new tokens the same position",
            "Several tokens may be read at once, as at the beginning. Each has a position of its own.",
            lambda cached, new: [cached] * new,
        ),
        mistake(
            "lists the old tokens, too",
            "Only the new tokens go through the blocks; those in the cache got their positions when they "
            "were read.",
            lambda cached, new: list(range(cached + new)),
        ),
    ),
)


def _joined(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return (k, v) if cache is None else (torch.cat([cache[0], k]), torch.cat([cache[1], v]))


def _cached(
    looked_at: Callable[..., KeysValues] = _joined, kept: Callable[..., KeysValues] = _joined
) -> Answer:
    """One step: what the query looks at, and what is handed on."""

    def step(q: Tensor, k: Tensor, v: Tensor, cache: KeysValues | None) -> tuple[Tensor, Tensor, Tensor]:
        return attention(q, *looked_at(cache, k, v))[0], *kept(cache, k, v)

    return step


def _only_new(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return k, v


def _only_old(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return cache or (k, v)


def _in_front(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return (k, v) if cache is None else (torch.cat([k, cache[0]]), torch.cat([v, cache[1]]))


def _values_forgotten(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return (k, v) if cache is None else (torch.cat([cache[0], k]), cache[1])


def _upper_left(q: Tensor, k: Tensor, v: Tensor, cache: KeysValues | None) -> tuple[Tensor, Tensor, Tensor]:
    keys, values = _joined(cache, k, v)
    triangle = torch.ones(1, len(keys), dtype=torch.bool).tril()
    return attention(q, keys, values, triangle)[0], keys, values


def _unscaled(q: Tensor, k: Tensor, v: Tensor, cache: KeysValues | None) -> tuple[Tensor, Tensor, Tensor]:
    return _cached()(q * math.sqrt(q.shape[-1]), k, v, cache)


def _token(seed: int, cached: int) -> tuple[Tensor, Tensor, Tensor, KeysValues | None]:
    """Query, key and value of one token, and the cache of those before it."""
    old = (normal(cached, 4, seed=seed + 3), normal(cached, 4, seed=seed + 4)) if cached else None
    return *(normal(1, 4, seed=seed + i) for i in range(3)), old


CACHE = Exercise(
    id="06.cache",
    reference=_cached(),
    inputs=(_token(0, cached=0), _token(10, cached=1), _token(20, cached=3)),
    mistakes=(
        mistake(
            "does not extend the cache",
            "The newest key and value must be handed on, too: at the next step this token belongs to the "
            "past.",
            _cached(kept=_only_old),
        ),
        mistake(
            "does not look at the newest token itself",
            "A token looks at those before it *and at itself*. Put its key and value into the cache first, "
            "then attend.",
            _cached(looked_at=_only_old),
            _cached(looked_at=_only_old, kept=_only_old),
        ),
        mistake(
            "looks at the newest token alone",
            "Then nothing of the past reaches it: the cache is what the query should look at.",
            _cached(looked_at=_only_new),
            _cached(looked_at=_only_new, kept=_only_new),
        ),
        mistake(
            "overwrites the cache",
            "The newest key and value come behind the old ones; they do not replace them.",
            _cached(kept=_only_new),
        ),
        mistake(
            "puts the newest token in front",
            "The averages are the same, but the cache is no longer in the order of the text: masks and "
            "positions would go wrong. Concatenate behind: torch.cat([old, new]).",
            _cached(kept=_in_front),
            _cached(looked_at=_in_front, kept=_in_front),
        ),
        mistake(
            "extends the keys and forgets the values",
            "Each key has its value. Extend both.",
            _cached(looked_at=_joined, kept=_values_forgotten),
        ),
        mistake(
            "masks with a triangle that begins at the upper left",
            "There is one query, and it belongs to the *last* key. A triangle for one row lets it see only "
            "the first. The newest token may look at everything in the cache, so no mask is needed.",
            _upper_left,
        ),
        mistake(
            "leaves out the 1/√d",
            "It is ordinary attention (chapter 1): scores are divided by the square root of the width.",
            _unscaled,
        ),
    ),
)

"""KV cache: one decoding step."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, whole
from course_lib.layers.multi_head_attention import attention

KeysValues = tuple[Tensor, Tensor]


def _appended(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return (k, v) if cache is None else (torch.cat([cache[0], k]), torch.cat([cache[1], v]))


def _cached(
    attended: Callable[..., KeysValues] = _appended, cached_pairs: Callable[..., KeysValues] = _appended
) -> Answer:
    """One decoding step: the keys and values that the query attends to, and those that are returned."""

    def step(q: Tensor, k: Tensor, v: Tensor, cache: KeysValues | None) -> tuple[Tensor, Tensor, Tensor]:
        return F.scaled_dot_product_attention(q, *attended(cache, k, v)), *cached_pairs(cache, k, v)

    return step


def _only_new(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return k, v


def _only_old(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return cache or (k, v)


def _prepended(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return (k, v) if cache is None else (torch.cat([k, cache[0]]), torch.cat([v, cache[1]]))


def _values_forgotten(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return (k, v) if cache is None else (torch.cat([cache[0], k]), cache[1])


def _swapped(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return (k, v) if cache is None else (torch.cat([cache[1], k]), torch.cat([cache[0], v]))


def _crossed(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return (k, v) if cache is None else (torch.cat([cache[1], v]), torch.cat([cache[0], k]))


def _joined_features(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return (k, v) if cache is None else (torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1))


def _same_old(part: int) -> Callable[..., KeysValues]:
    """Keys and values that both continue this part of the cache."""
    return lambda cache, k, v: (
        (k, v) if cache is None else (torch.cat([cache[part], k]), torch.cat([cache[part], v]))
    )


def _same_new(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return (k, v) if cache is None else (torch.cat([cache[0], k]), torch.cat([cache[1], k]))


def _stacked(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return (k, v) if cache is None else (torch.stack([cache[0], k]), torch.stack([cache[1], v]))


def _added(cache: KeysValues | None, k: Tensor, v: Tensor) -> KeysValues:
    return (k, v) if cache is None else (cache[0] + k, cache[1] + v)


def _upper_left(q: Tensor, k: Tensor, v: Tensor, cache: KeysValues | None) -> tuple[Tensor, Tensor, Tensor]:
    keys, values = _appended(cache, k, v)
    triangle = torch.ones(1, len(keys), dtype=torch.bool).tril()
    return attention(q, keys, values, triangle)[0], keys, values


def _unscaled(q: Tensor, k: Tensor, v: Tensor, cache: KeysValues | None) -> tuple[Tensor, Tensor, Tensor]:
    return _cached()(q * math.sqrt(q.shape[-1]), k, v, cache)


def _token(seed: int, cached: int) -> tuple[Tensor, Tensor, Tensor, KeysValues | None]:
    """Query, key and value of one token, and the cache of the previous tokens."""
    old = (whole(cached, 4, seed=seed + 3), whole(cached, 4, seed=seed + 4)) if cached else None
    return *(whole(1, 4, seed=seed + i) for i in range(3)), old


CACHE = Exercise(
    id="06b.cache",
    reference=_cached(),
    inputs=(_token(0, cached=0), _token(10, cached=1), _token(20, cached=3)),
    mistakes=(
        mistake(
            "your code does not extend the cache",
            "At the next step, this token is part of the past. Return a cache that includes its key "
            "and value.",
            _cached(cached_pairs=_only_old),
        ),
        mistake(
            "your code does not let the token attend to itself",
            "A token attends to the previous tokens *and to itself*. Append its key and value to the "
            "cache first, then attend.",
            _cached(attended=_only_old),
            _cached(attended=_only_old, cached_pairs=_only_old),
        ),
        mistake(
            "your code lets the newest token attend only to itself",
            "Then nothing from the past reaches it. The query must attend to the whole cache.",
            _cached(attended=_only_new),
            _cached(attended=_only_new, cached_pairs=_only_new),
        ),
        mistake(
            "your code overwrites the cache",
            "The new key and value do not replace the old ones. Append them.",
            _cached(cached_pairs=_only_new),
        ),
        mistake(
            "your code puts the newest token first",
            "The averages are the same, but the cache is no longer in text order, so masks and "
            "positions would go wrong. Append it: torch.cat([old, new]).",
            _cached(cached_pairs=_prepended),
            _cached(attended=_prepended, cached_pairs=_prepended),
        ),
        mistake(
            "your code extends the keys but not the values",
            "Each key needs its value. Extend both.",
            _cached(attended=_appended, cached_pairs=_values_forgotten),
        ),
        mistake(
            "your code swaps keys and values",
            "`cache` is (keys, values): cache[0] belongs to k, cache[1] to v.",
            _cached(attended=_swapped, cached_pairs=_swapped),
            _cached(attended=_crossed, cached_pairs=_crossed),
            lambda q, k, v, cache: _cached()(q, v, k, cache),
            lambda q, k, v, cache: (lambda out, k, v: (out, v, k))(*_cached()(q, k, v, cache)),
        ),
        mistake(
            "your code does not append along the axis of the tokens",
            "The cache is (tokens, d_head), and the new key (1, d_head). Append it as one more row: "
            "torch.cat along dim=0, its default.",
            _cached(attended=_joined_features, cached_pairs=_joined_features),
            _cached(attended=_stacked, cached_pairs=_stacked),
        ),
        mistake(
            "your code adds the new key and value to the old ones",
            "`+` adds numbers. To make the list of keys longer, use torch.cat([cache[0], k]).",
            _cached(attended=_added, cached_pairs=_added),
        ),
        mistake(
            "your code uses a triangular mask aligned to the upper left",
            "The single query belongs to the *last* key, but one row of that triangle lets it see only "
            "the first. The newest token may attend to the whole cache, so no mask is needed.",
            _upper_left,
        ),
        mistake(
            "your code leaves out the factor 1/√d",
            "This is ordinary scaled dot-product attention (chapter 1). Divide the scores by √d.",
            _unscaled,
        ),
        mistake(
            "your code uses the same tensor for keys and values",
            "cache[0] and k are keys, cache[1] and v are values. Extend each with its own.",
            _cached(attended=_same_old(0), cached_pairs=_same_old(0)),
            _cached(attended=_same_old(1), cached_pairs=_same_old(1)),
            _cached(attended=_same_new, cached_pairs=_same_new),
        ),
    ),
)

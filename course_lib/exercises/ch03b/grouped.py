"""Grouped-query attention."""

import torch.nn.functional as F

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal, whole


def _with_heads(choose: Answer) -> Answer:
    """Attention whose keys and values are first brought to the number of query heads by `choose`."""

    def grouped(q, k, v):
        group = q.shape[1] // k.shape[1]
        return F.scaled_dot_product_attention(q, choose(k, group), choose(v, group))

    return grouped


def _repeated(x, group):
    return x.repeat_interleave(group, dim=1)


def _dealt(x, group):
    return x.repeat(1, group, 1, 1)


def _keys_and_values(keys: Answer, values: Answer) -> Answer:
    """Attention with one way to repeat the keys, and another one for the values."""

    def grouped(q, k, v):
        group = q.shape[1] // k.shape[1]
        return F.scaled_dot_product_attention(q, keys(k, group), values(v, group))

    return grouped


GROUPED = Exercise(
    id="03b.grouped",
    reference=lambda q, k, v: _with_heads(lambda x, group: x.repeat_interleave(group, dim=1))(q, k, v),
    inputs=(
        (whole(1, 4, 1, 1, seed=1), whole(1, 2, 2, 1, seed=2), whole(1, 2, 2, 1, seed=4)),
        (normal(1, 4, 3, 2), normal(1, 2, 3, 2, seed=1), normal(1, 2, 3, 2, seed=2)),
        (normal(2, 6, 3, 4), normal(2, 3, 5, 4, seed=1), normal(2, 3, 5, 4, seed=2)),
        (normal(2, 4, 3, 4), normal(2, 1, 5, 4, seed=1), normal(2, 1, 5, 4, seed=2)),
    ),
    mistakes=(
        mistake(
            "your code gives neighboring query heads different key-value heads",
            "With 4 query heads and 2 key-value heads, heads 0 and 1 share the first and 2 and 3 the second. "
            "repeat counts 0, 1, 0, 1; repeat_interleave counts 0, 0, 1, 1.",
            _with_heads(lambda x, group: x.repeat(1, group, 1, 1)),
            _keys_and_values(_dealt, _repeated),
            _keys_and_values(_repeated, _dealt),
        ),
        mistake(
            "your code uses only the first key-value head",
            "All key-value heads are used, each by its own group of query heads. Repeat each of them "
            "heads / kv_heads times.",
            _with_heads(lambda x, group: x[:, :1].expand(-1, x.shape[1] * group, -1, -1)),
        ),
        mistake(
            "your code averages the key-value heads",
            "That is one key-value head for everybody. Each group of query heads keeps its own.",
            _with_heads(lambda x, group: x.mean(1, keepdim=True).expand(-1, x.shape[1] * group, -1, -1)),
        ),
        mistake(
            "your code averages the query heads of a group",
            "The query heads stay different, or nothing would be gained by having several. Repeat the keys "
            "and values instead.",
            lambda q, k, v: F.scaled_dot_product_attention(
                q.unflatten(1, (k.shape[1], -1)).mean(dim=2), k, v
            ),
        ),
        mistake(
            "your code does not scale",
            "Divide the scores by √d_head, as in every head.",
            lambda q, k, v: F.scaled_dot_product_attention(
                q * q.shape[-1] ** 0.5, *(x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
            ),
        ),
        mistake(
            "your code does not repeat the key-value heads",
            "Each key-value head serves a group of query heads. Repeat keys and values: "
            "repeat_interleave(group, dim=1).",
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        ),
    ),
)

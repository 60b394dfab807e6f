"""Hard and soft lookup: the value of the best-matching key, and the weighted average of all values."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal
from course_lib.layers.multi_head_attention import attention

CROSS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])  # keys that point right, up, left
NUMBERS = torch.tensor([[10.0], [20.0], [60.0]])


def _hard(choose: str = "argmax", dim: int = -1, of: str = "values") -> Answer:
    def look_up(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.transpose(-2, -1)
        best = getattr(scores, choose)(dim=dim)
        return {"values": v, "keys": k}[of][best]

    return look_up


def _most_similar_key(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return v[torch.cosine_similarity(q[:, None], k, dim=-1).argmax(dim=-1)]


def _nearest_key(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return v[(k - q[:, None]).norm(dim=-1).argmin(dim=-1)]


HARD = Exercise(
    id="00.hard",
    reference=_hard(),
    inputs=(
        (torch.tensor([[0.1, 2.0]]), CROSS, NUMBERS),
        (torch.tensor([[3.0, 0.2], [-1.0, 0.5]]), CROSS, NUMBERS),
        (torch.tensor([[1.0, 0.9]]), torch.tensor([[1.0, 1.0], [5.0, 1.0]]), NUMBERS[:2]),
        (torch.tensor([[1.0, 0.0]]), torch.tensor([[9.0, 8.0], [0.1, 0.0], [1.0, 0.3]]), NUMBERS),
        (normal(4, 6), normal(5, 6, seed=1), normal(5, 3, seed=2)),
    ),
    mistakes=(
        mistake(
            "your code takes the key with the smallest score",
            "A large dot product means a good match. Use argmax, not argmin.",
            _hard("argmin"),
        ),
        mistake(
            "your code searches for the best query for each key",
            "The scores have one row per query and one column per key. Look for the best key along the "
            "row: dim=-1.",
            _hard(dim=0),
        ),
        mistake(
            "your code takes one best key for all queries",
            "Without `dim`, argmax searches the whole matrix. Each query has its own best key: use dim=-1.",
            lambda q, k, v: v[(q @ k.T).argmax() % len(k)],
            lambda q, k, v: v[(q @ k.T).argmax()],
        ),
        mistake(
            "your code returns the key instead of its value",
            "The key only tells where to look. Return the row of v with the same index.",
            _hard(of="keys"),
        ),
        mistake(
            "your code returns the index of the best key",
            "argmax finds the row. Return the value in that row, v[row].",
            lambda q, k, v: (q @ k.T).argmax(dim=-1),
        ),
        mistake(
            "your code returns the score of the best key",
            "The score tells how well the key matches. Return the value in its row instead.",
            lambda q, k, v: (q @ k.T).max(dim=-1).values,
            lambda q, k, v: (q @ k.T).amax(dim=-1, keepdim=True),
        ),
        mistake(
            "your code takes the key with the smallest distance",
            "Distance and dot product agree only if all keys have the same length. Here the score is "
            "the dot product, so a long key can win from further away.",
            _nearest_key,
        ),
        mistake(
            "your code compares directions only, by the cosine similarity",
            "Dividing by the lengths of the vectors discards the length of the key, which is part of the dot "
            "product. Take the plain dot products, q @ k.T.",
            _most_similar_key,
        ),
        mistake(
            "your code averages the values",
            "That is the soft lookup of attention. A hard lookup returns only the value of the best match.",
            lambda q, k, v: attention(q, k, v)[0],
            lambda q, k, v: (q @ k.T).softmax(dim=-1) @ v,
        ),
        mistake(
            "your code ignores the sign of the scores",
            "A large negative dot product is the worst match, not the best. Take the argmax of the scores "
            "as they are.",
            lambda q, k, v: v[(q @ k.T).abs().argmax(dim=-1)],
        ),
        mistake(
            "your code weights the values by the scores",
            "A hard lookup returns one value unchanged: that of the key with the largest score.",
            lambda q, k, v: q @ k.T @ v,
        ),
    ),
)

AVERAGE = Exercise(
    id="00.average",
    reference=lambda weights, v: weights @ v,
    inputs=(
        (torch.tensor([[0.25, 0.5, 0.25]]), NUMBERS),
        (torch.tensor([[0.2, 0.8], [0.5, 0.5]]), torch.tensor([[1.0, 0.0], [4.0, 2.0]])),
        (normal(4, 5).softmax(dim=-1), normal(5, 3, seed=1)),
    ),
    mistakes=(
        mistake(
            "your code gives all keys the same weight",
            "The plain mean is the same for every query. Multiply each value by its own weight, then add.",
            lambda weights, v: v.mean(dim=0).expand(len(weights), -1),
        ),
        mistake(
            "your code applies a softmax to the weights",
            "They already are weights: each row sums to 1. Another softmax makes them nearly equal. Multiply "
            "the values by the weights as they are.",
            lambda weights, v: weights.softmax(dim=-1) @ v,
        ),
        mistake(
            "your code divides by the number of keys",
            "The weights in a row already sum to 1, so the weighted sum is the average. Leave out the "
            "division.",
            lambda weights, v: weights @ v / len(v),
            lambda weights, v: (weights[:, :, None] * v).mean(dim=1),
        ),
        mistake(
            "your code reads the weights by columns",
            "Row i of `weights` belongs to query i and tells how much of each value it takes. Do not "
            "transpose.",
            lambda weights, v: weights.T @ v,
        ),
        mistake(
            "your code adds the values without their weights",
            "Then every value counts fully for every query. Multiply each value by its weight first.",
            lambda weights, v: v.sum(dim=0).expand(len(weights), -1),
        ),
        mistake(
            "your code takes only the value with the largest weight",
            "That is the hard lookup. Here every value contributes, in proportion to its weight.",
            lambda weights, v: v[weights.argmax(dim=-1)],
        ),
        mistake(
            "your code does not sum over the keys",
            "The products of weights and values still have one entry per key. Sum over that axis.",
            lambda weights, v: weights[:, :, None] * v,
        ),
        mistake(
            "your code normalizes each key's weights",
            "Each query's weights, a row, already sum to 1. Dividing by the sums of the columns "
            "destroys that. Multiply the weights by v.",
            lambda weights, v: (weights / weights.sum(0)) @ v,
        ),
    ),
)


def _sharp(change: str) -> Answer:
    def look_up(q: Tensor, k: Tensor, v: Tensor, sharpness: float) -> Tensor:
        factors = {name: sharpness if name in change.split() else 1.0 for name in ("q", "k", "v", "out")}
        averages, _ = attention(factors["q"] * q, factors["k"] * k, factors["v"] * v)
        return factors["out"] * averages

    return look_up


SHARP = Exercise(
    id="00.sharp",
    reference=_sharp("q"),
    inputs=(
        (torch.tensor([[0.5, 1.0]]), CROSS, NUMBERS, 1.0),
        (torch.tensor([[0.5, 1.0]]), CROSS, NUMBERS, 3.0),
        (torch.tensor([[0.5, 1.0]]), CROSS, NUMBERS, 0.0),
        (normal(4, 6), normal(5, 6, seed=1), normal(5, 3, seed=2), 10.0),
    ),
    mistakes=(
        mistake(
            "your answer is the same for every sharpness",
            "The scores must depend on `sharpness`. A score is a dot product, so it is enough to "
            "multiply the query.",
            _sharp(""),
        ),
        mistake(
            "your code scales the output instead of the scores",
            "A factor on the values or on the result does not change the weights. Multiply the scores, "
            "or the query, instead.",
            _sharp("v"), _sharp("out"),
        ),
        mistake(
            "your code multiplies both the queries and the keys",
            "The score is their product, so it grows with the square of `sharpness`. Multiply only one "
            "of them.",
            _sharp("q k"),
        ),
        mistake(
            "your code divides by the sharpness",
            "Larger scores differ more, so softmax favors the best match more. Multiply, because "
            "dividing blurs the lookup.",
            lambda q, k, v, sharpness: attention(q / sharpness, k, v)[0],
            lambda q, k, v, sharpness: attention(q, k / sharpness, v)[0],
        ),
        mistake(
            "your code adds the sharpness instead of multiplying",
            "Adding a number to the query changes its direction, so it looks for a different key. "
            "Multiply the query instead.",
            lambda q, k, v, sharpness: attention(q + sharpness, k, v)[0],
        ),
        mistake(
            "your code computes the attention itself, without the division by √d",
            "`attention` divides the scores by √d, for a reason that chapter 1 explains. Pass it a longer "
            "query: attention(sharpness * q, k, v).",
            lambda q, k, v, sharpness: (sharpness * q @ k.transpose(-2, -1)).softmax(dim=-1) @ v,
        ),
        mistake(
            "your code raises the weights to a power without normalizing",
            "weights**sharpness has the right ratios, but no longer sums to 1. Multiply the scores instead: "
            "attention(sharpness * q, k, v).",
            lambda q, k, v, sharpness: attention(q, k, v)[1] ** sharpness @ v,
        ),
        mistake(
            "your code returns the weights as well",
            "`attention` returns the averages and the weights. Return only the averages.",
            lambda q, k, v, sharpness: attention(sharpness * q, k, v),
        ),
        mistake(
            "your code returns the weights instead of the averages",
            "The weights tell where the query looks. Return the averages of the values.",
            lambda q, k, v, sharpness: attention(sharpness * q, k, v)[1],
        ),
    ),
)  # fmt: skip

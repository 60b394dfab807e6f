"""Looking values up by their keys: the best match alone, and the average of all."""

import torch
from torch import Tensor

from course_lib.attention import attention
from course_lib.exercises.exercise import Answer, Exercise, mistake, normal

CROSS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])  # three keys: right, up, left
NUMBERS = torch.tensor([[10.0], [20.0], [60.0]])


def _hard(choose: str = "argmax", dim: int = -1, of: str = "values") -> Answer:
    def look_up(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.transpose(-2, -1)
        best = getattr(scores, choose)(dim=dim)
        return {"values": v, "keys": k}[of][best]

    return look_up


def _nearest_to_length(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return v[(k - q[:, None]).norm(dim=-1).argmin(dim=-1)]


HARD = Exercise(
    id="00.hard",
    reference=_hard(),
    inputs=(
        (torch.tensor([[0.1, 2.0]]), CROSS, NUMBERS),
        (torch.tensor([[3.0, 0.2], [-1.0, 0.5]]), CROSS, NUMBERS),
        (torch.tensor([[1.0, 0.9]]), torch.tensor([[1.0, 1.0], [5.0, 1.0]]), NUMBERS[:2]),
        (normal(4, 6), normal(5, 6, seed=1), normal(5, 3, seed=2)),
    ),
    mistakes=(
        mistake(
            "takes the key with the smallest score",
            "A large dot product means a good match: argmax, not argmin.",
            _hard("argmin"),
        ),
        mistake(
            "asks which query suits each key",
            "The scores have one row for each query and one column for each key. The best key of a query is "
            "found along its row: dim=-1.",
            _hard(dim=0),
        ),
        mistake(
            "takes one best key for all queries together",
            "argmax without dim looks through the whole table. Each query has its own best key: dim=-1.",
            lambda q, k, v: v[(q @ k.T).argmax() % len(k)],
        ),
        mistake(
            "returns the key instead of its value",
            "The key only says where to look. What comes back is the value in the same row.",
            _hard(of="keys"),
        ),
        mistake(
            "returns the place of the best key",
            "argmax gives the row; the value is v[row].",
            lambda q, k, v: (q @ k.T).argmax(dim=-1),
        ),
        mistake(
            "returns the score of the best key",
            "The score says how well the key matches. What comes back is the value in its row.",
            lambda q, k, v: (q @ k.T).max(dim=-1).values,
            lambda q, k, v: (q @ k.T).amax(dim=-1, keepdim=True),
        ),
        mistake(
            "takes the key at the smallest distance",
            "Distance and dot product agree only for keys of equal length. Here the score is the dot "
            "product, and a long key may win from further away.",
            _nearest_to_length,
        ),
        mistake(
            "averages the values",
            "This look-up takes the best match alone; the average is the soft look-up of attention.",
            lambda q, k, v: attention(q, k, v)[0],
            lambda q, k, v: (q @ k.T).softmax(dim=-1) @ v,
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
            "gives all keys the same weight",
            "The plain mean does not depend on the query. Multiply each value by its own weight, then add.",
            lambda weights, v: v.mean(dim=0).expand(len(weights), -1),
        ),
        mistake(
            "divides by the number of keys once more",
            "The weights of a row sum to 1 already: the weighted sum is the average.",
            lambda weights, v: weights @ v / len(v),
            lambda weights, v: (weights[:, :, None] * v).mean(dim=1),
        ),
        mistake(
            "reads the weights by columns",
            "Row i of the weights belongs to query i and says how much of each value it takes. Do not "
            "transpose.",
            lambda weights, v: weights.T @ v,
        ),
        mistake(
            "adds the values up without their weights",
            "Every value then counts fully for every query.",
            lambda weights, v: v.sum(dim=0).expand(len(weights), -1),
        ),
        mistake(
            "takes only the value with the largest weight",
            "That is the hard look-up. All values come back, each with its weight.",
            lambda weights, v: v[weights.argmax(dim=-1)],
        ),
        mistake(
            "does not add over the keys",
            "The products of weights and values still have one entry for each key: sum over that axis.",
            lambda weights, v: weights[:, :, None] * v,
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
            "is the same at every sharpness",
            "Multiply the scores; since a score is a dot product, it is enough to multiply the query.",
            _sharp(""),
        ),
        mistake(
            "makes the answers larger instead of sharper",
            "A factor on the values, or on the result, leaves the weights as they are.",
            _sharp("v"), _sharp("out"),
        ),
        mistake(
            "multiplies both queries and keys",
            "The score is the product of the two, so it grows with the square of the sharpness.",
            _sharp("q k"),
        ),
        mistake(
            "divides by the sharpness",
            "Larger scores lie further apart, and softmax prefers the best match more. Dividing blurs.",
            lambda q, k, v, sharpness: attention(q / sharpness, k, v)[0],
            lambda q, k, v, sharpness: attention(q, k / sharpness, v)[0],
        ),
        mistake(
            "adds the sharpness instead of multiplying",
            "A number added to the query turns it into another direction, and it looks for another key.",
            lambda q, k, v, sharpness: attention(q + sharpness, k, v)[0],
        ),
        mistake(
            "returns the weights as well",
            "`attention` returns two things, the averages and the weights; asked are the averages.",
            lambda q, k, v, sharpness: attention(sharpness * q, k, v),
        ),
        mistake(
            "returns the weights instead of the averages",
            "The weights say where it looks. What comes back are the averages of the values.",
            lambda q, k, v, sharpness: attention(sharpness * q, k, v)[1],
        ),
    ),
)  # fmt: skip

"""One attention head: its formula, and a head that subtracts through its weights."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal, whole


def _average(q: Tensor, k: Tensor, v: Tensor, divisor: float | int, dim: int = -1) -> Tensor:
    return (q @ k.transpose(-2, -1) / divisor).softmax(dim) @ v


def _inputs(tokens: int, d_model: int, d_head: int, d_value: int, seed: int) -> tuple[Tensor, ...]:
    shapes = (tokens, d_model), (d_model, d_head), (d_model, d_head), (d_model, d_value)
    return tuple(normal(*shape, seed=seed + i) for i, shape in enumerate(shapes))


_SMALL = (torch.tensor([[1.0, 0.0], [0.0, 2.0]]), *(whole(2, 2, seed=seed) for seed in (5, 4, 6)))


HEAD = Exercise(
    id="03.head",
    reference=lambda x, w_q, w_k, w_v: _average(x @ w_q, x @ w_k, x @ w_v, math.sqrt(w_q.shape[-1])),
    inputs=(_SMALL, _inputs(3, 4, 4, 4, 0), _inputs(3, 6, 2, 6, 10), _inputs(5, 8, 3, 4, 20)),
    mistakes=(
        mistake(
            "your code scales by the width of x",
            "A dot product has as many terms as q has features, so its variance grows with the width of q. "
            "Divide by q.shape[-1] ** 0.5, not by x.shape[-1] ** 0.5.",
            lambda x, w_q, w_k, w_v: _average(x @ w_q, x @ w_k, x @ w_v, math.sqrt(x.shape[-1])),
        ),
        mistake(
            "your code multiplies by the transposed matrices",
            "Each column of w_q makes one feature of the queries: x @ w_q. Only nn.Linear stores its weight "
            "the other way around, as (outputs, inputs).",
            lambda x, w_q, w_k, w_v: _average(x @ w_q.T, x @ w_k.T, x @ w_v.T, math.sqrt(w_q.shape[-1])),
            lambda x, w_q, w_k, w_v: _average(x @ w_q.T, x @ w_k.T, x @ w_v, math.sqrt(w_q.shape[-1])),
            lambda x, w_q, w_k, w_v: _average(x @ w_q.T, x @ w_k, x @ w_v, math.sqrt(w_q.shape[-1])),
            lambda x, w_q, w_k, w_v: _average(x @ w_q, x @ w_k.T, x @ w_v, math.sqrt(w_q.shape[-1])),
            lambda x, w_q, w_k, w_v: _average(x @ w_q, x @ w_k, x @ w_v.T, math.sqrt(w_q.shape[-1])),
        ),
        mistake(
            "your code leaves out the projections",
            "Queries, keys and values are x @ w_q, x @ w_k and x @ w_v. Without the matrices, any two "
            "tokens give each other the same score.",
            lambda x, w_q, w_k, w_v: _average(x, x, x @ w_v, math.sqrt(x.shape[-1])),
            lambda x, w_q, w_k, w_v: _average(x, x, x, math.sqrt(x.shape[-1])),
        ),
        mistake(
            "your code takes the softmax over the queries",
            "The weights of each query must sum to 1 over the keys: the last axis of the scores, dim=-1.",
            lambda x, w_q, w_k, w_v: _average(x @ w_q, x @ w_k, x @ w_v, math.sqrt(w_q.shape[-1]), 0),
        ),
        mistake(
            "your code averages x, not v",
            "x is what the tokens are; x @ w_v is what they pass on. Multiply the weights with the values.",
            lambda x, w_q, w_k, w_v: _average(x @ w_q, x @ w_k, x, math.sqrt(w_q.shape[-1])),
        ),
        mistake(
            "your code does not scale",
            "Divide the scores by the root of the queries' width before the softmax.",
            lambda x, w_q, w_k, w_v: _average(x @ w_q, x @ w_k, x @ w_v, 1),
        ),
        mistake(
            "your code divides by the width instead of its root",
            "The standard deviation of a dot product grows with √d_head, so divide by the root.",
            lambda x, w_q, w_k, w_v: _average(x @ w_q, x @ w_k, x @ w_v, w_q.shape[-1]),
        ),
        mistake(
            "your code scales after the softmax",
            "There it only shrinks the result. Divide the scores, so that it changes the weights.",
            lambda x, w_q, w_k, w_v: (
                _average(x @ w_q, x @ w_k, x @ w_v, 1) / math.sqrt(w_q.shape[-1])
            ),
        ),
        mistake(
            "your code skips the softmax",
            "Scores may be negative and do not sum to 1. Apply softmax(dim=-1) to get weights.",
            lambda x, w_q, w_k, w_v: (
                (x @ w_q) @ (x @ w_k).T / math.sqrt(w_q.shape[-1]) @ (x @ w_v)
            ),
        ),
        mistake(
            "your code swaps queries and keys",
            "Rows of the scores belong to queries: q @ k.T. With k @ q.T, row i says who looks at token i.",
            lambda x, w_q, w_k, w_v: _average(x @ w_k, x @ w_q, x @ w_v, math.sqrt(w_q.shape[-1])),
        ),
        mistake(
            "your code returns the weights",
            "The weights say where to look. Multiply them with the values to get the result.",
            lambda x, w_q, w_k, w_v: (
                ((x @ w_q) @ (x @ w_k).T / math.sqrt(w_q.shape[-1])).softmax(dim=-1)
            ),
        ),
        mistake(
            "your code multiplies the matrices from the wrong side",
            "Each token is a row of x, so the matrix is on the right: x @ w_q.",
            lambda x, w_q, w_k, w_v: _average(w_q @ x, w_k @ x, w_v @ x, math.sqrt(w_q.shape[-1])),
        ),
        mistake(
            "your code scales by the number of tokens",
            "A dot product has as many terms as q has features, whatever the number of tokens. Divide by "
            "q.shape[-1] ** 0.5.",
            lambda x, w_q, w_k, w_v: _average(x @ w_q, x @ w_k, x @ w_v, math.sqrt(len(x))),
        ),
        mistake(
            "your code uses one matrix twice",
            "Queries, keys and values each have their own matrix: w_q, w_k and w_v.",
            lambda x, w_q, w_k, w_v: _average(x @ w_q, x @ w_k, x @ w_q, math.sqrt(w_q.shape[-1])),
            lambda x, w_q, w_k, w_v: _average(x @ w_q, x @ w_k, x @ w_k, math.sqrt(w_q.shape[-1])),
            lambda x, w_q, w_k, w_v: _average(x @ w_q, x @ w_q, x @ w_v, math.sqrt(w_q.shape[-1])),
            lambda x, w_q, w_k, w_v: _average(x @ w_k, x @ w_k, x @ w_v, math.sqrt(w_q.shape[-1])),
            lambda x, w_q, w_k, w_v: _average(x @ w_v, x @ w_v, x @ w_v, math.sqrt(w_v.shape[-1])),
        ),
        mistake(
            "your code has a causal mask",
            "Here every token may look at every other, also at later ones. Leave out the mask.",
            lambda x, q, k, v: F.scaled_dot_product_attention(x @ q, x @ k, x @ v, is_causal=True),
        ),
        mistake(
            "your code transposes the weights",
            "Row i of the weights belongs to query i. Multiply the weights by the values as they are.",
            lambda x, q, k, v: ((x @ q) @ (x @ k).T / q.shape[-1] ** 0.5).softmax(-1).T @ (x @ v),
        ),
    ),
)  # fmt: skip


def _subtraction(left: int, right: int) -> tuple[Tensor]:
    """The three tokens of `left − right`, as in the notebook: the number, then the position, one-hot."""
    return (torch.tensor([[float(left), 1, 0, 0], [0, 0, 1, 0], [right, 0, 0, 1]]),)


def _leaking(small: float, size: float) -> Answer:
    """A head whose scores are `small` times the numbers, and whose values are ±`size`, by position."""

    def head(x: Tensor) -> float:
        weights = (small * x[:, 0]).softmax(dim=0)
        return (weights @ (size * x[:, 1:] @ torch.tensor([1.0, 0.0, -1.0]))).item()

    return head


FAR = 1_000_000_000


def _as_a_head(head: Answer, x: Tensor) -> Any:
    """The head's answer, or whether its values limit it: for large numbers, it cannot be the difference."""
    answer = head(x)
    if x[0, 0] < FAR:
        return answer
    return "limited by its values" if abs(answer) < FAR / 2 else "not limited by any values"


LOOPHOLE = Exercise(
    id="03.loophole",
    reference=lambda x: _leaking(0.001, 3000.0)(x),
    run=_as_a_head,
    inputs=tuple(_subtraction(*pair) for pair in ((6, 2), (5, 3), (4, 4), (9, 0), (0, 9), (FAR, 0))),
    tolerance=0.02,
    mistakes=(
        mistake(
            "your head computes right − left",
            "Swap the signs of the values: the left position needs the positive one.",
            _leaking(0.001, -3000.0),
        ),
        mistake(
            "your head forgets that the minus sign gets a third of the weight",
            "Three weights share the sum, so the difference of two of them is about (s_left − s_right) / 3. "
            "Make the values 3 / s, where s is what you multiply the numbers with.",
            _leaking(0.001, 2000.0),
            _leaking(0.001, 1000.0),
        ),
        mistake(
            "your head forgets the scaling by √d_head",
            "Attention divides the scores by √d_head before the softmax. Make the "
            "query, or the values, √d_head times as large.",
            _leaking(0.001, 1500.0),
        ),
        mistake(
            "your scores are too large",
            "exp(s) is close to 1 + s only for small s. Then the weights change in proportion to the "
            "numbers. Make the scores smaller, and the values larger by the same factor.",
            _leaking(1.0, 3.0),
            _leaking(0.1, 30.0),
        ),
        mistake(
            "your function subtracts the numbers itself",
            "It must be a head: weights from a softmax times constant values, never larger than the largest "
            "value. Yours still returns the difference for a billion minus 0.",
            lambda x: (x[0, 0] - x[2, 0]).item(),
        ),
        mistake(
            "your head returns an average of the numbers",
            "Section 2 shows why that cannot work. Let the numbers set the weights, and let the values be "
            "constants that depend on the position.",
            lambda x: x[[0, 2], 0].mean().item(),
            lambda x: x[:, 0].mean().item(),
        ),
        mistake(
            "your head gives both numbers the same sign",
            "That adds them. The value of the left position must be positive, that of the right negative.",
            lambda x: x[:, 0].sum().item(),
        ),
        mistake(
            "your values are too small",
            "The two weights differ by only about s · (left − right) / 3. Make the values 3 / s, so that "
            "this becomes left − right.",
            _leaking(0.001, 1.0),
            _leaking(0.001, 3.0),
            _leaking(0.001, 10.0),
        ),
    ),
)  # fmt: skip

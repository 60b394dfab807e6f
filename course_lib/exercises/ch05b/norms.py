"""RMSNorm, and attention with QK-norm."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal
from course_lib.exercises.watching import without

EPS = 1e-5


def _rms(x: Tensor, axis: int = -1) -> Tensor:
    return torch.sqrt(x.square().mean(axis, keepdim=True) + EPS)


def _rms_norm(divisor: Callable[[Tensor], Tensor] = _rms) -> Answer:
    return lambda x, gain: x / divisor(x) * gain


RMS_NORM = Exercise(
    id="05b.rms_norm",
    reference=lambda x, gain: _rms_norm()(x, gain),
    run=without("rms_norm", "_fused_rms_norm"),
    inputs=(
        (torch.tensor([[[1.0, 1.0, 7.0, 7.0], [2.0, 4.0, 4.0, 2.0]]]), torch.ones(4)),
        (torch.tensor([[[0.0, 0.0, 0.0], [0.0, 0.003, 0.006]]]), torch.ones(3)),
        (normal(2, 3, 4) + 1, normal(4, seed=1)),
        (normal(1, 3, 3) + 1, normal(3, seed=1)),  # fits even without keepdim
    ),
    mistakes=(
        mistake(
            "your code subtracts the mean",
            "That is LayerNorm. RMSNorm divides only: it keeps the mean where it is.",
            lambda x, gain: F.layer_norm(x, x.shape[-1:], eps=EPS) * gain,
            lambda x, gain: (x - x.mean(-1, keepdim=True)) / _rms(x) * gain,
        ),
        mistake(
            "your code divides by the standard deviation",
            "The standard deviation is measured from the mean. RMSNorm takes the mean of the squares of x "
            "itself.",
            _rms_norm(lambda x: torch.sqrt(x.var(-1, correction=0, keepdim=True) + EPS)),
            _rms_norm(lambda x: x.std(-1, keepdim=True) + EPS),
            _rms_norm(lambda x: x.std(-1, keepdim=True)),
            _rms_norm(lambda x: torch.sqrt(x.var(-1, keepdim=True) + EPS)),
        ),
        mistake(
            "your code divides by the mean square instead of its root",
            "Then doubling x halves the result. Take the square root.",
            _rms_norm(lambda x: x.square().mean(-1, keepdim=True) + EPS),
        ),
        mistake(
            "your code divides by the root of the sum, not of the mean",
            "That gives vectors of length 1, whose features shrink as d_model grows. Use the mean of the "
            "squares.",
            _rms_norm(lambda x: torch.sqrt(x.square().sum(-1, keepdim=True) + EPS)),
            _rms_norm(lambda x: x.norm(dim=-1, keepdim=True)),
            lambda x, gain: F.normalize(x, dim=-1) * gain,
        ),
        mistake(
            "your code calls PyTorch's RMSNorm",
            "This time, write it yourself: divide x by the root of the mean of its squares.",
            lambda x, gain: F.rms_norm(x, x.shape[-1:], gain, EPS),
        ),
        mistake(
            "your code adds ε outside the root",
            "The formula is √(mean(x²) + ε). Inside the root ε acts like √ε = 0.003; outside it is only "
            "0.00001.",
            _rms_norm(lambda x: torch.sqrt(x.square().mean(-1, keepdim=True)) + EPS),
        ),
        mistake(
            "your code averages over the wrong axis",
            "Each token is normalized by its own features, the last axis.",
            _rms_norm(lambda x: _rms(x, 1)),
            _rms_norm(lambda x: _rms(x, 0)),
        ),
        mistake(
            "your code drops the averaged axis",
            "Without keepdim=True, the mean has shape (batch, tokens) and does not line up with x.",
            _rms_norm(lambda x: torch.sqrt(x.square().mean(-1) + EPS)),
        ),
        mistake(
            "your code has no ε",
            "For a token of zeros it computes 0/0 = NaN. Add ε under the root.",
            _rms_norm(lambda x: torch.sqrt(x.square().mean(-1, keepdim=True))),
        ),
        mistake(
            "your code leaves out the gain",
            "At the end, multiply each feature by its gain.",
            lambda x, gain: x / _rms(x),
        ),
        mistake(
            "your code averages over the whole tensor",
            "Each token is normalized by its own features: mean(dim=-1, keepdim=True).",
            _rms_norm(lambda x: torch.sqrt(x.square().mean() + EPS)),
        ),
        mistake(
            "your code squares the mean instead of averaging the squares",
            "Square first, then take the mean, then the root: root mean square, read from right to left.",
            _rms_norm(lambda x: torch.sqrt(x.mean(-1, keepdim=True).square() + EPS)),
        ),
        mistake(
            "your code averages the absolute values",
            "Square the features, take the mean, then the root.",
            _rms_norm(lambda x: x.abs().mean(-1, keepdim=True) + EPS),
        ),
        mistake(
            "your code multiplies by the root mean square",
            "Divide by it, so that the mean square becomes 1.",
            lambda x, gain: x * _rms(x) * gain,
        ),
        mistake(
            "your code adds the gain",
            "Multiply each feature by its gain.",
            lambda x, gain: x / _rms(x) + gain,
        ),
        mistake(
            "your code divides by the length of the vector",
            "The length is the root of the sum of the squares. Take their mean instead.",
            lambda x, gain: x / (x.norm(dim=-1, keepdim=True) + 1e-5) * gain,
        ),
        mistake(
            "your code does not square",
            "Root mean square: square first, then the mean, then the root.",
            lambda x, gain: x / (x.abs().mean(-1, keepdim=True) + 1e-5).sqrt() * gain,
        ),
    ),
)


def unit(x: Tensor, axis: int = -1) -> Tensor:
    """RMSNorm without gain."""
    return x / _rms(x, axis)


def _same(x: Tensor) -> Tensor:
    return x


def _attention(
    q_norm: Callable[[Tensor], Tensor] = unit,
    k_norm: Callable[[Tensor], Tensor] = unit,
    v_norm: Callable[[Tensor], Tensor] = _same,
    scale: float | None = None,
) -> Answer:
    """Attention with a function on queries, keys and values. scale: of the scores, 1/√d_head by default."""
    return lambda q, k, v: F.scaled_dot_product_attention(q_norm(q), k_norm(k), v_norm(v), scale=scale)


def _normalized_scores(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return unit(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(dim=-1) @ v


QK_NORM = Exercise(
    id="05b.qk_norm",
    reference=lambda q, k, v: _attention()(q, k, v),
    inputs=(
        (torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0, 0.0], [0.0, 20.0]]), torch.tensor([[1.0], [2.0]])),
        (3 * normal(2, 4, 8), 5 * normal(2, 6, 8, seed=1), normal(2, 6, 3, seed=2)),
    ),
    mistakes=(
        mistake(
            "your code normalizes the values, too",
            "Only the scores can explode. The values stay as they are.",
            _attention(v_norm=unit),
        ),
        mistake(
            "your code normalizes only one of queries and keys",
            "The score grows with the length of both. Normalize q and k.",
            _attention(q_norm=_same),
            _attention(k_norm=_same),
        ),
        mistake(
            "your code makes queries and keys vectors of length 1",
            "That is the first QK-norm (Henry et al. 2020), which needs a learned factor in place of "
            "1/√d_head. The exercise gives you `norm`, an RMSNorm: it makes them vectors of length √d_head.",
            _attention(lambda q: F.normalize(q, dim=-1), lambda k: F.normalize(k, dim=-1)),
            _attention(lambda q: F.normalize(q, dim=-1), lambda k: F.normalize(k, dim=-1), scale=1.0),
        ),
        mistake(
            "your code normalizes the scores",
            "QK-norm comes before the dot product: it normalizes each query and each key.",
            _normalized_scores,
        ),
        mistake(
            "your code normalizes along the tokens",
            "Each query and each key is normalized by itself, along its last axis.",
            _attention(lambda q: unit(q, -2), lambda k: unit(k, -2)),
        ),
        mistake(
            "your code does not normalize",
            "Apply the norm to q and to k before you call attention.",
            _attention(_same, _same),
        ),
        mistake(
            "your code leaves out the scaling by √d_head",
            "After the norm, queries and keys have length √d_head, and their dot product reaches d_head. It "
            "is still divided by √d_head.",
            _attention(scale=1.0),
        ),
        mistake(
            "your code subtracts the mean of queries and keys",
            "That is LayerNorm. The exercise gives you `norm`, an RMSNorm.",
            _attention(lambda q: F.layer_norm(q, q.shape[-1:]), lambda k: F.layer_norm(k, k.shape[-1:])),
        ),
        mistake(
            "your code normalizes the output",
            "QK-norm acts before the scores: on queries and keys, not on the result.",
            lambda q, k, v: unit(F.scaled_dot_product_attention(q, k, v)),
            lambda q, k, v: unit(_attention()(q, k, v)),
        ),
    ),
)

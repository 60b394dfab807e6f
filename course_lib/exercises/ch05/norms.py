"""LayerNorm and dropout."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal
from course_lib.exercises.watching import without

EPS = 1e-5


def _layer_norm(axes: tuple[int, ...] = (-1,), correction: int = 0, divide: str = "root") -> Answer:
    """Normalization over some axes, with several ways to divide by the standard deviation."""
    ways: dict[str, Callable[[Tensor], Tensor]] = {
        "root": lambda variance: torch.sqrt(variance + EPS),
        "variance": lambda variance: variance + EPS,
        "no eps": torch.sqrt,
        "eps outside": lambda variance: torch.sqrt(variance) + EPS,
        "nothing": torch.ones_like,
    }

    def layer_norm(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        variance = x.var(axes, correction=correction, keepdim=True)
        return (x - x.mean(axes, keepdim=True)) / ways[divide](variance) * gain + bias

    return layer_norm


def _with_eps(eps: float) -> Answer:
    def layer_norm(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        variance = x.var(-1, correction=0, keepdim=True)
        return (x - x.mean(-1, keepdim=True)) / torch.sqrt(variance + eps) * gain + bias

    return layer_norm


def _without_keepdim(mean: bool, variance: bool) -> Answer:
    """Normalization over the features whose mean, variance or both have lost their last axis."""

    def layer_norm(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        root = torch.sqrt(x.var(-1, correction=0, keepdim=not variance) + EPS)
        return (x - x.mean(-1, keepdim=not mean)) / root * gain + bias

    return layer_norm


LAYER_NORM = Exercise(
    id="05.layer_norm",
    reference=_layer_norm(),
    run=without("layer_norm", "native_layer_norm"),
    inputs=(
        (torch.tensor([[[1.0, 1.0, 5.0, 5.0], [2.0, 4.0, 4.0, 2.0]]]), torch.ones(4), torch.zeros(4)),
        (torch.tensor([[[7.0, 7.0, 7.0], [0.0, 0.003, 0.006]]]), torch.ones(3), torch.zeros(3)),
        (normal(2, 3, 4) + 1, normal(4, seed=1), normal(4, seed=2)),
        (normal(1, 3, 3) + 1, normal(3, seed=1), normal(3, seed=2)),  # fits even without keepdim
    ),
    mistakes=(
        mistake(
            "your code drops the axis of the mean or of the variance",
            "Without keepdim=True, x.mean(dim=-1) has shape (batch, tokens). It does not line up with x, or, "
            "worse, lines up with the wrong axis. Use keepdim=True for the mean and for the variance.",
            _without_keepdim(mean=True, variance=True),
            _without_keepdim(mean=True, variance=False),
            _without_keepdim(mean=False, variance=True),
        ),
        mistake(
            "your code takes the mean over the batch, as BatchNorm does",
            "Then the result for one sentence depends on the others in the batch. LayerNorm normalizes "
            "each token over its own features, the last axis.",
            _layer_norm((0,)),
            _layer_norm((0, 1)),
        ),
        mistake(
            "your code takes the mean over the tokens",
            "LayerNorm takes the mean over the features of one token, not over the tokens of a "
            "sentence. Use dim=-1.",
            _layer_norm((1,)),
        ),
        mistake(
            "your code takes the mean over all tokens of a sentence",
            "Each token is normalized by itself: its result must not depend on the others. Use dim=-1 "
            "alone, not dim=(1, 2).",
            _layer_norm((1, 2)),
        ),
        mistake(
            "your code does not subtract the mean",
            "The features of a token end up with mean 0: subtract x.mean(dim=-1, keepdim=True) before you "
            "divide. RMSNorm, in chapter 5b, does without.",
            lambda x, gain, bias: x / torch.sqrt(x.square().mean(-1, keepdim=True) + EPS) * gain + bias,
            lambda x, gain, bias: x / torch.sqrt(x.var(-1, correction=0, keepdim=True) + EPS) * gain + bias,
        ),
        mistake(
            "your code calls PyTorch's LayerNorm",
            "This time, write it yourself, with x.mean and x.var along the last axis.",
            lambda x, gain, bias: F.layer_norm(x, x.shape[-1:], gain, bias),
        ),
        mistake(
            "your code takes one mean for the whole tensor",
            "mean() without an axis gives one number for everything. Each token needs its own: "
            "mean(dim=-1, keepdim=True).",
            _layer_norm((0, 1, 2)),
        ),
        mistake(
            "your code divides the variance by n − 1 instead of n",
            "That is the default of torch.var and torch.std, but LayerNorm divides by n. Pass correction=0.",
            _layer_norm(correction=1),
            _layer_norm(correction=1, divide="eps outside"),
            _layer_norm(correction=1, divide="no eps"),
        ),
        mistake(
            "your code divides by the variance instead of its root",
            "Then doubling the features halves the result. Divide by the standard deviation, the "
            "square root.",
            _layer_norm(divide="variance"),
        ),
        mistake(
            "your code has no ε",
            "If all features of a token are equal, the variance is 0, and 0/0 is NaN. Add ε to the variance.",
            _layer_norm(divide="no eps"),
        ),
        mistake(
            "your code adds ε outside the root",
            "The formula is √(var + ε). Inside the root ε acts like √ε = 0.003; outside it is only 0.00001.",
            _layer_norm(divide="eps outside"),
        ),
        mistake(
            "your code does not divide by the standard deviation",
            "Subtracting the mean leaves the variance unchanged. Divide by √(var + ε).",
            _layer_norm(divide="nothing"),
        ),
        mistake(
            "your code leaves out the gain or the bias",
            "At the end, multiply each feature by its gain and add its bias.",
            lambda x, gain, bias: _layer_norm()(x, torch.ones_like(gain), torch.zeros_like(bias)),
            lambda x, gain, bias: _layer_norm()(x, gain, torch.zeros_like(bias)),
            lambda x, gain, bias: _layer_norm()(x, torch.ones_like(gain), bias),
        ),
        mistake(
            "your code has another ε",
            "The exercise asks for ε = 10⁻⁵, the default of nn.LayerNorm. For tokens with a small variance, "
            "it matters.",
            _with_eps(1e-6),
            _with_eps(1e-8),
            _with_eps(1e-12),
        ),
        mistake(
            "your code applies gain and bias before the norm",
            "The norm would undo most of it. Normalize first, then multiply by the gain and add the bias.",
            lambda x, gain, bias: _layer_norm()(
                x * gain + bias, torch.ones_like(gain), torch.zeros_like(bias)
            ),
        ),
        mistake(
            "your code multiplies the bias by the gain",
            "First multiply by the gain, then add the bias.",
            lambda x, gain, bias: (
                (_layer_norm()(x, torch.ones_like(gain), torch.zeros_like(bias)) + bias) * gain
            ),
        ),
        mistake(
            "your code swaps gain and bias",
            "Multiply by the gain, then add the bias.",
            lambda x, gain, bias: _layer_norm()(x, bias, gain),
        ),
        mistake(
            "your code divides by the root mean square of x",
            "The variance is the mean of the squared distances from the mean, (x − mean)².",
            lambda x, gain, bias: (
                (x - x.mean(-1, keepdim=True)) / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gain
                + bias
            ),
        ),
    ),
)


def _dropout(training: int | str, evaluation: int | str) -> Answer:
    """Dropout whose factors in training and evaluation are powers of 1 − p; "p" means 1/p."""

    def dropout(x: Tensor, keep: Tensor, p: float, training_now: bool) -> Tensor:
        if training_now:
            return x * keep * (1 / p if training == "p" else (1 - p) ** training)
        return x * keep / (1 - p) if evaluation == "drops" else x * (1 - p) ** evaluation

    return dropout


_KEEP = torch.tensor([[True, False, True, True], [False, True, False, True]])
DROPOUT = Exercise(
    id="05.dropout",
    reference=lambda x, keep, p, training: _dropout(-1, 0)(x, keep, p, training),
    inputs=(
        (torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([True, False, False, True]), 0.5, True),
        (torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([True, False, False, True]), 0.5, False),
        (normal(2, 4), _KEEP, 0.2, True),
        (normal(2, 4), _KEEP, 0.2, False),
    ),
    mistakes=(
        mistake(
            "your code also drops in evaluation",
            "A trained model should use all its features and give the same answer twice. In "
            "evaluation, return x unchanged.",
            _dropout(-1, "drops"),
        ),
        mistake(
            "your code does not rescale the kept values",
            "Then values are smaller on average in training than in evaluation, and the next layer "
            "sees two different distributions. Divide by 1 − p.",
            _dropout(0, 0),
        ),
        mistake(
            "your code rescales in evaluation instead of in training",
            "The original dropout paper did it that way, and it works. PyTorch and this exercise "
            "divide by 1 − p in training, so that evaluation needs no change.",
            _dropout(0, 1),
        ),
        mistake(
            "your code divides by p",
            "p is the probability of dropping a value. A fraction 1 − p is kept, so divide by 1 − p.",
            _dropout("p", 0),
        ),
        mistake(
            "your code multiplies by 1 − p in training",
            "The kept values must become larger to make up for the dropped ones. Divide by 1 − p.",
            _dropout(1, 0),
        ),
        mistake(
            "your code drops the values that should be kept",
            "`keep` is True where a value stays. Do not invert it.",
            lambda x, keep, p, training: _dropout(-1, 0)(x, ~keep, p, training),
        ),
        mistake(
            "your code drops nothing",
            "In training, set the values to 0 where `keep` is False: multiply by `keep`.",
            lambda x, keep, p, training: x / (1 - p) if training else x,
            lambda x, keep, p, training: x,
        ),
        mistake(
            "your code drops in evaluation, not in training",
            "Dropout acts only in training. In evaluation, return x unchanged.",
            lambda x, keep, p, training: x if training else x * keep / (1 - p),
        ),
    ),
)

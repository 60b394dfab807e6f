"""LayerNorm, dropout and the rise of the learning rate."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal

EPS = 1e-5


def _layer_norm(axes: tuple[int, ...] = (-1,), correction: int = 0, divide: str = "root") -> Answer:
    """A norm over some axes, with one of several ways to divide by the spread."""
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


LAYER_NORM = Exercise(
    id="05.layer_norm",
    reference=_layer_norm(),
    inputs=(
        (torch.tensor([[[1.0, 1.0, 5.0, 5.0], [2.0, 4.0, 4.0, 2.0]]]), torch.ones(4), torch.zeros(4)),
        (torch.tensor([[[7.0, 7.0, 7.0], [0.0, 0.003, 0.006]]]), torch.ones(3), torch.zeros(3)),
        (normal(2, 3, 4) + 1, normal(4, seed=1), normal(4, seed=2)),
    ),
    mistakes=(
        mistake(
            "takes the mean over the batch, as BatchNorm does",
            "Each token is normed by itself, over its own features: the last axis. Over the batch, one "
            "sentence would change when another one does.",
            _layer_norm((0,)),
            _layer_norm((0, 1)),
        ),
        mistake(
            "takes the mean over the tokens",
            "The features of one token share a mean, not the tokens of one sentence: dim=-1.",
            _layer_norm((1,)),
            _layer_norm((1, 2)),
        ),
        mistake(
            "takes one mean for the whole tensor",
            "mean() without an axis is one number for everything. Each token needs its own: "
            "mean(dim=-1, keepdim=True).",
            _layer_norm((0, 1, 2)),
        ),
        mistake(
            "divides the variance by one too few",
            "torch.var and torch.std divide by n − 1 if they are not told otherwise; LayerNorm divides by n: "
            "correction=0.",
            _layer_norm(correction=1),
            _layer_norm(correction=1, divide="eps outside"),
            _layer_norm(correction=1, divide="no eps"),
        ),
        mistake(
            "divides by the variance instead of its root",
            "Then twice as large features come out half as large. The spread is the square root.",
            _layer_norm(divide="variance"),
        ),
        mistake(
            "has no ε",
            "A token whose features are all equal has the variance 0, and 0/0 is NaN.",
            _layer_norm(divide="no eps"),
        ),
        mistake(
            "adds ε outside the root",
            "The formula has √(var + ε). Outside, ε counts far less: √ε is 0.003, and ε is 0.00001.",
            _layer_norm(divide="eps outside"),
        ),
        mistake(
            "does not divide by the spread",
            "The mean is off, but the variance is still what it was.",
            _layer_norm(divide="nothing"),
        ),
        mistake(
            "leaves out gain and bias",
            "At the end each feature is multiplied by its gain, and its bias is added.",
            lambda x, gain, bias: _layer_norm()(x, torch.ones_like(gain), torch.zeros_like(bias)),
            lambda x, gain, bias: _layer_norm()(x, gain, torch.zeros_like(bias)),
            lambda x, gain, bias: _layer_norm()(x, torch.ones_like(gain), bias),
        ),
    ),
)


def _dropout(training: int | str, evaluation: int | str) -> Answer:
    """Dropout with a factor for training and one for evaluation, as powers of 1 − p; "p" is 1/p."""

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
            "drops in evaluation, too",
            "A trained model should use all it has, and give the same answer twice: in evaluation x stays as "
            "it is.",
            _dropout(-1, "drops"),
        ),
        mistake(
            "does not scale up what is kept",
            "Then the numbers are smaller on average in training than in evaluation, and the next layer sees "
            "two different worlds. Divide by 1 − p.",
            _dropout(0, 0),
        ),
        mistake(
            "scales in evaluation instead of in training",
            "That is how the first paper on dropout had it, and it works. PyTorch, and this exercise, divide "
            "by 1 − p in training, so that evaluation has nothing to do.",
            _dropout(0, 1),
        ),
        mistake(
            "divides by p",
            "p is the share that is dropped. Kept is 1 − p, and what is kept must make up for the rest.",
            _dropout("p", 0),
        ),
        mistake(
            "multiplies by 1 − p in training",
            "What is kept must become larger, not smaller: divide.",
            _dropout(1, 0),
        ),
        mistake(
            "drops what it should keep",
            "keep is True where a number stays.",
            lambda x, keep, p, training: _dropout(-1, 0)(x, ~keep, p, training),
        ),
    ),
)

WARMUP = Exercise(
    id="05.warmup",
    reference=lambda step, lr, warmup: lr * min(1, (step + 1) / warmup),
    inputs=((0, 0.008, 4), (1, 0.008, 4), (3, 0.008, 4), (4, 0.008, 4), (100, 0.008, 4), (7, 0.5, 10)),
    mistakes=(
        mistake(
            "begins with a rate of 0",
            "Steps are counted from 0, and the first step should already move something: (step + 1)/warmup.",
            lambda step, lr, warmup: lr * min(1, step / warmup),
            lambda step, lr, warmup: lr * min(1, step / (warmup - 1)),
        ),
        mistake(
            "reaches lr one step too late",
            "In the last of `warmup` steps, number warmup − 1, the rate is lr: (step + 1)/warmup.",
            lambda step, lr, warmup: lr * min(1, (step + 1) / (warmup + 1)),
        ),
        mistake(
            "goes on rising after the warm-up",
            "From step warmup − 1 on the rate stays at lr: take the smaller one of 1 and (step + 1)/warmup.",
            lambda step, lr, warmup: lr * (step + 1) / warmup,
            lambda step, lr, warmup: lr * step / warmup,
        ),
        mistake(
            "falls instead of rising",
            "The warm-up begins low. A rate that begins high is what it is to prevent.",
            lambda step, lr, warmup: lr * max(0, 1 - step / warmup),
            lambda step, lr, warmup: lr * max(0, 1 - (step + 1) / warmup),
        ),
        mistake(
            "waits at 0 and then jumps",
            "// divides without a remainder, which is 0 for the whole warm-up. The rise is a line: /.",
            lambda step, lr, warmup: lr * min(1, (step + 1) // warmup),
            lambda step, lr, warmup: lr * min(1, step // warmup),
            lambda step, lr, warmup: lr if step >= warmup else 0.0,
        ),
        mistake(
            "has no warm-up",
            "In the first steps the rate must be lower than lr.",
            lambda step, lr, warmup: lr,
        ),
    ),
    tolerance=1e-6,
)

"""A step of training: how long the gradient may be, and how fast the weights move."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake


def _length(gradients: list[Tensor]) -> Tensor:
    """Of all the gradients together, as one long vector."""
    return torch.stack([g.square().sum() for g in gradients]).sum().sqrt()


def _scaled(factor: Callable[[Tensor, float], Tensor]) -> Callable[[list[Tensor], float], list[Tensor]]:
    """Clipping that multiplies all gradients by a factor found from their common length."""
    return lambda gradients, most: [g * factor(_length(gradients), most) for g in gradients]


def _each_by_itself(gradients: list[Tensor], most: float) -> list[Tensor]:
    return [g * (most / g.norm()).clamp(max=1.0) for g in gradients]


CLIP = Exercise(
    id="06.clip",
    reference=_scaled(lambda length, most: (most / length).clamp(max=1.0)),
    inputs=(
        ([torch.tensor([3.0]), torch.tensor([4.0])], 1.0),
        ([torch.tensor([[0.3, 0.0], [0.0, -0.1]]), torch.tensor([0.4, 0.2])], 1.0),
        ([torch.tensor([2.0, -1.0, 2.0]), torch.tensor([[6.0], [2.0]])], 2.0),
    ),
    mistakes=(
        mistake(
            "clips each number",
            "That bends the gradient: large entries lose, small ones stay. All entries are multiplied by one "
            "factor, so that the direction stays.",
            lambda gradients, most: [g.clamp(-most, most) for g in gradients],
        ),
        mistake(
            "clips each tensor by itself",
            "The parts of the model would be shortened by different factors, and the direction would change. "
            "Take the length over all tensors together.",
            _each_by_itself,
        ),
        mistake(
            "lengthens short gradients",
            "Clipping only shortens: where the length is below the limit, the gradient stays as it is.",
            _scaled(lambda length, most: most / length),
        ),
        mistake(
            "never shortens anything",
            "A gradient longer than the limit is multiplied by most/length, which is then below 1. The "
            "factor is the smaller one of that and 1.",
            _scaled(lambda length, most: (most / length).clamp(min=1.0)),
            lambda gradients, most: list(gradients),
        ),
        mistake(
            "adds lengths instead of squares",
            "The length of one long vector is the root of the sum of all squares. The lengths of its parts "
            "do not add up to it: 3 and 4 make 5.",
            lambda gradients, most: [
                g * (most / sum(each.norm() for each in gradients)).clamp(max=1.0) for g in gradients
            ],
        ),
        mistake(
            "forgets the root",
            "The sum of the squares is the square of the length: take its root.",
            _scaled(lambda length, most: (most / length**2).clamp(max=1.0)),
        ),
    ),
)


def _noam(n: int, d_model: int, warmup: int, choose: Callable[[float, float], float] = min) -> float:
    return d_model**-0.5 * choose(n**-0.5, n * warmup**-1.5)


NOAM = Exercise(
    id="06.noam",
    reference=lambda n, d_model, warmup: _noam(n, d_model, warmup),
    inputs=((1, 256, 4000), (4000, 256, 4000), (16_000, 256, 4000), (9, 64, 25), (100, 64, 25)),
    tolerance=1e-9,
    mistakes=(
        mistake(
            "takes the larger of the two terms",
            "Then the rate falls first and rises afterwards, without end. At each step the smaller term "
            "counts.",
            lambda n, d_model, warmup: _noam(n, d_model, warmup, max),
        ),
        mistake(
            "has no warm-up",
            "1/√n alone is largest at the first step, when the model knows nothing.",
            lambda n, d_model, warmup: d_model**-0.5 * n**-0.5,
        ),
        mistake(
            "never falls",
            "The straight line rises for ever. After the warm-up the other term, 1/√n, is the smaller one.",
            lambda n, d_model, warmup: d_model**-0.5 * n * warmup**-1.5,
            lambda n, d_model, warmup: d_model**-0.5 * min(warmup**-0.5, n * warmup**-1.5),
        ),
        mistake(
            "rises to 1 instead of 1/√warmup",
            "The two terms must meet at n = warmup, where n^(−1/2) is warmup^(−1/2). So the line is "
            "n · warmup^(−3/2); with n/warmup the warm-up would be over far too soon.",
            lambda n, d_model, warmup: d_model**-0.5 * min(n**-0.5, n / warmup),
        ),
        mistake(
            "leaves d_model out",
            "A wider model takes smaller steps: the rate is divided by √d_model.",
            lambda n, d_model, warmup: min(n**-0.5, n * warmup**-1.5),
        ),
        mistake(
            "multiplies by √d_model",
            "The exponent of d_model is −1/2: a wider model takes smaller steps.",
            lambda n, d_model, warmup: d_model * _noam(n, d_model, warmup),
        ),
        mistake(
            "divides by d_model, not by its root",
            "The exponent of d_model is −1/2, not −1.",
            lambda n, d_model, warmup: _noam(n, d_model, warmup) / math.sqrt(d_model),
        ),
    ),
)

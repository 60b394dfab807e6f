"""A power law is a straight line in logarithms."""

import math

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake


def _line(x: Tensor, y: Tensor) -> tuple[float, float]:
    """Intercept and slope of the least-squares line."""
    slope = ((x - x.mean()) * (y - y.mean())).sum() / (x - x.mean()).square().sum()
    return (y.mean() - slope * x.mean()).item(), slope.item()


def _power_law(sign: int = -1, exponentiate: Answer = math.exp) -> Answer:
    def answer(x: Tensor, loss: Tensor) -> tuple[float, float]:
        intercept, slope = _line(x.log(), loss.log())
        return exponentiate(intercept), sign * slope

    return answer


def _half_logarithmic(x: Tensor, loss: Tensor) -> tuple[float, float]:
    intercept, slope = _line(x.log(), loss)
    return intercept, -slope


def _exponential(x: Tensor, loss: Tensor) -> tuple[float, float]:
    intercept, slope = _line(x, loss.log())
    return math.exp(intercept), -slope


def _straight(x: Tensor, loss: Tensor) -> tuple[float, float]:
    intercept, slope = _line(x, loss)
    return intercept, -slope


def _wrong_base(x: Tensor, loss: Tensor) -> tuple[float, float]:
    intercept, slope = _line(x.log10(), loss.log10())
    return math.exp(intercept), -slope


def _two_points(x: Tensor, loss: Tensor) -> tuple[float, float]:
    ends = torch.tensor([0, -1])
    return _power_law()(x[ends], loss[ends])


def _swapped(x: Tensor, loss: Tensor) -> tuple[float, float]:
    return _power_law()(x, loss)[::-1]


POWER_LAW = Exercise(
    id="07c.power_law",
    reference=lambda x, loss: _power_law()(x, loss),
    inputs=(
        (torch.tensor([1.0, 10.0, 100.0]), torch.tensor([8.0, 4.0, 2.0])),
        (torch.tensor([1000.0, 2000.0, 4000.0, 8000.0]), torch.tensor([3.0, 2.6, 2.15, 1.9])),
        (torch.tensor([50.0, 20.0, 10.0, 5.0]), torch.tensor([1.0, 1.3, 1.9, 2.2])),
    ),
    tolerance=1e-3,
    mistakes=(
        mistake(
            "your alpha has the wrong sign",
            "The line in logarithms has the slope −alpha, because the loss falls. Return minus the slope.",
            _power_law(sign=1),
        ),
        mistake(
            "your c is still a logarithm",
            "The intercept of the line is log c. Take exp() of it.",
            _power_law(exponentiate=float),
        ),
        mistake(
            "your code takes the logarithm of x only",
            "log(loss) = log c − alpha · log x: both sides need their logarithm.",
            _half_logarithmic,
        ),
        mistake(
            "your code takes the logarithm of the loss only",
            "That fits an exponential. For a power law, x needs its logarithm as well.",
            _exponential,
        ),
        mistake(
            "your code fits a straight line to x and the loss themselves",
            "A power law is a straight line only in logarithms: use x.log() and loss.log().",
            _straight,
        ),
        mistake(
            "your code mixes two bases of logarithms",
            "After log10, the way back is 10 ** intercept; after log, it is exp(intercept).",
            _wrong_base,
        ),
        mistake(
            "your code uses the first and the last point only",
            "Each run has some noise. Let all points decide, by least squares.",
            _two_points,
        ),
        mistake(
            "your code returns alpha before c",
            "Return the pair (c, alpha).",
            _swapped,
        ),
    ),
)

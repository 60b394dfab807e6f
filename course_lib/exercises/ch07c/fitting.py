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


def _inverse(x: Tensor, loss: Tensor) -> tuple[float, float]:
    """The line of log x on log loss, solved for the loss."""
    intercept, slope = _line(loss.log(), x.log())
    return math.exp(-intercept / slope), -1 / slope


def _line_of_x_on_loss(x: Tensor, loss: Tensor) -> tuple[float, float]:
    intercept, slope = _line(loss.log(), x.log())
    return math.exp(intercept), -slope


def _confused(x: Tensor, loss: Tensor) -> tuple[float, float]:
    intercept, slope = _line(x.log(), loss.log())
    return math.exp(slope), -intercept


def _through_zero(x: Tensor, loss: Tensor) -> tuple[float, float]:
    return 1.0, -((x.log() * loss.log()).sum() / x.log().square().sum()).item()


def _mean_of_slopes(x: Tensor, loss: Tensor) -> tuple[float, float]:
    alpha = -(loss.log().diff() / x.log().diff()).mean()
    return (loss.log() + alpha * x.log()).mean().exp().item(), alpha.item()


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
            lambda x, loss: (math.exp(_line(x.log(), loss)[0]), -_line(x.log(), loss)[1]),
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
            lambda x, loss: (math.exp(_line(x.log2(), loss.log2())[0]), _power_law()(x, loss)[1]),
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
            lambda x, loss: (-_line(x.log(), loss.log())[1], _line(x.log(), loss.log())[0]),
        ),
        mistake(
            "your code fits log x to the log of the loss",
            "Least squares is not symmetric: the errors are in the loss, so the loss is what the line "
            "predicts, from log x.",
            _inverse,
            _line_of_x_on_loss,
        ),
        mistake(
            "your code takes the slope for the intercept",
            "np.polyfit(x, y, 1) returns the slope first, then the intercept. c is exp(intercept), and alpha "
            "is minus the slope.",
            _confused,
        ),
        mistake(
            "your line goes through the origin",
            "A line needs an intercept, log c. Add a column of ones to the least-squares problem.",
            _through_zero,
            lambda x, loss: (0.0, _through_zero(x, loss)[1]),
        ),
        mistake(
            "your code averages the slopes between neighboring points",
            "Fit one line to all points by least squares.",
            _mean_of_slopes,
        ),
        mistake(
            "your c is exp of minus the intercept",
            "log(loss) = log c − alpha · log x: the intercept is log c itself.",
            lambda x, loss: (1 / _power_law()(x, loss)[0], _power_law()(x, loss)[1]),
        ),
        mistake(
            "your c is the first loss",
            "c is the loss that the line predicts for x = 1: exp(intercept).",
            lambda x, loss: (loss[0].item(), _power_law()(x, loss)[1]),
            lambda x, loss: (loss.max().item(), _power_law()(x, loss)[1]),
        ),
        mistake(
            "your alpha is an exponential",
            "alpha is minus the slope itself. Only the intercept is a logarithm.",
            lambda x, loss: (_power_law()(x, loss)[0], math.exp(_power_law()(x, loss)[1])),
            lambda x, loss: (_power_law()(x, loss)[0], math.exp(-_power_law()(x, loss)[1])),
        ),
    ),
)

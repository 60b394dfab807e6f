"""Scaling laws: held-out loss as a function of parameters and training tokens, fitted and extrapolated."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

Number: TypeAlias = float | int
EXPONENTS = torch.arange(0.05, 1.5, 0.03, dtype=torch.float64)  # candidates for alpha and for beta
UNITS = (1e5, 1e6)  # of parameters and tokens while fitting, so that the numbers are of similar size
FLOPS_PER_PARAMETER_AND_TOKEN = 6  # a multiplication and an addition; forward once, backward twice


@dataclass(frozen=True, kw_only=True)
class Point:
    """A measured run: parameters without embeddings, training tokens, and held-out loss in nats per token."""

    parameters: Number
    tokens: Number
    loss: float


@dataclass(frozen=True, kw_only=True)
class Law:
    """Scaling law L(N, D) = floor + a / N^alpha + b / D^beta, for N parameters and D training tokens.

    Source: Hoffmann et al. 2022, equation (2).
    """

    floor: float
    a: float
    alpha: float
    b: float
    beta: float

    def loss(self, parameters: Number, tokens: Number) -> float:
        """Predicted held-out loss."""
        return self.floor + self.a * parameters**-self.alpha + self.b * tokens**-self.beta


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A predicted loss; low and high: a 95% interval for a new run, if the form of the law is right."""

    loss: float
    low: float
    high: float


class LawFit:
    """Least-squares fits of `Law` to points at the same places (N, D).

    For given exponents, the law is linear in floor, a and b. So all pairs of EXPONENTS are tried, each with a
    free floor and with floor 0; fits with a negative coefficient are left out. An exponent is therefore known
    to half of their spacing at best, however many points there are.
    Raises ValueError for fewer than five points, as many as the law has parameters.
    """

    def __init__(self, points: Sequence[Point]):
        if len(points) < 5:
            raise ValueError(f"{len(points)} points cannot determine a law with 5 parameters")
        n, d = (
            torch.tensor([getattr(point, name) for point in points], dtype=torch.float64) / unit
            for name, unit in zip(("parameters", "tokens"), UNITS, strict=True)
        )
        self.losses = torch.tensor([point.loss for point in points], dtype=torch.float64)
        self.pairs = torch.cartesian_prod(EXPONENTS, EXPONENTS)  # (pairs, 2)
        ones = torch.ones(len(self.pairs), len(points), dtype=torch.float64)
        columns = [ones, n ** -self.pairs[:, :1], d ** -self.pairs[:, 1:]]
        self.designs = torch.stack(columns, dim=-1)  # (pairs, points, 3)
        without_floor = torch.nn.functional.pad(torch.linalg.pinv(self.designs[..., 1:]), (0, 0, 1, 0))
        self.solvers = torch.stack([torch.linalg.pinv(self.designs), without_floor])  # (2, pairs, 3, points)

    def fit(self, losses: Float[Tensor, " points"]) -> Law:
        """The law closest to these losses."""
        coefficients = self.solvers @ losses  # (2, pairs, 3)
        fitted = (self.designs @ coefficients.unsqueeze(-1)).squeeze(-1)
        errors = (fitted - losses).square().sum(dim=-1)
        errors[(coefficients < 0).any(dim=-1)] = torch.inf
        best = divmod(int(errors.argmin()), len(self.pairs))
        (floor, a, b), (alpha, beta) = coefficients[best].tolist(), self.pairs[best[1]].tolist()
        return Law(floor=floor, a=a * UNITS[0] ** alpha, alpha=alpha, b=b * UNITS[1] ** beta, beta=beta)


def fit_law(points: Sequence[Point]) -> Law:
    """Fit a scaling law to measured runs by least squares. Errors: as in `LawFit`."""
    fit = LawFit(points)
    return fit.fit(fit.losses)


def predict(
    points: Sequence[Point], parameters: Number, tokens: Number, draws: int = 400, seed: int = 0
) -> Prediction:
    """Predict the loss of another run, with a 95% interval from a residual bootstrap.

    Each of the `draws` adds residuals, drawn with replacement, to the fitted losses, fits again, predicts
    again, and adds one more residual for the new run. The interval assumes that the form of the law holds
    outside the range of the points.
    """
    fit = LawFit(points)
    law = fit.fit(fit.losses)
    fitted = torch.tensor([law.loss(p.parameters, p.tokens) for p in points], dtype=torch.float64)
    residuals = (fit.losses - fitted) * (len(points) / (len(points) - 5)) ** 0.5  # five were used up
    rng = torch.Generator().manual_seed(seed)
    drawn = residuals[torch.randint(len(points), (draws, len(points) + 1), generator=rng)]
    again = [fit.fit(fitted + row[:-1]).loss(parameters, tokens) + row[-1].item() for row in drawn]
    low, high = torch.tensor(again, dtype=torch.float64).quantile(torch.tensor([0.025, 0.975]).double())
    return Prediction(loss=law.loss(parameters, tokens), low=low.item(), high=high.item())


def training_flops(parameters: Number, tokens: Number) -> float:
    """Arithmetic operations of a training run, C ≈ 6 N D; attention scores and embeddings are left out.

    Source: Kaplan et al. 2020, section 2.1.
    """
    return FLOPS_PER_PARAMETER_AND_TOKEN * parameters * tokens


def best_size(law: Law, flops: Number, sizes: Sequence[Number]) -> Number:
    """The size with the lowest predicted loss for this compute: the more parameters, the fewer tokens."""
    return min(sizes, key=lambda n: law.loss(n, flops / training_flops(n, 1)))

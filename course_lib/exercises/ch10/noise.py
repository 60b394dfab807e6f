"""Noise into a picture, in one go, and out of it by a step."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, normal


def _kept(betas: Tensor, t: int) -> float:
    return (1 - betas[:t]).prod().item()


def _noised(picture: Callable[[float], float], rest: Callable[[float], float]) -> Callable[..., Tensor]:
    """Picture and noise, mixed by these functions of the kept share."""

    def mix(clean: Tensor, noise: Tensor, betas: Tensor, t: int) -> Tensor:
        kept = _kept(betas, t)
        return picture(kept) * clean + rest(kept) * noise

    return mix


BETAS = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5])

NOISE = Exercise(
    id="10.noise",
    reference=_noised(math.sqrt, lambda kept: math.sqrt(1 - kept)),
    inputs=(
        (torch.tensor([1.0, -1.0]), torch.tensor([0.5, 2.0]), BETAS, 2),
        (normal(2, 3), normal(2, 3, seed=1), BETAS, 5),
        (normal(2, 3, seed=2), normal(2, 3, seed=3), BETAS, 0),
    ),
    mistakes=(
        mistake(
            "mixes variances instead of roots",
            "ᾱ and 1 − ᾱ are variances. Numbers are multiplied by their roots.",
            _noised(lambda kept: kept, lambda kept: 1 - kept),
        ),
        mistake(
            "takes one step instead of all t",
            "Every step keeps 1 − β of the variance, so after t steps the product of them all is kept.",
            lambda clean, noise, betas, t: (
                (1 - betas[t - 1]).sqrt() * clean + betas[t - 1].sqrt() * noise if t else clean
            ),
        ),
        mistake(
            "lets the shares of the numbers sum to 1",
            "The variances sum to 1: if √ᾱ is the factor of the picture, √(1 − ᾱ) is that of the noise.",
            _noised(math.sqrt, lambda kept: 1 - math.sqrt(kept)),
        ),
        mistake(
            "exchanges picture and noise",
            "ᾱ is what is left of the picture. For t = 0 that is everything.",
            _noised(lambda kept: math.sqrt(1 - kept), math.sqrt),
        ),
        mistake(
            "counts one step too many",
            "Step 0 is the clean picture: after t steps the first t of the betas were at work, betas[:t].",
            lambda clean, noise, betas, t: (
                math.sqrt(_kept(betas, t + 1)) * clean + math.sqrt(1 - _kept(betas, t + 1)) * noise
            ),
        ),
        mistake(
            "adds the noise to the whole picture",
            "Each step also makes the picture a little fainter, by √(1 − β). Otherwise the variance would "
            "grow with every step.",
            _noised(lambda kept: 1.0, lambda kept: math.sqrt(1 - kept)),
        ),
    ),
)


def _back(x: Tensor, found: Tensor, here: float, there: float) -> Tensor:
    clean = (x - math.sqrt(1 - here) * found) / math.sqrt(here)
    return math.sqrt(there) * clean + math.sqrt(1 - there) * found


BACK = Exercise(
    id="10.back",
    reference=_back,
    inputs=(
        (torch.tensor([1.0, 0.5]), torch.tensor([0.5, -1.0]), 0.25, 0.64),
        (normal(2, 3), normal(2, 3, seed=1), 0.5, 0.9),
        (normal(2, 3, seed=2), normal(2, 3, seed=3), 0.04, 1.0),
    ),
    mistakes=(
        mistake(
            "stops at the clean estimate",
            "The estimate is far too sure so early on. Mix it anew: as much noise as belongs to the next "
            "stop.",
            lambda x, found, here, there: (x - math.sqrt(1 - here) * found) / math.sqrt(here),
        ),
        mistake(
            "does not make the picture strong again",
            "In x the picture is √ᾱ times as strong as it was. What is left without the noise is to be "
            "divided by that.",
            lambda x, found, here, there: (
                math.sqrt(there) * (x - math.sqrt(1 - here) * found) + math.sqrt(1 - there) * found
            ),
        ),
        mistake(
            "mixes in as much noise as there was",
            "At the next stop there is less noise: √(1 − ᾱ) of that stop.",
            lambda x, found, here, there: (
                math.sqrt(there) * (x - math.sqrt(1 - here) * found) / math.sqrt(here)
                + math.sqrt(1 - here) * found
            ),
        ),
        mistake(
            "takes all of the noise away as if it had the factor 1",
            "The noise stands in x with the factor √(1 − ᾱ).",
            lambda x, found, here, there: (
                math.sqrt(there) * (x - found) / math.sqrt(here) + math.sqrt(1 - there) * found
            ),
        ),
        mistake(
            "uses the shares without their roots",
            "ᾱ and 1 − ᾱ are variances; the numbers are multiplied by the roots.",
            lambda x, found, here, there: there * (x - (1 - here) * found) / here + (1 - there) * found,
        ),
        mistake(
            "goes the wrong way",
            "`here` is where x stands, with the smaller ᾱ; `there` is the stop with less noise.",
            lambda x, found, here, there: _back(x, found, there, here),
        ),
    ),
)

"""Diffusion: adding noise in one step, and one DDIM step back."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, normal


def _alpha_bar(betas: Tensor, t: int) -> float:
    return (1 - betas[:t]).prod().item()


def _noised(
    image_factor: Callable[[float], float], noise_factor: Callable[[float], float]
) -> Callable[..., Tensor]:
    """Mix of image and noise, with both factors as functions of ᾱ."""

    def mix(clean: Tensor, noise: Tensor, betas: Tensor, t: int) -> Tensor:
        alpha_bar = _alpha_bar(betas, t)
        return image_factor(alpha_bar) * clean + noise_factor(alpha_bar) * noise

    return mix


BETAS = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5])

NOISE = Exercise(
    id="10.noise",
    reference=_noised(math.sqrt, lambda alpha_bar: math.sqrt(1 - alpha_bar)),
    inputs=(
        (torch.tensor([1.0, -1.0]), torch.tensor([0.5, 2.0]), BETAS, 2),
        (normal(2, 3), normal(2, 3, seed=1), BETAS, 5),
        (normal(2, 3, seed=2), normal(2, 3, seed=3), BETAS, 0),
    ),
    mistakes=(
        mistake(
            "your code mixes with the variances instead of their roots",
            "ᾱ and 1 − ᾱ are variances. Multiply image and noise by their square roots.",
            _noised(lambda alpha_bar: alpha_bar, lambda alpha_bar: 1 - alpha_bar),
        ),
        mistake(
            "your code takes one step instead of all t",
            "Every step keeps a fraction 1 − β of the variance. After t steps, the product of all "
            "those fractions is left.",
            lambda clean, noise, betas, t: (
                (1 - betas[t - 1]).sqrt() * clean + betas[t - 1].sqrt() * noise if t else clean
            ),
        ),
        mistake(
            "your two factors sum to 1",
            "The variances must sum to 1, not the factors. If the image has the factor √ᾱ, the noise "
            "has √(1 − ᾱ).",
            _noised(math.sqrt, lambda alpha_bar: 1 - math.sqrt(alpha_bar)),
        ),
        mistake(
            "your code swaps image and noise",
            "ᾱ is the fraction of the image's variance that is left. At t = 0 that is all of it.",
            _noised(lambda alpha_bar: math.sqrt(1 - alpha_bar), math.sqrt),
        ),
        mistake(
            "your code counts one step too many",
            "t = 0 is the clean image. After t steps, the first t betas have acted: betas[:t].",
            lambda clean, noise, betas, t: (
                math.sqrt(_alpha_bar(betas, t + 1)) * clean + math.sqrt(1 - _alpha_bar(betas, t + 1)) * noise
            ),
        ),
        mistake(
            "your code adds noise without shrinking the image",
            "Each step also multiplies the image by √(1 − β). Otherwise, the variance would grow with "
            "every step.",
            _noised(lambda alpha_bar: 1.0, lambda alpha_bar: math.sqrt(1 - alpha_bar)),
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
            "your code stops at the clean estimate",
            "This early, the estimate is still rough. Add noise to it again, as much as belongs to the "
            "next step.",
            lambda x, found, here, there: (x - math.sqrt(1 - here) * found) / math.sqrt(here),
        ),
        mistake(
            "your code does not rescale the image",
            "In x, the image has the factor √ᾱ. Divide by it after you subtract the noise.",
            lambda x, found, here, there: (
                math.sqrt(there) * (x - math.sqrt(1 - here) * found) + math.sqrt(1 - there) * found
            ),
        ),
        mistake(
            "your code adds back as much noise as before",
            "The next step has less noise. Use √(1 − ᾱ) of that step, √(1 − there).",
            lambda x, found, here, there: (
                math.sqrt(there) * (x - math.sqrt(1 - here) * found) / math.sqrt(here)
                + math.sqrt(1 - here) * found
            ),
        ),
        mistake(
            "your code subtracts the noise with factor 1",
            "In x, the noise has the factor √(1 − ᾱ). Subtract that multiple of it.",
            lambda x, found, here, there: (
                math.sqrt(there) * (x - found) / math.sqrt(here) + math.sqrt(1 - there) * found
            ),
        ),
        mistake(
            "your code uses the variances without their roots",
            "ᾱ and 1 − ᾱ are variances. Multiply image and noise by their square roots.",
            lambda x, found, here, there: there * (x - (1 - here) * found) / here + (1 - there) * found,
        ),
        mistake(
            "your code steps in the wrong direction",
            "`here` is the ᾱ of x, the smaller one. `there` is the ᾱ of the step with less noise.",
            lambda x, found, here, there: _back(x, found, there, here),
        ),
    ),
)

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


def _with(alpha_bar: Callable[[Tensor, int], float]) -> Callable[..., Tensor]:
    """The right mix with another number for ᾱ."""

    def mix(clean: Tensor, noise: Tensor, betas: Tensor, t: int) -> Tensor:
        kept = torch.tensor(alpha_bar(betas, t))  # if it is negative, the root is NaN
        return kept.sqrt() * clean + (1 - kept).sqrt() * noise

    return mix


def _step_by_step(clean: Tensor, noise: Tensor, betas: Tensor, t: int) -> Tensor:
    for beta in betas[:t]:
        clean = (1 - beta).sqrt() * clean + beta.sqrt() * noise
    return clean


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
            "your code adds the same noise in every step",
            "Each step has its own noise, and the variances of independent noises add up. So go in one step, "
            "with √ᾱ and √(1 − ᾱ).",
            _step_by_step,
        ),
        mistake(
            "your ᾱ subtracts the sum of the betas",
            "Each step keeps a fraction 1 − β of what the earlier ones have left: multiply the fractions.",
            _with(lambda betas, t: 1 - betas[:t].sum().item()),
        ),
        mistake(
            "your ᾱ is 1 minus the product of the betas",
            "Multiply the fractions that *stay*: (1 − betas[:t]).prod().",
            _with(lambda betas, t: 1 - betas[:t].prod().item()),
        ),
        mistake(
            "your ᾱ is the product of the betas",
            "β is the variance of the new noise. What stays of the image is 1 − β: (1 − betas[:t]).prod().",
            _with(lambda betas, t: betas[:t].prod().item()),
        ),
        mistake(
            "your ᾱ comes from a single beta",
            "After t steps, the product of the first t factors (1 − β) is left: (1 − betas[:t]).prod().",
            _with(lambda betas, t: 1 - betas[t - 1].item()),
            _with(lambda betas, t: 1 - betas[min(t, len(betas) - 1)].item()),
        ),
        mistake(
            "your ᾱ has all the betas",
            "Only the first t have acted: betas[:t].",
            _with(lambda betas, t: _alpha_bar(betas, len(betas))),
        ),
        mistake(
            "your code counts one step too few",
            "After t steps, the first t betas have acted: betas[:t], the last of which is betas[t − 1].",
            _with(lambda betas, t: _alpha_bar(betas, max(t - 1, 0))),
            _with(lambda betas, t: (1 - betas[: t - 1]).prod().item()),
        ),
        mistake(
            "your noise has the factor √ᾱ as well",
            "Its variance is what the image has lost: √(1 − ᾱ).",
            _noised(math.sqrt, math.sqrt),
        ),
        mistake(
            "your noise has the factor 1 − ᾱ instead of its root",
            "1 − ᾱ is the variance of the noise. Multiply the noise by √(1 − ᾱ).",
            _noised(math.sqrt, lambda alpha_bar: 1 - alpha_bar),
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
        mistake(
            "your ᾱ is a sum",
            "The fractions 1 − β that the steps keep are multiplied: (1 − betas[:t]).prod().",
            _with(lambda betas, t: (1 - betas[:t]).sum().item()),
        ),
        mistake(
            "your ᾱ takes roots too early",
            "First the product of the fractions 1 − β, then the root of it.",
            _with(lambda betas, t: (1 - betas[:t].sqrt()).prod().item()),
            _with(lambda betas, t: (1 - betas[:t]).sqrt().prod().item()),
        ),
        mistake(
            "your noise has the factor 1",
            "Its variance is what the image has lost: the factor is √(1 − ᾱ).",
            _noised(math.sqrt, lambda alpha_bar: 1.0),
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
            "your code leaves out the noise of the earlier step",
            "The earlier step is noisy, too: add √(1 − there) · found.",
            lambda x, found, here, there: (
                math.sqrt(there) * (x - math.sqrt(1 - here) * found) / math.sqrt(here)
            ),
        ),
        mistake(
            "your code does not shrink the estimate",
            "At the earlier step, the image has the factor √ᾱ of that step: √there.",
            lambda x, found, here, there: (
                (x - math.sqrt(1 - here) * found) / math.sqrt(here) + math.sqrt(1 - there) * found
            ),
        ),
        mistake(
            "your code adds the noise instead of subtracting it",
            "x = √ᾱ · clean + √(1 − ᾱ) · noise. Solved for the clean image, the noise has a minus.",
            lambda x, found, here, there: _back(x + 2 * math.sqrt(1 - here) * found, found, here, there),
        ),
        mistake(
            "your code subtracts the noise at the earlier step",
            "The step is a mix again: √there · clean *plus* √(1 − there) · found.",
            lambda x, found, here, there: _back(x, found, here, there) - 2 * math.sqrt(1 - there) * found,
        ),
        mistake(
            "your code divides by ᾱ instead of its root",
            "In x, the image has the factor √ᾱ. Divide by that: math.sqrt(here).",
            lambda x, found, here, there: (
                math.sqrt(there) * (x - math.sqrt(1 - here) * found) / here + math.sqrt(1 - there) * found
            ),
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
        mistake(
            "your code mixes up the two factors of x",
            "x = √ᾱ · clean + √(1 − ᾱ) · noise: subtract √(1 − here) · found, then divide by √here.",
            lambda x, found, here, there: (
                math.sqrt(there) * (x - math.sqrt(here) * found) / math.sqrt(1 - here)
                + math.sqrt(1 - there) * found
            ),
        ),
        mistake(
            "your code shrinks the estimate by the factor of x",
            "At the earlier step, the image has the factor √there.",
            lambda x, found, here, there: x - math.sqrt(1 - here) * found + math.sqrt(1 - there) * found,
        ),
        mistake(
            "your code multiplies by √ᾱ instead of dividing",
            "In x, the image has the factor √here. Divide by it to get the clean image.",
            lambda x, found, here, there: (
                math.sqrt(there) * (x - math.sqrt(1 - here) * found) * math.sqrt(here)
                + math.sqrt(1 - there) * found
            ),
        ),
        mistake(
            "your noise has the factor 1 − √there",
            "The variances must sum to 1, not the factors: √(1 − there).",
            lambda x, found, here, there: (
                math.sqrt(there) * (x - math.sqrt(1 - here) * found) / math.sqrt(here)
                + (1 - math.sqrt(there)) * found
            ),
            lambda x, found, here, there: (
                math.sqrt(there) * (x - math.sqrt(1 - here) * found) / math.sqrt(here) + (1 - there) * found
            ),
        ),
    ),
)

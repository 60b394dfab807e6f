"""When a difference of BLEU is chance: the bootstrap, for one system and for two."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.text.significance import (
    bleu_from_statistics,
    bootstrap_bleu,
    bootstrap_draws,
    interval,
    paired_bootstrap,
)


def _statistics(sentences: int, seed: int, quality: float = 0.8) -> Tensor:
    """Statistics of a made-up system, each of whose sentences has 6 to 12 words."""
    generator = torch.Generator().manual_seed(seed)
    words = torch.randint(6, 13, (sentences, 1), generator=generator)
    total = words - torch.arange(4)
    chance = quality ** torch.arange(1, 5) * torch.ones(sentences, 1)
    found = torch.binomial(total.double(), chance.double(), generator=generator)
    shorter = torch.randint(-1, 3, (sentences, 1), generator=generator)
    return torch.cat([found, total, words, words + shorter], dim=1).double()


A, B = _statistics(12, seed=0, quality=0.75), _statistics(12, seed=1)


def _distinct(statistics: Tensor, draws: Tensor) -> Tensor:
    sums = [statistics[draw.unique()].sum(dim=0) for draw in draws]
    return bleu_from_statistics(torch.stack(sums))


BOOTSTRAP = Exercise(
    id="06c.bootstrap",
    reference=lambda statistics, draws: bootstrap_bleu(statistics, draws),
    inputs=(
        (A[:3], torch.tensor([[0, 1, 2], [2, 2, 0]])),
        (A, bootstrap_draws(12, rounds=5)),
        (B, bootstrap_draws(12, rounds=40, seed=1)),
    ),
    mistakes=(
        mistake(
            "your code averages the BLEU of single sentences",
            "Corpus BLEU is not the mean of sentence scores. Sum the drawn rows of `statistics` first, then "
            "compute one score per round.",
            lambda statistics, draws: bleu_from_statistics(statistics[draws]).mean(dim=-1),
            lambda statistics, draws: bleu_from_statistics(statistics)[draws].mean(dim=-1),
        ),
        mistake(
            "your code counts a sentence once even if it is drawn twice",
            "Draws are with replacement, and the repetitions are what makes one round differ from the next. "
            "Add a row as often as its index occurs in the draw.",
            _distinct,
        ),
        mistake(
            "your code sums over the rounds",
            "statistics[draws] has shape (rounds, drawn, 10). Sum over the drawn sentences, dim=1, and one "
            "score per round is left.",
            lambda statistics, draws: bleu_from_statistics(statistics[draws].sum(dim=0)),
        ),
        mistake(
            "your code returns one score for all rounds together",
            "The differences between the rounds are what we want to see. Compute one score for each row "
            "of `draws`.",
            lambda statistics, draws: bleu_from_statistics(statistics[draws].sum(dim=(0, 1))),
            lambda statistics, draws: bleu_from_statistics(statistics[draws].sum(dim=1)).mean(),
        ),
        mistake(
            "your code sums the ten numbers of a sentence",
            "The ten columns are different counts. statistics[draws] has shape (rounds, drawn, 10): sum over "
            "the drawn sentences, dim=1.",
            lambda statistics, draws: bleu_from_statistics(statistics[draws].sum(dim=2)),
            lambda statistics, draws: bleu_from_statistics(statistics[draws].sum(dim=-1)[..., :10]),
        ),
        mistake(
            "your code scores every drawn sentence by itself",
            "That is one score per draw. Sum the drawn rows of each round first: .sum(dim=1).",
            lambda statistics, draws: bleu_from_statistics(statistics[draws]),
        ),
        mistake(
            "your code does not use the draws",
            "Every round would score the same sentences. Pick the rows with statistics[draws].",
            lambda statistics, draws: bleu_from_statistics(statistics.sum(dim=0)).expand(len(draws)),
            lambda statistics, draws: bleu_from_statistics(statistics.sum(dim=0)),
        ),
    ),
)


def _ends(of_differences: Answer) -> Answer:
    return lambda a, b, draws: of_differences(paired_bootstrap(a, b, draws))


def _quantiles(low: float, high: float) -> Answer:
    return lambda differences: (differences.quantile(low).item(), differences.quantile(high).item())


def _around_the_mean(width: float) -> Answer:
    def ends(differences: Tensor) -> tuple[float, float]:
        mean, deviation = differences.mean().item(), differences.std().item()
        return mean - width * deviation, mean + width * deviation

    return ends


def _two_intervals(a: Tensor, b: Tensor, draws: Tensor) -> tuple[float, float]:
    (low_a, high_a), (low_b, high_b) = (interval(bootstrap_bleu(system, draws)) for system in (a, b))
    return low_b - low_a, high_b - high_a


def _farthest_ends(a: Tensor, b: Tensor, draws: Tensor) -> tuple[float, float]:
    (low_a, high_a), (low_b, high_b) = (interval(bootstrap_bleu(system, draws)) for system in (a, b))
    return low_b - high_a, high_b - low_a


def _unpaired(a: Tensor, b: Tensor, draws: Tensor) -> tuple[float, float]:
    return interval(bootstrap_bleu(b, draws.flip(0)) - bootstrap_bleu(a, draws))


PAIRED = Exercise(
    id="06c.paired",
    reference=lambda a, b, draws: interval(paired_bootstrap(a, b, draws)),
    inputs=(
        # with 41 and 81 rounds, each quantile is one of the sorted differences: no need to interpolate
        (A, B, bootstrap_draws(12, rounds=41)),
        (B, A, bootstrap_draws(12, rounds=81, seed=1)),
    ),
    mistakes=(
        mistake(
            "your difference has the wrong sign",
            "The interval is for BLEU of `b` minus BLEU of `a`: positive where b is better.",
            lambda a, b, draws: interval(paired_bootstrap(b, a, draws)),
        ),
        mistake(
            "your code compares two separate intervals",
            "Each round has its own sentences, hard or easy for both systems. Subtract *within* each round "
            "first, then take the interval of the differences.",
            _two_intervals,
            _farthest_ends,
        ),
        mistake(
            "your code draws other sentences for b than for a",
            "Then the luck of the draw no longer cancels. Use the same row of `draws` for both systems in "
            "each round.",
            _unpaired,
        ),
        mistake(
            "your interval holds the middle 90%",
            "The middle 95% leaves out 2.5% on each side. Take the quantiles 0.025 and 0.975.",
            _ends(_quantiles(0.05, 0.95)),
        ),
        mistake(
            "your interval runs from the smallest to the largest difference",
            "The extremes grow with the number of rounds. Take the quantiles 0.025 and 0.975.",
            _ends(lambda differences: (differences.min().item(), differences.max().item())),
        ),
        mistake(
            "your interval has its ends interchanged",
            "Return the lower end first: quantile 0.025, then 0.975.",
            _ends(lambda differences: interval(differences)[::-1]),
        ),
        mistake(
            "your interval holds the middle half",
            "The middle 95% leaves out 2.5% on each side, not 25%. Take the quantiles 0.025 and 0.975.",
            _ends(_quantiles(0.25, 0.75)),
        ),
        mistake(
            "your interval holds the middle 99%",
            "The middle 95% leaves out 2.5% on each side. Take the quantiles 0.025 and 0.975.",
            _ends(_quantiles(0.005, 0.995)),
            _ends(_quantiles(0.0025, 0.9975)),
        ),
        mistake(
            "your interval is not symmetric",
            "The middle 95% leaves out 2.5% on each side. Take the quantiles 0.025 and 0.975.",
            _ends(_quantiles(0.0, 0.95)),
            _ends(_quantiles(0.05, 1.0)),
            _ends(_quantiles(0.25, 0.975)),
            _ends(_quantiles(0.025, 0.95)),
            _ends(_quantiles(0.05, 0.975)),
        ),
        mistake(
            "your code assumes a normal distribution",
            "The bootstrap has no need to: the differences themselves are the distribution. Take their "
            "quantiles 0.025 and 0.975.",
            *(_ends(_around_the_mean(width)) for width in (1.96, 2.0)),
        ),
        mistake(
            "your code returns the interval of one system",
            "The question is whether b is better than a. Take the interval of the differences, b minus a.",
            lambda a, b, draws: interval(bootstrap_bleu(b, draws)),
            lambda a, b, draws: interval(bootstrap_bleu(a, draws)),
        ),
        mistake(
            "your code drops the sign of the differences",
            "Whether 0 lies inside the interval is the question, so the sign must stay. Do not take the "
            "absolute value.",
            _ends(lambda differences: interval(differences.abs())),
        ),
    ),
)

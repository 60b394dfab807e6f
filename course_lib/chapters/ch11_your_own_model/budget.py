"""Size and steps from a time budget: short runs, a scaling law fitted to them, and its best point."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from course_lib.chapters.ch11_your_own_model.project import Project, non_embedding
from course_lib.training.timing import seconds_per_step

REPEATS = 15.4  # passes after which further ones teach almost nothing: R* of Muennighoff et al.


@dataclass(frozen=True, kw_only=True)
class ShortRun:
    """A measured run, as `fit_law` of chapter 7c takes it. tokens: effective ones."""

    d_model: int
    steps: int
    parameters: int
    tokens: float
    loss: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a time budget buys with one width. passes: over the training set."""

    d_model: int
    seconds: float
    steps: int
    passes: float
    loss: float

    def __str__(self) -> str:
        return (
            f"d_model {self.d_model:3}: {1000 * self.seconds:5.1f} ms a step, {self.steps:6,} steps, "
            f"{self.passes:5.1f} passes, predicted validation loss {self.loss:.2f}"
        )


def effective_tokens(tokens: float | int, unique: float | int) -> float:
    """Number of new tokens that are worth as much as these, of which only `unique` are different.

    Source: Muennighoff et al. 2023, equation (5).

    >>> effective_tokens(50, unique=100), round(effective_tokens(400, unique=100))
    (50.0, 373)
    """
    if tokens <= 0 or unique <= 0:
        raise ValueError(f"tokens={tokens} and unique={unique} must be above 0")
    if tokens <= unique:
        return float(tokens)
    return unique * (1 + REPEATS * (1 - math.exp(-(tokens / unique - 1) / REPEATS)))


def sweep(
    project: Project,
    widths: Sequence[int] = (16, 32, 64),
    steps: Sequence[int] = (20, 40, 80),
    device: Any = "cpu",
) -> list[ShortRun]:
    """Train every width for every number of steps."""

    def run(d_model: int, number: int) -> ShortRun:
        done = project.train(d_model, number, device=device)
        return ShortRun(
            d_model=d_model,
            steps=number,
            parameters=non_embedding(done.model),
            tokens=effective_tokens(done.tokens, project.unique),
            loss=project.validation_loss(done.model),
        )

    return [run(d_model, number) for d_model in widths for number in steps]


def overfitted(runs: Sequence[ShortRun]) -> str:
    """Whether more steps made a width worse, which no law with falling terms can describe.

    >>> run = {"parameters": 1, "tokens": 1.0}
    >>> overfitted([ShortRun(d_model=16, steps=n, loss=n / 10, **run) for n in (5, 10)])
    'more steps made it worse at d_model 16: it overfits, so do not trust the law, and take at most 5 steps'
    """
    best = {
        run.d_model: min((r for r in runs if r.d_model == run.d_model), key=lambda r: r.loss) for run in runs
    }
    longest = max(run.steps for run in runs)
    worse = [d_model for d_model, run in best.items() if run.steps < longest]
    if not worse:
        return "more steps helped every width"
    return (
        f"more steps made it worse at d_model {', '.join(map(str, worse))}: it overfits, so do not trust "
        f"the law, and take at most {best[worse[-1]].steps} steps"
    )


def plans(
    project: Project,
    predicted: Callable[[int, float], Any],
    minutes: float | int,
    widths: Sequence[int] = (16, 32, 64, 128),
    device: Any = "cpu",
) -> list[Plan]:
    """What each width could do in so many minutes on this machine, the best one first.

    predicted: the loss for a number of parameters and of effective tokens, as `Law.loss`.
    """
    found = []
    for d_model in widths:
        model, batches = project.new_model(d_model), project.batches(0)
        seconds = seconds_per_step(project.objective(model), batches, project.config(100, 0), device)
        steps = max(1, int(60 * minutes / seconds))
        passes = steps * project.tokens_per_step(batches) / project.unique
        loss = predicted_loss(project, predicted, d_model, steps)
        found.append(Plan(d_model=d_model, seconds=seconds, steps=steps, passes=passes, loss=loss))
    return sorted(found, key=lambda plan: plan.loss)


def predicted_loss(
    project: Project, predicted: Callable[[int, float], Any], d_model: int, steps: int
) -> float:
    """What a law predicts for one run. predicted: as in `plans`."""
    tokens = effective_tokens(steps * project.tokens_per_step(project.batches(0)), project.unique)
    return predicted(non_embedding(project.new_model(d_model)), tokens)

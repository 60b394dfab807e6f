"""Alternating measurement: every side takes a turn in every round, so a disturbance affects all alike."""

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from course_lib.training.precision import autocast
from course_lib.utils.device import wait_for

Turn = Callable[[int], int | float]  # round number -> units of work done in it
Write = Callable[[Tensor], Tensor | list[list[int]]]  # prompts or sources -> generated ids


@dataclass(frozen=True)
class Plan:
    """Duration and device of a measurement.

    seconds: for one comparison, without warm-up. least, most: limits on the number of rounds.
    warm_up: rounds that are not counted. tiny: smallest sizes, to check that everything runs.
    """

    device: str = "cpu"
    seconds: float = 30.0
    least: int = 5
    most: int = 200
    warm_up: int = 3
    tiny: bool = False

    def lasting(self, share: float) -> "Plan":
        """The same plan for this fraction of the time."""
        return replace(self, seconds=self.seconds * share)


@dataclass(frozen=True)
class Spread:
    """A median and its quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)


@dataclass(frozen=True)
class Ratio:
    """The ratio of the medians of two sides, and median and quartiles of their ratios by round."""

    of_medians: float
    rounds: Spread


@dataclass
class Comparison:
    """The rounds of several sides that do the same work.

    row: name of a row of the table. case: one of its measurements. unit: of the work; "s" shows the time of a
    turn instead. first: the side that the others are compared with.
    aim: how many times as fast as the best of `against` the first side should be, if there is an aim.
    notes: what a reader needs to understand the numbers.
    """

    row: str
    case: str
    unit: str
    first: str
    aim: float | None = None
    against: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    amounts: dict[str, list[float]] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        return len(self.seconds[self.first])

    def rates(self, side: str) -> list[float]:
        """Units per second, round by round."""
        return [a / s for a, s in zip(self.amounts[side], self.seconds[side], strict=True)]

    def speed(self, side: str) -> Spread:
        """Units per second; for the unit "s", seconds per turn."""
        return Spread.of(self.seconds[side] if self.unit == "s" else self.rates(side))

    def ratio(self, side: str) -> Ratio:
        """How many times as fast the first side is as another one."""
        mine, theirs = self.rates(self.first), self.rates(side)
        rounds = Spread.of([a / b for a, b in zip(mine, theirs, strict=True)])
        return Ratio(statistics.median(mine) / statistics.median(theirs), rounds)

    def against_best(self) -> tuple[str, float] | None:
        """The fastest of the sides in `against`, and the ratio to it; None if none was measured."""
        present = [side for side in self.against if side in self.seconds]
        if not present:
            return None
        best = min(present, key=lambda side: self.ratio(side).of_medians)
        return best, self.ratio(best).of_medians


def measure(comparison: Comparison, sides: Mapping[str, Turn], plan: Plan) -> Comparison:
    """Fill `comparison` with alternating rounds of `sides`: A B C, A B C, … until the time is up.

    Raises ValueError if the side to compare with is missing.
    """
    if comparison.first not in sides:
        raise ValueError(f"the side {comparison.first!r} is none of {list(sides)}")
    for i in range(plan.warm_up):
        for turn in sides.values():
            turn(i)
    comparison.seconds = {name: [] for name in sides}
    comparison.amounts = {name: [] for name in sides}
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    begin, number = time.perf_counter(), 0
    try:
        while number < plan.least or (number < plan.most and time.perf_counter() - begin < plan.seconds):
            for name, turn in sides.items():
                wait_for(plan.device)
                start = time.perf_counter()
                amount = turn(number)
                wait_for(plan.device)
                comparison.seconds[name].append(time.perf_counter() - start)
                comparison.amounts[name].append(amount)
            number += 1
    finally:
        if was_enabled:
            gc.enable()
    return comparison


def trainer(
    objective: nn.Module,
    batches: Sequence[tuple[Tensor, ...]],
    plan: Plan,
    precision: str = "fp32",
    whole: bool = False,
) -> Turn:
    """Trains a model on given batches; a turn is one batch, or with `whole` all of them.

    objective: turns a batch into the sum of its losses and their number, which is the work done. A step is
    as in `course_lib.training.trainer`.
    """
    device = torch.device(plan.device)
    objective = objective.to(device).train()
    optimizer = torch.optim.AdamW(objective.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True)
    batches = [tuple(part.to(device) for part in batch) for batch in batches]

    def turn(number: int) -> int:
        counts = []
        for batch in batches if whole else [batches[number % len(batches)]]:
            with autocast(device, precision):
                loss, count = objective(*batch)
            (loss / count).backward()
            nn.utils.clip_grad_norm_(objective.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            counts.append(count)
        return int(sum(counts))

    return turn


def writing(write: Write, prompts: Sequence[Tensor], work: int = 1) -> Turn:
    """Writes for one batch of prompts in each turn. work: units done for each prompt."""

    def turn(number: int) -> int:
        batch = prompts[number % len(prompts)]
        write(batch)
        return work * len(batch)

    return turn

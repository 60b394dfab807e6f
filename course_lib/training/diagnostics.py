"""Diagnostics: detect a training run that diverges or collapses."""

import math
from collections.abc import Sequence

from course_lib.training.config import TrainConfig

AT_UNIGRAM = 0.98  # of the unigram loss: a final loss below it shows that something has been learned


class Diverged(RuntimeError):
    """A training run has diverged; the message says what was seen, at which step, and what to try."""

    def __init__(self, seen: str, config: TrainConfig, precision: str):
        super().__init__(seen, config, precision)  # a pickle calls it with these

    def __str__(self) -> str:
        seen, config, precision = self.args
        settings = f"lr={config.lr:g}, warmup={config.warmup}, precision={precision}"
        other = "" if precision == "fp32" else ', or precision="fp32"'
        return f"{seen} ({settings}): try a lower lr, a longer warm-up{other}"


def not_finite(step: int, losses: Sequence[float], norms: Sequence[float]) -> str:
    """Describe the first loss or gradient norm that is not finite; "" if all are finite.

    step: of the last loss and norm.
    """
    for i, (loss, norm) in enumerate(zip(losses, norms, strict=True), step - len(losses) + 1):
        for what, value in (("loss", loss), ("gradient", norm)):
            if not math.isfinite(value):
                return f"the {what} became {value} at step {i}"
    return ""


def blown_up(losses: Sequence[float]) -> str:
    """Describe a loss that blew up: the last 20 all exceed 4 times the highest of the first 20; else "".

    A run that still learns does not stay above it.
    """
    if len(losses) >= 40 and min(losses[-20:]) > 4 * max(losses[:20]):
        return f"the loss blew up from {losses[0]:.3g} to {losses[-1]:.3g} at step {len(losses)}"
    return ""


def collapsed(losses: Sequence[float], unigram: float, last: int = 100) -> str:
    """Describe a collapse: the mean of the last losses is at least 98 % of the unigram loss; else ""."""
    mean = sum(losses[-last:]) / last
    if len(losses) < last or mean < AT_UNIGRAM * unigram:
        return ""
    known = "a model that knows only the token frequencies"
    return f"collapse: the loss is stuck at {mean:.2f}, and {known} has {unigram:.2f}"


class Pace:
    """The pace of a run, in tokens per second: it is judged every 10 seconds of training.

    >>> pace = Pace()
    >>> pace.add(tokens=1000, seconds=10)
    >>> pace.add(tokens=400, seconds=10)
    >>> pace.note
    'at 40% of its pace: are other processes keeping the cores busy?'
    """

    def __init__(self) -> None:
        self.tokens = self.seconds = self.best = 0.0
        self.note = ""  # is not empty while more than half of the best pace is lost

    def add(self, tokens: float, seconds: float) -> None:
        """Add training of so many seconds."""
        self.tokens, self.seconds = self.tokens + tokens, self.seconds + seconds
        if self.seconds >= 10:
            now, self.tokens, self.seconds = self.tokens / self.seconds, 0.0, 0.0
            self.best = max(self.best, now)
            slow = f"at {now / (self.best or 1):.0%} of its pace: are other processes keeping the cores busy?"
            self.note = slow if now < self.best / 2 else ""

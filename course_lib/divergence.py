"""The signs of a training that has failed beyond repair."""

import math
from collections.abc import Sequence

from course_lib.schedules import TrainConfig

SMALLEST_SCALE = 2.0**-10  # of fp16 losses; it begins at 2^16 and is halved at each overflow


class Diverged(RuntimeError):
    """A training that has failed beyond repair; the message says what was seen, when, and what to try."""

    def __init__(self, seen: str, config: TrainConfig, precision: str):
        settings = f"lr={config.lr:g}, warmup={config.warmup}, precision={precision}"
        other = "" if precision == "fp32" else ', or precision="fp32"'
        super().__init__(f"{seen} ({settings}): try a lower lr, a longer warm-up{other}")


def not_finite(step: int, losses: Sequence[float], norms: Sequence[float]) -> str:
    """Which loss, or norm of a gradient, is not finite, and at which step; "" where all are finite.

    step: of the last ones.
    """
    for i in range(len(losses)):
        for what, value in (("loss", losses[i]), ("gradient", norms[i])):
            if not math.isfinite(value):
                return f"the {what} became {value} at step {step - len(losses) + i + 1}"
    return ""


def overflowing(step: int, scale: float) -> str:
    """That gradients overflow fp16 in every step, where `scale` has become tiny; else "".

    A few that overflow are normal: those steps are left out, and the scale of the loss is halved.
    """
    return f"all gradients overflow, now at step {step}" if scale < SMALLEST_SCALE else ""


def silent(step: int, evaluations: Sequence[dict[str, int | float]]) -> str:
    """That the last two scores "bleu" are 0, where they are; else ""."""
    zero = [evaluation.get("bleu") for evaluation in evaluations[-2:]] == [0, 0]
    return f"BLEU is 0 at two evaluations in a row, now at step {step}" if zero else ""

"""Training configuration and learning-rate schedules."""

import math
from dataclasses import dataclass

from course_lib.utils.ranges import check_names, check_numbers, check_whole_numbers


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Training configuration.

    steps or minutes: length of the run; minutes are converted to steps again and again, by the
    speed so far, so the schedule follows the clock.
    optimizer: "adamw", or "muon": Muon for the matrices of the blocks, AdamW for all other weights.
    lr: peak learning rate (for "noam" a factor, 1 in the paper). warmup: steps of linear warm-up to it.
    schedule: "linear", "cosine", "noam" or "constant"; see `learning_rate`. min_lr: where the first two end.
    weight_decay: of matrices. clip: largest norm of a gradient; None for no clipping.
    accumulate: parts in which a batch is computed, one after the other, for less memory (gradient
    accumulation); the gradient is that of the whole batch, each token with the same weight.
    average: decay of `WeightEMA`; 0 means no averaging.
    precision: "fp32", "bf16", "fp16", or "auto" for what suits the device; see `choose_precision`.
    compile: use `torch.compile`. evaluate_every, checkpoint_every: in steps; 0 means once, at the end.
    Raises ValueError for a value outside its range.

    >>> TrainConfig(steps=100, minutes=5)
    Traceback (most recent call last):
    ValueError: give either steps or minutes: steps=100, minutes=5
    """

    steps: int | None = None
    minutes: float | None = None
    optimizer: str = "adamw"
    lr: float = 1e-3
    warmup: int = 100
    schedule: str = "linear"
    min_lr: float = 0.0
    weight_decay: float = 0.01
    clip: float | None = 1.0
    accumulate: int = 1
    average: float = 0.0
    precision: str = "auto"
    compile: bool = False
    evaluate_every: int = 0
    checkpoint_every: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_names(self, schedule=("linear", "cosine", "noam", "constant"), optimizer=("adamw", "muon"))
        check_names(self, precision=("auto", "fp32", "bf16", "fp16"), compile=(True, False))
        check_whole_numbers(self, 0, "warmup", "evaluate_every", "checkpoint_every", "seed")
        check_whole_numbers(self, 1, "accumulate", *(["steps"] if self.steps is not None else []))
        check_numbers(self, "(0, inf)", "lr", *(["minutes"] if self.minutes is not None else []))
        check_numbers(self, "(0, inf]", *(["clip"] if self.clip is not None else []))
        check_numbers(self, "[0, inf)", "weight_decay")
        check_numbers(self, "[0, 1)", "average")
        check_numbers(self, "[0, 4294967296)", "seed")
        check_numbers(self, f"[0, {self.lr}]", "min_lr")
        if self.min_lr and self.schedule in ("noam", "constant"):
            raise ValueError(f"min_lr={self.min_lr} is for linear and cosine, not schedule={self.schedule!r}")
        if (self.steps is None) == (self.minutes is None):
            raise ValueError(f"give either steps or minutes: steps={self.steps}, minutes={self.minutes}")


def learning_rate(step: int, total: int | None, config: TrainConfig, d_model: int = 512) -> float:
    """Learning-rate schedule: linear warm-up, then a decay. `step` counts from 0.

    "linear" and "cosine" decay to `min_lr` at the last step, but not before the total number of steps is
    known; "constant" does not decay.
    "noam" is lr · d_model^−½ · min(n^−½, n · warmup^−1.5) at the n-th step.
    Source: Vaswani et al. 2017, equation (3) ("noam"); Kak slide 75 (warm-up); Loshchilov and Hutter 2017,
    equation (5) ("cosine", `min_lr`).

    >>> config = TrainConfig(steps=6, lr=1.0, warmup=2)
    >>> [learning_rate(step, 6, config) for step in range(6)]
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    """
    n = step + 1
    if config.schedule == "noam":
        return config.lr * d_model**-0.5 * min(n**-0.5, n * max(config.warmup, 1) ** -1.5)
    if n <= config.warmup:
        return config.lr * n / config.warmup
    if config.schedule == "constant" or total is None:
        return config.lr
    left = max(0.0, (total - step) / max(1, total - config.warmup))
    left = left if config.schedule == "linear" else 0.5 - 0.5 * math.cos(math.pi * left)
    return config.min_lr + (config.lr - config.min_lr) * left

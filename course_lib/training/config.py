"""Training configuration and learning-rate schedules."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Training configuration.

    steps or minutes: length of the run; minutes are converted to steps again and again, by the
    speed so far, so the schedule follows the clock.
    optimizer: "adamw", or "muon": Muon for the matrices of the blocks, AdamW for all other weights.
    lr: peak learning rate (for "noam" a factor, 1 in the paper). warmup: steps of linear warm-up to it.
    schedule: "linear", "cosine", "noam" or "constant"; see `learning_rate`. weight_decay: of matrices.
    clip: largest norm of a gradient. average: decay of `WeightEMA`; 0 means no averaging.
    precision: "fp32", "bf16", "fp16", or "auto" for the fastest one; see `precision_of_training`.
    compile: use `torch.compile`. evaluate_every, checkpoint_every: in steps; 0 means once, at the end.
    """

    steps: int | None = None
    minutes: float | None = None
    optimizer: str = "adamw"
    lr: float = 1e-3
    warmup: int = 100
    schedule: str = "linear"
    weight_decay: float = 0.01
    clip: float = 1.0
    average: float = 0.0
    precision: str = "auto"
    compile: bool = False
    evaluate_every: int = 0
    checkpoint_every: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.schedule not in ("linear", "cosine", "noam", "constant"):
            raise ValueError(f"schedule={self.schedule!r} is none of linear, cosine, noam, constant")
        if self.optimizer not in ("adamw", "muon"):
            raise ValueError(f"optimizer={self.optimizer!r} is neither adamw nor muon")
        if not 0 <= self.average < 1:
            raise ValueError(f"average={self.average} must be at least 0 and less than 1")
        if (self.steps is None) == (self.minutes is None):
            raise ValueError(f"give either steps or minutes: steps={self.steps}, minutes={self.minutes}")


def learning_rate(step: int, total: int | None, config: TrainConfig, d_model: int = 512) -> float:
    """Learning-rate schedule: linear warm-up, then a decay. `step` counts from 0.

    "linear" and "cosine" decay to 0 at the last step, but not before the total number of steps is known;
    "constant" does not decay.
    "noam" is lr · d_model^−½ · min(n^−½, n · warmup^−1.5) at the n-th step.
    Source: Vaswani et al. 2017, equation (3) ("noam"); Kak slide 75 (warm-up).
    """
    n = step + 1
    if config.schedule == "noam":
        return config.lr * d_model**-0.5 * min(n**-0.5, n * max(config.warmup, 1) ** -1.5)
    if n <= config.warmup:
        return config.lr * n / config.warmup
    if config.schedule == "constant" or total is None:
        return config.lr
    left = max(0.0, (total - step) / max(1, total - config.warmup))
    return config.lr * (left if config.schedule == "linear" else 0.5 - 0.5 * math.cos(math.pi * left))

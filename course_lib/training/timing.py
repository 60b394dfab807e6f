"""Timing: how long a training run will take."""

import copy
import time
from dataclasses import replace
from statistics import median

import torch
from torch import nn

from course_lib.datasets.batching import Batches
from course_lib.training.config import TrainConfig
from course_lib.training.trainer import Trainer
from course_lib.utils.device import wait_for

STEPS, ENOUGH = 8, 10.0  # at most so many steps, and none that begins after so many seconds


def seconds_per_step(
    objective: nn.Module, batches: Batches, config: TrainConfig, device: torch.device | str | None = None
) -> float:
    """The time of a training step, in seconds: the median of a few, taken by a copy of the model.

    The first step, which also allocates memory, counts only if it is the only one. Not compiled; training
    itself is not affected. Arguments: as in `train`.

    >>> from course_lib.models import GPT, GPTConfig
    >>> from course_lib.tasks import LanguageModelLoss, TextBatches
    >>> model, batches = GPT(GPTConfig(vocab=10)), TextBatches([5, 6, 7, 8, 9] * 20, tokens=8, batch=4)
    >>> 0 < seconds_per_step(LanguageModelLoss(model), batches, TrainConfig(steps=100)) < 60
    True
    """
    plan = replace(config, steps=STEPS, minutes=None, compile=False)
    trial = Trainer(copy.deepcopy(objective), batches, plan, device)
    times: list[float] = []
    alone = trial.accelerator.num_processes == 1  # several must take the same number of steps
    for batch in trial.remaining():
        start = time.perf_counter()
        trial.training_step(batch)
        wait_for(trial.device)
        times.append(time.perf_counter() - start)
        if trial.step == STEPS or (alone and sum(times) > ENOUGH):
            break
    return median(times[1:] or times)

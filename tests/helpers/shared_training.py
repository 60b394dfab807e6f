"""Trainings that two processes share; each writes down what it has seen."""

import json
import shutil
import sys
import time
from itertools import count
from pathlib import Path

import torch
from accelerate import PartialState

from course_lib.training.config import TrainConfig
from course_lib.training.trainer import train
from helpers.small_training import parts

CONFIG = {"lr": 3e-3, "warmup": 2, "precision": "fp32"}


def plain() -> list[float]:
    """The losses without dropout."""
    _, objective, batches = parts(dropout=0.0, batch=41)  # 42 pairs: the last batch holds one
    return train(objective, batches, TrainConfig(steps=6, **CONFIG), progress=False).losses


def with_dropout(folder: Path) -> tuple[list[float], float]:
    """The losses, and what this process draws next by chance."""
    _, objective, batches = parts(dropout=0.5)
    config = TrainConfig(steps=6, checkpoint_every=3, **CONFIG)
    history = train(objective, batches, config, folder=folder, progress=False)
    return history.losses, torch.rand(()).item()


def cut_short(folder: Path) -> tuple[list[float], float]:
    """The same from the checkpoint in the middle on."""
    state = PartialState()
    state.wait_for_everyone()
    if state.is_main_process:
        shutil.rmtree(folder / "step-000006")
    state.wait_for_everyone()
    torch.manual_seed(1)
    return with_dropout(folder)


def by_minutes() -> int:
    """The steps that minutes become, where the processes' clocks are not equally fast."""
    looks = count()
    speed = 0.1 * (1 + PartialState().process_index)
    clock, time.perf_counter = time.perf_counter, lambda: speed * next(looks)
    _, objective, batches = parts()
    config = TrainConfig(minutes=0.01, **{**CONFIG, "warmup": 100})
    steps = train(objective, batches, config, progress=False).steps
    time.perf_counter = clock
    return steps


if __name__ == "__main__":
    torch.set_num_threads(1)
    out = Path(sys.argv[1])
    found = {"plain": plain(), "dropout": with_dropout(out / "run"), "resumed": cut_short(out / "run")}
    found["steps"] = by_minutes()
    (out / f"{PartialState().process_index}.json").write_text(json.dumps(found))

"""Kills a tiny training at random moments until it is done, again and again; run as a program of its own.

One process imports torch once and forks each training: what is imported is then there at once.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import torch
from small_training import run

from course_lib import training
from course_lib.checkpoints import save_model

STEPS, EVERY = 60, 2


def train_here(folder, ready):
    """Train in this process, say so at the first step, and write what came out."""
    torch.set_num_threads(1)
    take_step, resume = training.Run.take_step, training.Run.resume

    def resumed(self):
        resume(self)
        self.begun = self.step

    def noted(self, numbers):
        if self.step == self.begun:
            os.write(ready, b"x")
        take_step(self, numbers)

    training.Run.take_step, training.Run.resume = noted, resumed
    history, model = run(folder / "run", steps=STEPS, checkpoint_every=EVERY, average=0.9)
    save_model(model, folder / "model.safetensors")
    (folder / "losses.json").write_text(json.dumps(history.losses))


def start(folder):
    """A child that trains; returns once it has begun, with its number."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            train_here(folder, writer)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    os.read(reader, 1)  # also returns where the child has nothing left to train, and ends
    os.close(reader)
    return child


def wait_for_a_checkpoint_half_written(folder, child, seconds=5.0):
    end = time.monotonic() + seconds
    while not list((folder / "run").glob(".step-*/*/*")) and time.monotonic() < end:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return


def main(folder, kills):
    chance = random.Random()
    whole = folder / "whole"
    whole.mkdir()
    os.waitpid(start(whole), 0)
    killed = halves = rounds = 0
    while killed < kills:
        rounds += 1
        stopped = folder / f"stopped-{rounds}"
        stopped.mkdir()
        while not (stopped / "losses.json").exists():
            child = start(stopped)
            if killed < kills and chance.random() < 0.3:
                wait_for_a_checkpoint_half_written(stopped, child)
            elif killed < kills:
                time.sleep(chance.uniform(0, 0.2))
            else:
                os.waitpid(child, 0)
                continue
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            killed += os.WIFSIGNALED(status)
            halves += bool(list((stopped / "run").glob(".step-*")))
        for name in ("losses.json", "model.safetensors"):
            assert (stopped / name).read_bytes() == (whole / name).read_bytes(), (rounds, name)
        kept = sorted(path.name for path in (stopped / "run").iterdir())
        assert kept == [f"step-{STEPS - EVERY:06d}", f"step-{STEPS:06d}"], kept
        shutil.rmtree(stopped)
    print(f"killed {killed} times, {halves} times while a checkpoint was written; {rounds} runs")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

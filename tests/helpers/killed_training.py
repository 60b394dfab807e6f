"""Kills a tiny training at random moments until it is done, again and again; run as its own program.

One process imports torch once and forks each training: what is imported is then there at once. Moments are
counted in steps and in files written, not in seconds, so a slow machine does no other work than a fast one.
"""

import json
import os
import random
import shutil
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

import torch

from course_lib.training import trainer
from course_lib.training.model_files import save_model
from course_lib.utils import tree_files
from helpers.small_training import run

STEPS, EVERY = 60, 2
MOST = {"step": 20, "writing": 10}  # fewer than a training run has, so each run is killed at least once


class Moment:
    """The n-th step from here, or the n-th file or folder written but not yet in its place."""

    def __init__(self, kind, chance, ready):
        self.kind, self.ready = kind, ready
        self.left = chance.randint(1, MOST[kind])

    def passed(self, kind):
        self.left -= kind == self.kind
        if kind == self.kind and self.left == 0:
            os.write(self.ready, b"x")
            if kind == "writing":
                signal.pause()  # the kill finds the file half done, however late it comes


def train_here(folder, moment):
    """Train in this process, count the moments, and write what came out."""
    torch.set_num_threads(1)
    training_step, atomic_path = trainer.Trainer.training_step, tree_files.atomic_path

    def counted_step(self, numbers):
        moment.passed("step")
        training_step(self, numbers)

    @contextmanager
    def counted_path(path):
        with atomic_path(path) as room:
            yield room
            moment.passed("writing")

    trainer.Trainer.training_step, tree_files.atomic_path = counted_step, counted_path
    history, model = run(folder / "run", steps=STEPS, checkpoint_every=EVERY, average=0.9)
    save_model(model, folder / "model.safetensors")
    (folder / "losses.json").write_text(json.dumps(history.losses))


def train(folder, kind=None):
    """Train in a child; returns whether it was killed. Without a kind of moment it is left alone."""
    reader, writer = os.pipe()
    moment = Moment(kind or "step", random.Random(), writer)
    if kind is None:
        moment.left = 0  # it has passed already
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            train_here(folder, moment)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    if os.read(reader, 1):  # nothing where the child has ended without such a moment
        os.kill(child, signal.SIGKILL)
    os.close(reader)
    _, status = os.waitpid(child, 0)
    if status and not os.WIFSIGNALED(status):
        raise SystemExit("a training run ended in an error")
    return os.WIFSIGNALED(status)


def main(folder, kills):
    whole = folder / "whole"
    whole.mkdir()
    train(whole)
    killed = halves = rounds = 0
    while killed < kills:
        rounds += 1
        stopped = folder / f"stopped-{rounds}"
        stopped.mkdir()
        while not (stopped / "losses.json").exists():
            kind = "writing" if killed % 3 == 2 else "step"
            killed += train(stopped, kind if killed < kills else None)
            halves += bool(list((stopped / "run").glob(".step-*")))
        for name in ("losses.json", "model.safetensors"):
            assert (stopped / name).read_bytes() == (whole / name).read_bytes(), (rounds, name)
        kept = sorted(path.name for path in (stopped / "run").iterdir())
        assert kept == [f"step-{STEPS - EVERY:06d}", f"step-{STEPS:06d}"], kept
        shutil.rmtree(stopped)
    print(f"killed {killed} times, {halves} times while a checkpoint was written; {rounds} runs")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

"""The training loop: it learns, resumes to the same losses even after a kill, and stops when all is lost."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import shared_training
import torch
from small_training import PAIRS, in_processes, parts, run
from torch import nn

from course_lib import training
from course_lib.checkpoints import Checkpoints
from course_lib.schedules import TrainConfig
from course_lib.training import Diverged, train
from course_lib.translation import translate

TESTS = Path(__file__).parent


pytestmark = pytest.mark.usefixtures("one_thread")


def test_learns_by_heart_and_the_text_comes_back(device):
    tokens, objective, batches = parts(dropout=0.0)
    config = TrainConfig(steps=250, lr=3e-3, warmup=20, precision="fp32")
    history = train(objective, batches, config, device=device, progress=False)
    assert sum(history.losses[-5:]) / 5 < 0.05
    english, spanish = zip(*PAIRS, strict=True)
    assert translate(objective.model, tokens, english) == list(spanish)
    assert history.steps == len(history.losses) == 250 and history.seconds > 0
    epochs = 250 / len(batches.epoch(0))
    per_epoch = sum(len(target) - 1 for _, target in batches.ids)
    assert history.tokens == pytest.approx(epochs * per_epoch, rel=0.05)


def test_the_same_seed_gives_the_same_losses_and_another_does_not():
    assert run(steps=12)[0].losses == run(steps=12)[0].losses
    assert run(steps=12)[0].losses != run(steps=12, seed=1)[0].losses


def test_a_run_stopped_at_a_checkpoint_resumes_to_identical_losses(tmp_path, monkeypatch):
    whole, model = run(tmp_path / "whole", steps=23)
    monkeypatch.setattr(training.Run, "save", stop_after(training.Run.save, saves=2))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "stopped", steps=23)
    monkeypatch.undo()
    resumed, again = run(tmp_path / "stopped", steps=23)
    assert resumed.losses == whole.losses and resumed.tokens == whole.tokens
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))


def stop_after(save, saves):
    count = 0

    def saving(self):
        nonlocal count
        save(self)
        count += 1
        if count == saves:
            raise KeyboardInterrupt

    return saving


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_killed_run_resumes_to_identical_losses(tmp_path):
    command = [sys.executable, str(TESTS / "small_training.py"), str(tmp_path / "killed"), "400"]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(TESTS.parent)})
    checkpoints = Checkpoints(tmp_path / "killed")
    deadline = time.monotonic() + 120
    while len(checkpoints.steps()) < 2 or checkpoints.steps()[-1] < 15:
        assert process.poll() is None and time.monotonic() < deadline, (
            "the run ended before it could be killed"
        )
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    killed_at = checkpoints.steps()[-1]
    assert 15 <= killed_at < 400
    resumed, _ = run(tmp_path / "killed", steps=400)
    whole, _ = run(tmp_path / "whole", steps=400)
    assert resumed.losses == whole.losses


def test_a_finished_run_is_not_trained_again(tmp_path):
    first, _ = run(tmp_path, steps=7)
    again, _ = run(tmp_path, steps=7)
    assert again.losses == first.losses and again.seconds == first.seconds


def test_a_folder_of_a_run_with_other_settings_is_refused(tmp_path):
    run(tmp_path, steps=5)
    with pytest.raises(ValueError, match=r"lr=0.003, and this one has lr=0.001"):
        run(tmp_path, steps=5, lr=1e-3)


def test_minutes_become_steps_once_and_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "CALIBRATION", 10)
    clock = iter(range(10_000))
    monkeypatch.setattr(training.time, "perf_counter", lambda: next(clock) * 0.5)  # half a second a look
    settings = {"steps": None, "minutes": 0.05, "warmup": 100, "checkpoint_every": 10}
    history, _ = run(tmp_path, **settings)
    # 3 seconds in all; the 10 timed steps took one look of 0.5 seconds, so 50 more fit into what is left
    assert history.steps == len(history.losses) == 10 + 50
    monkeypatch.setattr(training.time, "perf_counter", lambda: next(clock) * 50.0)
    again, _ = run(tmp_path, **settings)
    assert again.steps == 60


def test_a_loss_that_is_not_finite_stops_the_run():
    _, objective, batches = parts()
    with torch.no_grad():
        objective.model.decoder_norm.weight[0] = float("nan")
    config = TrainConfig(steps=100, lr=0.5, warmup=0, precision="fp32")
    with pytest.raises(
        Diverged, match=r"loss became nan at step 1 \(lr=0.5, warmup=0, precision=fp32\): try"
    ):
        train(objective, batches, config, device="cpu", progress=False)


def test_bleu_of_zero_twice_in_a_row_stops_the_run():
    scores = iter([0.0, 3.0, 0.0, 0.0, 5.0])
    with pytest.raises(Diverged, match="BLEU is 0 at two evaluations in a row, now at step 40"):
        run(steps=100, evaluate_every=10, evaluate=lambda: {"bleu": next(scores)})


def test_evaluations_are_kept_and_leave_training_as_it_was():
    seen = []

    def evaluate():
        seen.append(torch.is_grad_enabled())
        return {"bleu": 1.0}

    with_evaluation, model = run(steps=12, evaluate_every=5, evaluate=evaluate)
    assert [e["step"] for e in with_evaluation.evaluations] == [5, 10, 12]
    assert with_evaluation.losses == run(steps=12)[0].losses
    assert model.training


def test_bf16_learns_too():
    history, model = run(steps=60, precision="bf16")
    assert history.losses[-1] < history.losses[0] / 2
    assert all(p.dtype == torch.float32 for p in model.parameters())


def test_a_compiled_model_gives_the_same_losses():
    """In a process of its own: the checks of shapes that tests turn on cannot be compiled."""
    code = (
        "from small_training import *; import functools\n"
        "torch.compile = functools.partial(torch.compile, backend='aot_eager')  # no C++ compiler needed\n"
        "for compile in (False, True):\n"
        "    _, objective, batches = parts(dropout=0.0)\n"
        "    config = TrainConfig(steps=4, lr=3e-3, warmup=2, precision='fp32', compile=compile)\n"
        "    print(*train(objective, batches, config, device='cpu', progress=False).losses)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    plain, compiled = ([float(x) for x in line.split()] for line in done.stdout.splitlines())
    assert compiled == pytest.approx(plain, rel=1e-4)


class Constant(nn.Module):
    """An objective whose gradient is known: the mean over a batch of x · weight."""

    def __init__(self):
        super().__init__()
        self.model = nn.Linear(1, 1, bias=False)
        nn.init.ones_(self.model.weight)

    def forward(self, x):
        return self.model(x).sum(), torch.tensor(len(x))


class Ones:
    def epoch(self, number):
        return [[1, 1, 1]]

    def collate(self, numbers):
        return (torch.ones(len(numbers), 1),)


def test_one_step_of_adamw_by_hand():
    objective = Constant()
    config = TrainConfig(steps=1, lr=0.1, warmup=0, schedule="constant", weight_decay=0.5, precision="fp32")
    history = train(objective, Ones(), config, device="cpu", progress=False)
    # the first step of Adam is lr in the direction of the gradient; decay takes lr · 0.5 of the weight
    assert objective.model.weight.item() == pytest.approx(1 - 0.1 * 0.5 - 0.1, abs=1e-5)
    assert history.losses == [1.0] and history.tokens == 3


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """What each of two processes that share a training has seen."""
    out = tmp_path_factory.mktemp("shared")
    in_processes(2, TESTS / "shared_training.py", out)
    return [json.loads((out / f"{i}.json").read_text()) for i in range(2)]


def test_two_processes_give_the_losses_of_one(shared):
    first, second = shared
    assert first["plain"] == second["plain"] == pytest.approx(shared_training.plain(), rel=1e-5)


def test_each_process_has_chance_of_its_own_also_after_a_checkpoint(shared):
    first, second = shared
    (losses, draw), (same_losses, other_draw) = first["dropout"], second["dropout"]
    assert losses == same_losses and draw != other_draw
    assert first["resumed"] == first["dropout"] and second["resumed"] == second["dropout"]


def test_minutes_become_as_many_steps_in_each_process(shared):
    first, second = shared
    assert first["steps"] == second["steps"] > 2

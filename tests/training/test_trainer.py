"""The training loop: it learns, resumes to the same losses even after a kill, and stops when all is lost."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from helpers import shared_training
from helpers.small_training import PAIRS, Rows, Scale, in_processes, learn, parts, run
from torch import nn

from course_lib.tasks.translation import translate
from course_lib.text.unigram import unigram_loss
from course_lib.training import trainer
from course_lib.training.checkpoints import Checkpoints
from course_lib.training.config import TrainConfig
from course_lib.training.diagnostics import blown_up, collapsed
from course_lib.training.run_record import OtherRun
from course_lib.training.trainer import Diverged, Trainer, train

HELPERS = Path(__file__).parents[1] / "helpers"


pytestmark = pytest.mark.usefixtures("one_thread")


def test_learns_by_heart_and_the_text_comes_back(device):
    tokenizer, objective, batches = parts(dropout=0.0)
    history = learn(objective, batches, device=device, steps=250, lr=3e-3, warmup=20)
    assert sum(history.losses[-5:]) / 5 < 0.05
    english, spanish = zip(*PAIRS, strict=True)
    assert translate(objective.model, tokenizer, english) == list(spanish)
    assert history.steps == len(history.losses) == 250 and history.seconds > 0
    epochs = 250 / len(batches)
    per_epoch = sum(len(target) - 1 for _, target in batches.dataset)
    assert history.tokens == pytest.approx(epochs * per_epoch, rel=0.05)


def test_the_same_seed_gives_the_same_losses_and_another_does_not(device):
    assert run(steps=12, device=device)[0].losses == run(steps=12, device=device)[0].losses
    assert run(steps=12, device=device)[0].losses != run(steps=12, seed=1, device=device)[0].losses


def test_a_run_goes_on_on_another_device_and_says_so(device, tmp_path, caplog):
    for before, after in (("cpu", device), (device, "cpu")):
        folder = tmp_path / before.partition(":")[0] / after.partition(":")[0]
        whole, _ = run(folder, steps=10, device=before)
        shutil.rmtree(Checkpoints(folder).path(10))
        caplog.clear()
        resumed, _ = run(folder, steps=10, device=after)
        assert resumed.losses[:5] == whole.losses[:5] and len(resumed.losses) == 10
        names = (name.partition(":")[0] for name in (before, after))
        said = "this run began on {}: on {}, losses may differ in the last digits".format(*names)
        assert (said in caplog.text) == (before != after)


def test_random_states_of_another_kind_of_device_are_left_out(device):
    _, objective, batches = parts()
    begun = Trainer(objective, batches, TrainConfig(steps=3), device)
    state = begun.state_dict()
    state["device"], state["random"] = "another", [[state["random"][0][0], torch.zeros(3, dtype=torch.uint8)]]
    begun.load_state_dict(state)
    torch.rand(3, device=device)


class Clock:
    """A clock that each training step moves forward: by `slow` seconds in the first 60 steps, then by 0.1."""

    def __init__(self, monkeypatch, slow):
        self.now, self.steps, taken = 0.0, 0, Trainer.training_step
        monkeypatch.setattr(trainer.time, "perf_counter", lambda: self.now)

        def step(run, batch):
            taken(run, batch)
            self.steps += 1
            self.now += slow if self.steps <= 60 else 0.1

        monkeypatch.setattr(Trainer, "training_step", step)


def test_evaluations_and_checkpoints_are_no_training_time(tmp_path, monkeypatch):
    clock = Clock(monkeypatch, 0.1)

    def evaluate():
        clock.now += 100
        return {}

    save = Checkpoints.save

    def slowly(*args):
        clock.now += 1000
        save(*args)

    monkeypatch.setattr(Checkpoints, "save", slowly)
    history, _ = run(tmp_path, steps=30, evaluate_every=7, checkpoint_every=10, evaluate=evaluate)
    assert len(history.evaluations) == 5 and history.seconds == pytest.approx(0.1 * 30)


def test_the_schedule_follows_the_clock(monkeypatch):
    Clock(monkeypatch, 0.3)
    rates = []
    taken = Trainer.training_step

    def step(run, batch):
        taken(run, batch)
        rates.append(run.optimizer.param_groups[0]["lr"])

    monkeypatch.setattr(Trainer, "training_step", step)
    history, config = run(steps=None, minutes=0.5, warmup=20)[0], TrainConfig(steps=1, lr=3e-3)
    assert max(rates) == config.lr and rates[-1] < 0.02 * config.lr
    # the slow steps took 18 of the 30 seconds and seemed to be 60 of 100 steps; in the end there are 180
    assert rates[61] == pytest.approx((1 - 60 / 100) / (1 - 20 / 100) * config.lr, rel=0.1)
    assert rates[100] > 0.25 * config.lr
    assert history.steps == len(history.losses) == pytest.approx(180, abs=10)
    assert history.seconds == pytest.approx(30, rel=0.05)


def test_a_run_in_minutes_resumes_where_its_clock_was(tmp_path, monkeypatch):
    clock = Clock(monkeypatch, 0.1)
    settings = {"steps": None, "minutes": 0.5, "warmup": 20, "checkpoint_every": 50}
    history, _ = run(tmp_path, **settings)
    for step in Checkpoints(tmp_path).steps()[1:]:  # keep the older one: as if killed before the newest
        shutil.rmtree(Checkpoints(tmp_path).path(step))
    begun, done = clock.now, Checkpoints(tmp_path).steps()[0]
    again, _ = run(tmp_path, **settings)
    assert clock.now - begun == pytest.approx(30 - 0.1 * done, rel=0.05)
    assert again.losses[:done] == history.losses[:done] and again.seconds == pytest.approx(30, rel=0.05)


def test_a_loss_that_is_not_finite_stops_the_run(device):
    _, objective, batches = parts()
    with torch.no_grad():
        objective.model.decoder_norm.weight[0] = float("nan")
    with pytest.raises(
        Diverged, match=r"loss became nan at step 1 \(lr=0.5, warmup=0, precision=fp32\): try"
    ):
        learn(objective, batches, device=device, steps=100, lr=0.5, warmup=0)


class Failing(nn.Linear):
    """A model that raises an error."""

    def __init__(self, error):
        super().__init__(1, 1)
        self.error = error

    def forward(self, x):
        raise self.error


FULL = "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 14.75 GiB of which"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            torch.OutOfMemoryError(FULL),
            r"^not enough memory: lower the batch .* \(CUDA out of memory.* MiB\)$",
        ),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you"),
            "^not enough memory: lower the",
        ),
        (RuntimeError("another error"), "^another error$"),
    ],
)
def test_too_little_memory_says_what_to_lower(error, message):
    objective = Scale()
    objective.model = Failing(error)
    with pytest.raises(RuntimeError, match=message):
        learn(objective, Rows([[1]]), steps=1)


def test_a_loss_that_blows_up_stops_the_run():
    with pytest.raises(Diverged, match=r"^the loss blew up from 1 to 5 at step 60 \(lr=1e-09, warmup=0"):
        learn(Growing(40), Rows([[1], [1], [1]], batch=3), steps=100, lr=1e-9, warmup=0)


def test_a_loss_blows_up_only_if_all_of_the_last_20_are_high():
    assert blown_up([2.0] * 20 + [8.1] * 20) == "the loss blew up from 2 to 8.1 at step 40"
    assert blown_up([2.0] * 20 + [8.1] * 19 + [7.9]) == blown_up([2.0] * 20 + [8.0] * 20) == ""
    assert blown_up([2.0] + [900.0] * 20) == blown_up([]) == ""


def test_a_collapse_needs_enough_losses_at_the_unigram_level():
    assert collapsed([3.0] * 100, unigram=3.0)
    assert not collapsed([3.0] * 99, unigram=3.0)
    assert collapsed([2.95] * 100, unigram=3.0)
    assert not collapsed([2.93] * 100, unigram=3.0)
    assert not collapsed([3.0] * 100 + [2.0] * 100, unigram=3.0)


def test_a_loss_stuck_at_the_unigram_level_is_a_warning(caplog):
    _, objective, batches = parts()
    ids = [i for _, target in batches.dataset for i in target[1:]]
    level = unigram_loss(ids, objective.model.config.vocab)
    for steps, rate, warnings in ((200, 3e-3, 0), (199, 1e-6, 0), (200, 1e-6, 1)):
        caplog.clear()
        _, objective, batches = parts()
        learn(objective, batches, unigram=level, steps=steps, lr=rate, warmup=0)
        assert len(caplog.records) == warnings, (steps, rate)
    assert "collapse: the loss is stuck at" in caplog.text and f"{level:.2f}" in caplog.text


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_evaluation_that_fails_leaves_mode_weights_and_generators(device, error, monkeypatch):
    """Also where the average of the weights is evaluated."""
    _, objective, batches = parts()
    seen = {}

    def note(self):
        flush(self)
        if self.step == 5:
            seen["weights"] = [p.detach().clone() for p in self.model.parameters()]
            seen["rng"] = torch.get_rng_state()

    flush = trainer.Trainer.flush
    monkeypatch.setattr(trainer.Trainer, "flush", note)

    def evaluate():
        weights = objective.model.parameters()
        assert not all(torch.equal(a, b) for a, b in zip(seen["weights"], weights, strict=True))
        assert not objective.model.training
        torch.rand(3)
        raise error

    with pytest.raises(error):
        learn(objective, batches, evaluate=evaluate, device=device, steps=12, evaluate_every=5, average=0.9)
    assert objective.model.training and torch.equal(torch.get_rng_state(), seen["rng"])
    assert all(torch.equal(a, b) for a, b in zip(seen["weights"], objective.model.parameters(), strict=True))


def test_a_resumed_run_says_so(tmp_path, capsys):
    _, objective, batches = parts()
    config = TrainConfig(steps=6, checkpoint_every=3, precision="fp32")
    first, again = (train(objective, batches, config, folder=tmp_path, device="cpu") for _ in range(2))
    assert capsys.readouterr().out == "resumed at step 6 of 6\n" and first == again
    more = replace(config, checkpoint_every=2)  # may change in a resumed run
    assert train(objective, batches, more, folder=tmp_path, device="cpu") == first


def test_a_run_keeps_as_many_checkpoints_as_asked_and_each_holds_the_weights_of_its_step(device, tmp_path):
    seen = []
    _, objective, batches = parts()
    config = {"steps": 4, "checkpoint_every": 1, "evaluate_every": 1}

    def evaluate():
        seen.append([p.detach().clone() for p in objective.model.parameters()])
        return {}

    learn(objective, batches, folder=tmp_path, keep=3, evaluate=evaluate, device=device, **config)
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.steps() == [2, 3, 4]
    for step in checkpoints.steps():
        checkpoints.load(step, objective.model)
        assert all(map(torch.equal, objective.model.parameters(), seen[step - 1]))


@pytest.mark.parametrize(
    ("name", "before", "after"), [("dropout", 0.1, 0.5), ("label_smoothing", 0.0, 0.2), ("lr", 0.003, 0.001)]
)
def test_checkpoints_of_another_run_are_refused_where_all_shapes_fit(tmp_path, name, before, after):
    run(tmp_path, steps=3)
    _, objective, batches = parts(dropout=after if name == "dropout" else 0.1)
    objective.label_smoothing = after if name == "label_smoothing" else 0.0
    lr = after if name == "lr" else 3e-3
    with pytest.raises(OtherRun, match=f"{name}={before} there and {after} here"):
        learn(objective, batches, folder=tmp_path, steps=3, lr=lr, warmup=10)


def test_evaluations_are_kept_and_leave_training_as_it_was(device):
    with_evaluation, model = run(steps=12, evaluate_every=5, evaluate=lambda: {"bleu": 0.0}, device=device)
    assert [e["step"] for e in with_evaluation.evaluations] == [5, 10, 12]
    assert with_evaluation.losses == run(steps=12, device=device)[0].losses
    assert model.training


def test_bf16_learns_too(device):
    history, model = run(steps=60, precision="bf16", device=device)
    assert history.losses[-1] < history.losses[0] / 2
    assert all(p.dtype == torch.float32 for p in model.parameters())


@pytest.mark.slow
def test_a_compiled_model_gives_the_same_losses():
    """In a process of its own: the checks of shapes that tests turn on cannot be compiled."""
    code = (
        "from helpers.small_training import *; import functools\n"
        "torch.compile = functools.partial(torch.compile, backend='aot_eager')  # no C++ compiler needed\n"
        "for compile in (False, True):\n"
        "    _, objective, batches = parts(dropout=0.0)\n"
        "    config = TrainConfig(steps=4, lr=3e-3, warmup=2, precision='fp32', compile=compile)\n"
        "    print(*train(objective, batches, config, device='cpu', progress=False).losses)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    plain, compiled = ([float(x) for x in line.split()] for line in done.stdout.splitlines())
    assert compiled == pytest.approx(plain, rel=1e-4)


class Growing(Scale):
    """The same, five times as large after some steps."""

    def __init__(self, steps):
        super().__init__()
        self.left = steps

    def forward(self, x):
        self.left -= 1
        loss, count = super().forward(x)
        return loss * (5 if self.left < 0 else 1), count


def test_one_step_of_adamw_by_hand(device):
    objective = Scale()
    config = {"steps": 1, "lr": 0.1, "warmup": 0, "schedule": "constant", "weight_decay": 0.5}
    history = learn(objective, Rows([[1], [1], [1]], batch=3), device=device, **config)
    # the first step of Adam is lr in the direction of the gradient; decay takes lr · 0.5 of the weight
    assert objective.model.weight.item() == pytest.approx(1 - 0.1 * 0.5 - 0.1, abs=1e-5)
    assert history.losses == [1.0] and history.tokens == 3


def adam_in_two_steps(gradients, rates):
    """What is left of a weight of 1: Adam as in the paper, with β = 0.9 and 0.98, and no decay."""
    weight = 1.0
    for n in (1, 2):
        m = sum(0.1 * 0.9 ** (n - i) * gradients[i - 1] for i in range(1, n + 1)) / (1 - 0.9**n)
        v = sum(0.02 * 0.98 ** (n - i) * gradients[i - 1] ** 2 for i in range(1, n + 1)) / (1 - 0.98**n)
        weight -= rates[n - 1] * m / v**0.5
    return weight


@pytest.mark.parametrize(
    ("numbers", "gradients"), [((3, 300), (2, 2)), ((0.1, 0.5), (0.1, 0.5))], ids=["clipped", "small"]
)
@pytest.mark.parametrize(
    ("schedule", "rates"),
    [("constant", (0.1, 0.1)), ("linear", (0.1, 0.05)), ("noam", (0.1 / 8, 0.1 / 8 / 2**0.5))],
)
def test_gradients_are_clipped_and_the_rate_follows_the_schedule(device, numbers, gradients, schedule, rates):
    objective = Scale()
    objective.model.config = SimpleNamespace(d_model=64)
    settings = {"steps": 2, "lr": 0.1, "schedule": schedule, "warmup": 0, "weight_decay": 0.0, "clip": 2.0}
    history = learn(objective, Rows([[number] for number in numbers]), device=device, **settings)
    expected = adam_in_two_steps(gradients, rates)
    assert objective.model.weight.item() == pytest.approx(expected, abs=1e-5)
    assert history.losses[0] == pytest.approx(numbers[0])


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """What each of two processes that share a training has seen."""
    out = tmp_path_factory.mktemp("shared")
    in_processes(2, HELPERS / "shared_training.py", out)
    return [json.loads((out / f"{i}.json").read_text()) for i in range(2)]


@pytest.mark.slow
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

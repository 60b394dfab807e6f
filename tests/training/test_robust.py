"""Training when things go wrong: kills, a full disk, damaged checkpoints, gradients that are not finite."""

import errno
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from helpers.small_training import learn, parts, run

from course_lib.training import trainer
from course_lib.training.checkpoints import Checkpoints
from course_lib.training.model_files import BrokenCheckpoint
from course_lib.training.trainer import Diverged, Trainer
from course_lib.utils.tree_files import FILES, SUMS, load_tree, save_tree

HELPERS = Path(__file__).parents[1] / "helpers"


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.slow
def test_killed_six_times_at_random_moments_training_ends_the_same(tmp_path):
    command = [sys.executable, str(HELPERS / "killed_training.py"), str(tmp_path), "6"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert "killed 6 times" in done.stdout and ", 0 times while" not in done.stdout, done.stdout


@pytest.mark.parametrize("share", [0.5, 1.5])
def test_a_full_disk_is_said_and_the_former_checkpoint_stays(tmp_path, monkeypatch, share):
    """The system itself refuses to let a file grow, in the middle of a checkpoint."""
    resource = pytest.importorskip("resource", reason="this system knows no largest size of a file")
    whole, model = run(tmp_path / "whole", steps=15)
    room = int(share * sum(p.nbytes for p in model.parameters()))  # a checkpoint has three times as much
    save = Checkpoints.save
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def save_in_little_room(self, step, *parts):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room if step == 10 else soft, hard))
        try:
            save(self, step, *parts)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    monkeypatch.setattr(Checkpoints, "save", save_in_little_room)
    with pytest.raises(OSError, match=r"^step 10 could not be written .*steps \[5\] are intact"):
        run(tmp_path / "stopped", steps=15)
    assert [path.name for path in (tmp_path / "stopped").iterdir()] == ["step-000005"]
    monkeypatch.undo()
    assert run(tmp_path / "stopped", steps=15)[0].losses == whole.losses


def test_a_full_disk_at_the_very_first_checkpoint_leaves_nothing(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("course_lib.utils.tree_files.save_file", full)
    with pytest.raises(OSError, match="step 5 could not be written .*No space left.*there is none yet"):
        run(tmp_path / "run", steps=15)
    assert list((tmp_path / "run").iterdir()) == []


@pytest.mark.parametrize(
    ("keep", "every", "average", "copies"),
    [
        (1, 5, 0.0, 2 * 3),  # the newest is written before the oldest is deleted
        (2, 5, 0.0, 3 * 3),
        (10**9, 5, 0.0, 3 * 3),  # nobody knows how many there will be
        (2, 5, 0.9, 3 * 4),
        (2, 0, 0.0, 1 * 3),  # one at the end
    ],
)
def test_the_disk_must_have_room_for_the_checkpoints_that_exist_at_once(
    tmp_path, monkeypatch, keep, every, average, copies
):
    sizes = []
    monkeypatch.setattr(trainer, "check_writable", lambda folder, size: sizes.append(size))
    _, objective, batches = parts()
    config = {"steps": 15, "checkpoint_every": every, "average": average}
    for _ in range(2):
        learn(objective, batches, folder=tmp_path, keep=keep, **config)
    one = sum(weight.nbytes for weight in objective.model.parameters())
    there = len(Checkpoints(tmp_path).steps()) * (4 if average else 3)
    assert sizes == [copies * one, (copies - there) * one]  # when resumed, some are there already


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run of twelve steps, and its losses."""
    folder = tmp_path_factory.mktemp("finished")
    return folder, run(folder, steps=12, average=0.9)[0].losses


@pytest.fixture
def losses(finished, tmp_path):
    """The losses of that run; a copy of its folder, to be damaged, is in `tmp_path`."""
    shutil.copytree(finished[0], tmp_path, dirs_exist_ok=True)
    return finished[1]


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGE = {"cut short": cut, "empty": lambda path: path.write_bytes(b""), "missing": Path.unlink}


@pytest.mark.parametrize(("name", "damage"), zip([*FILES, SUMS], DAMAGE, strict=True))
def test_a_damaged_checkpoint_is_passed_over_and_named(losses, tmp_path, caplog, name, damage):
    DAMAGE[damage](tmp_path / "step-000012" / name)
    assert run(tmp_path, steps=12, average=0.9)[0].losses == losses
    (warning,) = [record.getMessage() for record in caplog.records]
    assert "trying the one before" in warning and "step-000012" in warning
    assert Checkpoints(tmp_path).steps() == [10, 12]
    caplog.clear()
    assert run(tmp_path, steps=12, average=0.9)[0].losses == losses and not caplog.records


def test_where_no_checkpoint_is_whole_the_run_does_not_begin_anew_by_itself(losses, tmp_path):
    for step in (10, 12):
        cut(tmp_path / f"step-{step:06d}" / FILES[1])
    with pytest.raises(BrokenCheckpoint, match="is intact; delete it to start over: .*000012.*000010"):
        run(tmp_path, steps=12, average=0.9)


def without(key):
    return lambda state: {name: part for name, part in state.items() if name != key}


def changed(key, change):
    return lambda state: {**state, key: change(state[key])}


def of_first_weight(change, name="exp_avg"):
    """The optimizer's tensor of the first weight, changed."""
    return lambda moments: [{**moments[0], name: change(moments[0][name])}, *moments[1:]]


BAD_STATES = {
    "a list": lambda state: [],
    "nothing": lambda state: None,
    "empty": lambda state: {},
    **{
        f"no {key}": without(key)
        for key in ("settings", "precision", "history", "batches", "moments", "average", "random")
    },
    "generator state too short": changed("random", lambda states: [[states[0][0][:100]]]),
    "generator state of floats": changed("random", lambda states: [[states[0][0].float()]]),
    "generator state is a number": changed("random", lambda states: [[7]]),
    "second process without generator state": changed("random", lambda states: [*states, []]),
    "no generator state": changed("random", lambda states: []),
    "average of one number each": changed("average", lambda means: [mean.flatten()[0] for mean in means]),
    "average too short": changed("average", lambda means: means[1:]),
    "average of integers": changed("average", lambda means: [mean.long() for mean in means]),
    "moments too few": changed("moments", lambda moments: moments[1:]),
    "moment of another shape": changed("moments", of_first_weight(lambda t: t.flatten()[:3].clone())),
    "moment of one number": changed("moments", of_first_weight(lambda t: t.flatten()[0].clone())),
    "step of many numbers": changed("moments", of_first_weight(lambda t: t.repeat(3), "step")),
    **{
        f"moment of {dtype}": changed("moments", of_first_weight(lambda t, dtype=dtype: t.to(dtype)))
        for dtype in (torch.int64, torch.bool, torch.complex64)
    },
    "unknown part of the history": changed("history", lambda history: {**history, "mood": "good"}),
}


@pytest.mark.parametrize("bad", BAD_STATES)
def test_a_state_that_cannot_be_resumed_is_passed_over(losses, tmp_path, caplog, bad):
    """It is intact, with correct checksums, but not what a run writes."""
    path = tmp_path / "step-000012"
    tree = load_tree(path)
    save_tree(path, {**tree, "state": BAD_STATES[bad](tree["state"])})
    assert run(tmp_path, steps=12, average=0.9)[0].losses == losses
    (warning,) = [record.getMessage() for record in caplog.records]
    assert "trying the one before" in warning and "step-000012 has no usable" in warning
    assert "\n" not in warning


def spoil(objective, value, steps):
    """Give a weight the gradient `value` at these steps; the losses stay as they are."""
    count = 0

    def hook(gradient):
        nonlocal count
        count += 1
        return torch.full_like(gradient, value) if count in steps else gradient

    objective.model.decoder_norm.weight.register_hook(hook)


@pytest.mark.parametrize(
    ("precision", "advice"),
    [("fp32", "a longer warm-up$"), ("bf16", 'a longer warm-up, or precision="fp32"$')],
)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_stops_the_run_at_its_step(tmp_path, precision, advice, value):
    _, objective, batches = parts()
    spoil(objective, value, {17})
    config = {"steps": 30, "warmup": 3, "precision": precision, "checkpoint_every": 5}
    settings = rf"\(lr=0.001, warmup=3, precision={precision}\): try a lower lr, "
    with pytest.raises(Diverged, match=f"^the gradient became {value} at step 17 {settings}{advice}"):
        learn(objective, batches, folder=tmp_path, **config)
    assert Checkpoints(tmp_path).steps() == [10, 15]  # none of the spoilt weights


@pytest.fixture
def fp16_on_a_cpu(monkeypatch):
    monkeypatch.setattr(trainer, "choose_precision", lambda *_: "fp16")  # which a CPU refuses


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_in_fp16_a_step_whose_gradient_overflows_is_left_out(fp16_on_a_cpu, device, monkeypatch, optimizer):
    _, objective, batches = parts()
    objective.to(device)  # now, because a move to a device may replace the weight with its hook
    spoil(objective, float("inf"), {3})
    seen, take = [], Trainer.training_step

    def step(run, batch):
        take(run, batch)
        seen.append((run.scaler.get_scale(), run.model.embedding.weight.detach().clone()))

    monkeypatch.setattr(Trainer, "training_step", step)
    history = learn(objective, batches, device=device, steps=30, warmup=3, optimizer=optimizer)
    scales, weights = zip(*seen[:4], strict=True)  # the later ones may overflow by themselves
    assert scales == (2**16, 2**16, 2**15, 2**15)
    assert [a.equal(b) for a, b in pairwise(weights)] == [False, True, False]
    assert len(history.losses) == 30 and history.losses[-1] < history.losses[0]


def test_in_fp16_endless_overflow_stops_the_run(fp16_on_a_cpu):
    _, objective, batches = parts()
    spoil(objective, float("inf"), range(1, 1000))
    with pytest.raises(Diverged, match=r"all gradients overflow, now at step 40 .*precision=fp16\).*fp32"):
        learn(objective, batches, steps=90, warmup=3)

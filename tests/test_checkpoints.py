"""Checkpoints: whole or absent, the newest kept, never an executable pickle."""

import pytest
import torch
from torch import nn

from course_lib import checkpoints as module
from course_lib.checkpoints import BrokenCheckpoint, Checkpoints


def test_the_newest_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in (5, 10, 15):
        checkpoints.save(step, nn.Linear(2, 3), {"step": step})
    assert checkpoints.steps() == [10, 15]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-000010", "step-000015"]


def test_model_and_state_come_back(tmp_path):
    model, other = nn.Linear(2, 3), nn.Linear(2, 3)
    Checkpoints(tmp_path).save(5, model, {"step": 5, "rng": torch.get_rng_state()})
    state = Checkpoints(tmp_path).load(5, other)
    assert state["step"] == 5 and torch.equal(model.weight, other.weight)


def test_an_interrupted_save_leaves_what_was_there(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(5, nn.Linear(2, 3), {"step": 5})

    def full_disk(*args):
        raise OSError("no space left on device")

    monkeypatch.setattr(module.torch, "save", full_disk)
    message = r"step 10 could not be written to .*no space left on device; those of steps \[5\] are whole"
    with pytest.raises(OSError, match=message):
        checkpoints.save(10, nn.Linear(2, 3), {"step": 10})
    assert [p.name for p in tmp_path.iterdir()] == ["step-000005"]
    assert checkpoints.load(5, nn.Linear(2, 3))["step"] == 5


def test_a_model_of_other_sizes_is_refused(tmp_path):
    Checkpoints(tmp_path).save(5, nn.Linear(2, 3), {})
    with pytest.raises(ValueError, match=r"of another model: weight is \(3, 2\) there and \(3, 4\) here"):
        Checkpoints(tmp_path).load(5, nn.Linear(4, 3))
    with pytest.raises(ValueError, match=r"bias is \(3,\) there and absent here"):
        Checkpoints(tmp_path).load(5, nn.Linear(2, 3, bias=False))


class Harmful:
    def __reduce__(self):
        return print, ("code from a checkpoint was run",)


def test_code_in_a_checkpoint_is_not_run(tmp_path, capsys):
    Checkpoints(tmp_path).save(5, nn.Linear(2, 3), {})
    torch.save({"step": Harmful()}, tmp_path / "step-000005" / "training.pt")
    with pytest.raises(BrokenCheckpoint, match="training.pt cannot be read"):
        Checkpoints(tmp_path).load(5, nn.Linear(2, 3))
    assert capsys.readouterr().out == ""

"""Checkpoints: whole or absent, the newest kept, each file as it was written."""

import errno

import pytest
import torch
from safetensors import SafetensorError
from torch import nn

from course_lib.training import checkpoints as module
from course_lib.training.checkpoints import Checkpoints
from course_lib.training.early_stopping import KeepBest
from course_lib.training.model_files import load_model
from course_lib.training.run_record import FORMAT, OtherRun
from course_lib.utils import tree_files
from course_lib.utils.tree_files import FILES, SUMS, Damaged, load_tree, save_tree


def test_a_full_disk_is_an_error_of_the_system_that_names_the_folder(tmp_path, monkeypatch):
    def full_disk(*args):  # in the words of safetensors
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(tree_files, "save_file", full_disk)
    best = KeepBest(nn.Linear(2, 3), lambda: 1.0, tmp_path / "best")
    with pytest.raises(OSError) as caught:
        best()
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "best"))
    assert list(tmp_path.iterdir()) == []


WEIGHTS = {"weight": torch.zeros(3, 2), "bias": torch.zeros(3)}
OTHERS = [
    ({**WEIGHTS, "weight": torch.zeros(3, 4)}, r"weight is \(3, 4\) float32 there and \(3, 2\) float32 here"),
    ({"weight": WEIGHTS["weight"]}, r"bias is absent there and \(3,\) float32 here"),
    *(
        ({**WEIGHTS, "bias": torch.zeros(3, dtype=getattr(torch, name))}, rf"bias is \(3,\) {name} there and")
        for name in ("int64", "bool", "complex64", "float16", "float64")
    ),
]


@pytest.mark.parametrize(("weights", "message"), OTHERS)
def test_weights_of_another_name_size_or_dtype_are_refused(tmp_path, weights, message):
    save_tree(tmp_path / "step-000005", {"format": FORMAT, "model": weights, "state": {}})
    with pytest.raises(OtherRun, match=f"of another model: {message}"):
        Checkpoints(tmp_path).load(5, nn.Linear(2, 3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
def test_a_saved_model_may_be_in_half_precision_but_no_other_kind_of_number(tmp_path, dtype):
    from safetensors.torch import save_file

    path, model = tmp_path / "model.safetensors", nn.Linear(2, 3)
    save_file({name: weight.to(dtype) for name, weight in model.state_dict().items()}, path)
    if dtype.is_floating_point:
        load_model(model, path)
        assert model.weight.dtype == torch.float32
    else:
        with pytest.raises(OtherRun, match=r"there and \(3,\) float here"):
            load_model(model, path)


STATE = {
    "moments": [{"step": torch.tensor(3.0), "exp_avg": torch.arange(4.0)}, {}],
    "history": {"losses": [1 / 3, 2.0], "steps": None},
    "rng": [[torch.get_rng_state()], []],
    "average": [],
    "model": {"tensor": torch.arange(3)},  # a weight of this name is no reference to one
}


def test_a_state_of_tensors_and_plain_values_comes_back_exactly(tmp_path):
    save_tree(tmp_path / "one", STATE)
    found = load_tree(tmp_path / "one")
    assert found.keys() == STATE.keys()
    assert found["history"] == STATE["history"] and found["average"] == []
    assert torch.equal(found["rng"][0][0], STATE["rng"][0][0]) and found["rng"][1] == []
    assert found["model"]["tensor"].tolist() == [0, 1, 2]
    moments, again = STATE["moments"], found["moments"]
    assert again[0].keys() == {"step", "exp_avg"} and again[1:] == [{}]
    assert all(torch.equal(moments[0][name], again[0][name]) for name in ("step", "exp_avg"))


@pytest.mark.parametrize("name", [*FILES, SUMS])
def test_a_flipped_bit_in_any_place_is_noticed(tmp_path, name):
    Checkpoints(tmp_path).save(5, nn.Linear(2, 3), STATE)
    path = tmp_path / "step-000005" / name
    content = path.read_bytes()
    for place in range(0, len(content), max(1, len(content) // 40)):
        flipped = bytes([content[place] ^ 1])
        path.write_bytes(content[:place] + flipped + content[place + 1 :])
        with pytest.raises(Damaged, match=r"step-000005 is damaged"):
            Checkpoints(tmp_path).load(5, nn.Linear(2, 3))
    path.write_bytes(content)
    Checkpoints(tmp_path).load(5, nn.Linear(2, 3))


def test_a_checkpoint_of_an_earlier_format_says_so(tmp_path):
    (tmp_path / "step-000005").mkdir()
    (tmp_path / "step-000005" / "training.json").write_bytes(b"anything")
    with pytest.raises(OtherRun, match="step-000005 is in the format of an earlier version") as caught:
        Checkpoints(tmp_path).load_newest(nn.Linear(2, 3), print)
    assert len(str(caught.value).splitlines()) == 1


def test_a_checkpoint_of_another_format_says_which(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FORMAT", FORMAT + 1)
    Checkpoints(tmp_path).save(5, nn.Linear(2, 3), {})
    monkeypatch.undo()
    with pytest.raises(OtherRun, match=f"has format {FORMAT + 1}, and this version reads format {FORMAT}"):
        Checkpoints(tmp_path).load_newest(nn.Linear(2, 3), print)

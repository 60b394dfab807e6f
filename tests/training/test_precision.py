"""Number formats: what is chosen, and what is refused."""

import subprocess
import sys
import warnings

import pytest
import torch
from helpers.small_training import parts, run

from course_lib.training import trainer
from course_lib.training.checkpoints import Checkpoints
from course_lib.training.config import TrainConfig
from course_lib.training.precision import autocast, choose_precision, for_inference
from course_lib.training.trainer import Trainer

CPU = torch.device("cpu")


def test_auto_on_a_cpu_is_fp32_whatever_would_be_faster():
    assert choose_precision("auto", CPU) == "fp32"
    assert choose_precision("bf16", CPU) == "bf16"


@pytest.mark.parametrize(("native", "chosen"), [(True, "bf16"), (False, "fp16")])
def test_auto_on_a_gpu_asks_for_bf16_without_emulation(monkeypatch, native, chosen):
    def supported(including_emulation=True):
        return including_emulation or native

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    assert choose_precision("auto", torch.device("cuda")) == chosen


@pytest.mark.parametrize(("name", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_autocast_changes_products_and_not_weights(name, dtype):
    layer = torch.nn.Linear(3, 2)
    with autocast(CPU, name):
        assert layer(torch.randn(1, 3)).dtype == dtype
    assert layer.weight.dtype == torch.float32


@pytest.mark.parametrize(("name", "message"), [("fp8", "precision='fp8'"), ("fp16", "'fp16' .* cpu")])
def test_refusals(name, message):
    with pytest.raises(ValueError, match=message):
        choose_precision(name, CPU)


@pytest.mark.parametrize("name", ["auto", "FP32", "float16", ""])
@pytest.mark.parametrize(
    "use", [lambda name: autocast(CPU, name), lambda name: for_inference(torch.nn.Linear(1, 1), name)]
)
def test_an_unknown_format_is_not_fp32(name, use):
    with pytest.raises(ValueError, match=f"^precision={name!r} is none of fp32, bf16, fp16$"):
        use(name)


def test_for_inference_leaves_the_model_as_it_is():
    layer = torch.nn.Linear(3, 2)
    half = for_inference(layer, "bf16")
    assert for_inference(layer, "fp32") is layer
    assert (half.weight.dtype, layer.weight.dtype) == (torch.bfloat16, torch.float32)
    torch.testing.assert_close(half.weight.float(), layer.weight, rtol=2**-8, atol=0)


@pytest.mark.usefixtures("one_thread")
def test_a_run_with_auto_is_the_run_with_the_format_that_it_chooses():
    assert run(steps=12, precision="auto")[0].losses == run(steps=12, precision="fp32")[0].losses


def test_a_resumed_run_keeps_its_format(tmp_path, monkeypatch):
    """A run that a GPU began in bf16 goes on in bf16 on a CPU."""
    monkeypatch.setattr(trainer, "choose_precision", lambda *_: "bf16")
    run(tmp_path, steps=6, precision="auto")
    monkeypatch.undo()
    _, objective, batches = parts()
    settings = {"lr": 3e-3, "warmup": 10, "checkpoint_every": 5}
    resumed = Trainer(objective, batches, TrainConfig(steps=6, **settings), "cpu")
    assert resumed.precision == "fp32"
    Checkpoints(tmp_path).load_newest(resumed.model, resumed.load_state_dict)
    assert resumed.precision == "bf16"


FRESH = "from helpers.small_training import run; print(repr(run(steps=4, precision='auto')[0].losses))"


@pytest.mark.slow
def test_fresh_processes_make_the_same_losses():
    """The same seed, machine and versions: every digit, in two processes."""
    losses = {
        subprocess.run([sys.executable, "-c", FRESH], capture_output=True, check=True).stdout
        for _ in range(2)
    }
    assert len(losses) == 1


def test_fp32_turns_off_what_is_around_it() -> None:
    x = torch.ones(2, 2)
    with autocast(CPU, "bf16"), warnings.catch_warnings():
        warnings.simplefilter("error")
        with autocast(CPU, "fp32"):
            assert (x @ x).dtype == torch.float32

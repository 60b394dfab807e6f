"""Number formats: what is chosen, and what is refused."""

import pytest
import torch
from helpers.small_training import parts, run

from course_lib.training import precision
from course_lib.training.checkpoints import Checkpoints
from course_lib.training.config import TrainConfig
from course_lib.training.precision import autocast, choose_precision, for_inference, precision_of_training
from course_lib.training.run_record import OtherRun
from course_lib.training.trainer import Trainer

CPU = torch.device("cpu")


@pytest.fixture
def clock(monkeypatch):
    """A processor whose matrix products are faster in bf16, and a clock that `cost` moves at each step."""
    clock = Clock()
    monkeypatch.setattr(precision, "bf16_gain", lambda: 4.0)
    monkeypatch.setattr(precision, "_fastest", {})
    monkeypatch.setattr(precision, "seconds", clock.seconds)
    return clock


class Clock:
    """Takes each step, and says that it took as long as its format costs."""

    def __init__(self):
        self.cost, self.taken = {"fp32": 1.0, "bf16": 1.0}, []

    def seconds(self, step, name):
        step(name)
        self.taken.append(name)
        return self.cost[name]


def test_auto_on_a_cpu_follows_the_measurement(monkeypatch):
    monkeypatch.setattr(precision, "bf16_gain", lambda: 2.0)
    assert choose_precision("auto", CPU) == "bf16"
    monkeypatch.setattr(precision, "bf16_gain", lambda: 1.1)
    assert choose_precision("auto", CPU) == "fp32"


@pytest.mark.parametrize(("native", "chosen"), [(True, "bf16"), (False, "fp16")])
def test_auto_on_a_gpu_asks_for_bf16_without_emulation(monkeypatch, native, chosen):
    def supported(including_emulation=True):
        return including_emulation or native

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    assert choose_precision("auto", torch.device("cuda")) == chosen


def test_the_measurement_is_a_ratio_and_takes_no_part_in_chance():
    """A training that measures, as its evaluations may, goes on to the same losses."""
    state = torch.get_rng_state()
    assert 0.01 < precision.bf16_gain(size=64, repeats=2) < 100
    assert torch.equal(torch.get_rng_state(), state)


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


def test_for_inference_leaves_the_model_as_it_is():
    layer = torch.nn.Linear(3, 2)
    half = for_inference(layer, "bf16")
    assert for_inference(layer, "fp32") is layer
    assert (half.weight.dtype, layer.weight.dtype) == (torch.bfloat16, torch.float32)
    torch.testing.assert_close(half.weight.float(), layer.weight, rtol=2**-8, atol=0)


@pytest.mark.parametrize(("cost", "chosen"), [(0.5, "bf16"), (0.89, "bf16"), (0.95, "fp32"), (2.0, "fp32")])
def test_auto_takes_the_format_whose_steps_are_faster(clock, cost, chosen):
    """fp32 is more exact: bf16 must be worth it."""
    clock.cost["bf16"] = cost
    seen = []
    assert choose_precision("auto", CPU, seen.append, "some work") == chosen
    assert seen == clock.taken == ["fp32", "bf16"] * 4


def test_each_work_is_measured_once(clock):
    clock.cost["bf16"] = 0.5
    assert choose_precision("auto", CPU, lambda name: None, "some work") == "bf16"
    clock.cost["bf16"] = 2.0
    assert choose_precision("auto", CPU, lambda name: None, "some work") == "bf16"
    assert choose_precision("auto", CPU, lambda name: None, "other work") == "fp32"


def test_nothing_is_measured_where_the_format_is_given_or_products_are_slow_in_bf16(clock, monkeypatch):
    assert choose_precision("bf16", CPU, clock.taken.append, "some work") == "bf16"
    monkeypatch.setattr(precision, "bf16_gain", lambda: 0.6)
    assert choose_precision("auto", CPU, clock.taken.append, "some work") == "fp32"
    assert clock.taken == []


def test_the_first_steps_do_not_count(clock, monkeypatch):
    times = iter([1.0, 0.1] + [1.0, 2.0] * 3)
    monkeypatch.setattr(precision, "seconds", lambda step, name: next(times))
    assert choose_precision("auto", CPU, lambda name: None, "some work") == "fp32"


def test_measuring_training_steps_leaves_everything_as_it_was(clock):
    _, objective, batches = parts(dropout=0.5)
    before = {name: value.clone() for name, value in objective.state_dict().items()}
    rng, order = torch.get_rng_state(), batches.batch_sampler.state_dict()
    precision_of_training("auto", objective, batches, CPU)
    assert clock.taken  # steps were taken
    assert all(torch.equal(value, before[name]) for name, value in objective.state_dict().items())
    assert all(p.grad is None for p in objective.parameters())
    assert torch.equal(torch.get_rng_state(), rng) and batches.batch_sampler.state_dict() == order
    assert not any("attend" in vars(module) for module in objective.modules())


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("chosen", ["fp32", "bf16"])
def test_a_run_with_auto_is_the_run_with_the_format_that_it_chooses(clock, chosen):
    clock.cost[chosen] = 0.5
    assert run(steps=12, precision="auto")[0].losses == run(steps=12, precision=chosen)[0].losses
    assert clock.taken


@pytest.mark.usefixtures("one_thread")
def test_a_resumed_run_keeps_its_format_and_does_not_measure_again(clock, tmp_path):
    clock.cost["bf16"] = 0.5
    run(tmp_path, steps=6, precision="auto")
    clock.taken.clear()
    clock.cost["bf16"] = 2.0
    precision._fastest.clear()
    _, objective, batches = parts()
    settings = {"lr": 3e-3, "warmup": 10, "checkpoint_every": 5}
    resumed = Trainer(objective, batches, TrainConfig(steps=6, **settings), "cpu")
    checkpoints = Checkpoints(tmp_path)
    checkpoints.load_newest(resumed.model, resumed.load_state_dict)
    assert resumed.step == 6 and resumed.precision == "bf16" and clock.taken == []
    stored = checkpoints.load(6, objective.model)
    assert stored["precision"] == "bf16" and stored["settings"]["precision"] == "auto"
    with pytest.raises(OtherRun, match="precision='auto' there and 'fp32' here"):
        run(tmp_path, steps=6, precision="fp32")

"""Optimizers: which weights each one moves, by how much; Muon beside AdamW; averages of the weights."""

import shutil

import pytest
import torch
from helpers.small_training import learn, parts, run
from torch import nn

from course_lib.training.checkpoints import Checkpoints
from course_lib.training.config import TrainConfig
from course_lib.training.optim import CombinedOptimizer, Muon, WeightEMA, hidden_matrices, make_optimizer

pytestmark = pytest.mark.usefixtures("one_thread")


def names(objective, weights):
    chosen = set(map(id, weights))
    return {name for name, weight in objective.named_parameters() if id(weight) in chosen}


def test_biases_and_norms_do_not_decay():
    _, objective, _ = parts()
    optimizer = make_optimizer(objective, TrainConfig(steps=1, weight_decay=0.3))
    decayed, plain = (group["params"] for group in optimizer.param_groups)
    assert all(p.ndim == 2 for p in decayed) and all(p.ndim == 1 for p in plain)
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.3, 0.0]
    assert len(decayed) + len(plain) == len(list(objective.parameters()))


def test_muon_gets_the_matrices_of_the_blocks_and_adamw_all_else():
    _, objective, _ = parts()
    optimizer = make_optimizer(objective, TrainConfig(steps=1, optimizer="muon", weight_decay=0.3))
    muon, matrices, plain = (names(objective, group["params"]) for group in optimizer.param_groups)
    assert matrices == {"model.embedding.weight"}
    assert "model.encoder.0.attention.w_q.weight" in muon and "model.decoder_norm.weight" in plain
    assert all(name.startswith(("model.encoder.", "model.decoder.")) for name in muon)
    assert all(objective.get_parameter(name).ndim == 2 for name in muon)
    assert muon | matrices | plain == {name for name, _ in objective.named_parameters()}
    assert len(muon) + len(matrices) + len(plain) == len(list(objective.parameters()))


def test_a_matrix_in_two_stacks_is_counted_once_and_frozen_ones_are_left_out():
    layer, frozen = nn.Linear(3, 4), nn.Linear(4, 5)
    frozen.requires_grad_(False)
    model = nn.ModuleList([nn.ModuleList([layer]), layer, frozen, nn.Embedding(6, 7), nn.LayerNorm(4)])
    assert hidden_matrices(model) == {layer.weight, frozen.weight}
    optimizer = make_optimizer(model, TrainConfig(steps=1, optimizer="muon"))
    trained = [id(p) for group in optimizer.param_groups for p in group["params"]]
    assert sorted(trained) == sorted(id(p) for p in model.parameters() if p.requires_grad)
    with pytest.raises(ValueError, match="optimizer='muon'"):  # without blocks
        make_optimizer(nn.Linear(2, 3), TrainConfig(steps=1, optimizer="muon"))


def test_together_takes_the_steps_of_its_optimizers():
    torch.manual_seed(0)
    a, b = nn.Parameter(torch.randn(3)), nn.Parameter(torch.randn(4))
    alone = [nn.Parameter(p.detach().clone()) for p in (a, b)]
    both = CombinedOptimizer(torch.optim.SGD([a], lr=0.1, momentum=0.9), torch.optim.AdamW([b], lr=0.2))
    apart = [torch.optim.SGD(alone[:1], lr=0.1, momentum=0.9), torch.optim.AdamW(alone[1:], lr=0.2)]
    for step in range(3):
        for weight, copy in zip((a, b), alone, strict=True):
            weight.grad = torch.full_like(weight, step + 1.0)
            copy.grad = weight.grad.clone()
        for optimizer in (both, *apart):
            for group in optimizer.param_groups:
                group["lr"] = 0.3 / (step + 1)
            optimizer.step()
            optimizer.zero_grad()
    assert a.grad is None and torch.equal(a, alone[0]) and torch.equal(b, alone[1])
    assert set(both.state) == {a, b}


SETTINGS = {
    "plain": {},
    "muon": {"optimizer": "muon"},
    "average": {"average": 0.9},
    "both": {"optimizer": "muon", "average": 0.9},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_stopped_run_resumes_to_identical_losses_and_weights(device, tmp_path, settings):
    whole, model = run(tmp_path, steps=23, device=device, **settings)
    shutil.rmtree(Checkpoints(tmp_path).path(23))  # as if it had stopped after step 20
    resumed, again = run(tmp_path, steps=23, device=device, **settings)
    assert resumed.losses == whole.losses and resumed.tokens == whole.tokens
    assert all(map(torch.equal, model.parameters(), again.parameters()))
    finished, again = run(tmp_path, steps=23, device=device, **settings)
    assert finished == resumed  # not trained again: even the seconds are the same
    assert all(map(torch.equal, model.parameters(), again.parameters()))


def test_the_average_is_a_mean_at_first_and_then_forgets_at_a_fixed_rate():
    model, seen, decay = nn.Linear(2, 3), [], 0.8
    average = WeightEMA(model, decay)
    for step in range(1, 13):
        nn.init.normal_(model.weight)
        seen.append(model.weight.detach().clone())
        average.update(step)
        if step <= 5:  # 1 / step is at least 1 - decay
            assert not average.means[model.weight].requires_grad
            assert torch.allclose(average.means[model.weight], torch.stack(seen).mean(0), atol=1e-6)
    shares = [decay**7 / 5] * 5 + [(1 - decay) * decay**k for k in range(6, -1, -1)]
    assert sum(shares) == pytest.approx(1)
    direct = sum(share * weight for share, weight in zip(shares, seen, strict=True))
    assert torch.allclose(average.means[model.weight], direct, atol=1e-6)


def test_the_average_is_evaluated_and_left_in_the_model_and_training_does_not_see_it(device, monkeypatch):
    """With a decay near 1 it is the plain mean of the weights after every step."""
    seen = []
    update = WeightEMA.update
    _, objective, batches = parts()

    def note(self, step):
        seen.append(objective.model.embedding.weight.detach().clone())
        update(self, step)

    monkeypatch.setattr(WeightEMA, "update", note)
    evaluated = []

    def evaluate():
        evaluated.append((len(seen), objective.model.embedding.weight.detach().clone()))
        return {}

    config = {"steps": 12, "lr": 3e-3, "warmup": 10, "average": 0.999, "evaluate_every": 5}
    history = learn(objective, batches, device=device, evaluate=evaluate, **config)
    assert [number for number, _ in evaluated] == [5, 10, 12]
    for number, weight in evaluated:
        assert torch.allclose(weight, torch.stack(seen[:number]).mean(0), atol=1e-6)
    assert torch.equal(objective.model.embedding.weight, evaluated[-1][1])
    assert history.losses == run(steps=12, device=device)[0].losses


SHAPES = [(8, 24), (24, 8), (8, 24), (16, 16), (8, 24)]


def weights_of(device):
    rng = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(shape, generator=rng).to(device)) for shape in SHAPES]


def test_equals_torch_s_muon(device):
    ours, theirs = weights_of(device), weights_of(device)
    mine = Muon(ours, lr=0.02, weight_decay=0.3, momentum=0.9)
    his = torch.optim.Muon(
        theirs, lr=0.02, weight_decay=0.3, momentum=0.9, adjust_lr_fn="match_rms_adamw", nesterov=True
    )
    rng = torch.Generator().manual_seed(1)
    for _ in range(4):
        for a, b in zip(ours, theirs, strict=True):
            a.grad = torch.randn(a.shape, generator=rng).to(device)
            b.grad = a.grad.clone()
        mine.step()
        his.step()
    for begin, a, b in zip(weights_of(device), ours, theirs, strict=True):
        assert (a - begin).norm() > 0.05
        assert (a - b).norm() < 0.02 * (a - begin).norm()  # both reckon in bf16


def test_its_defaults_are_those_of_torch_s():
    mine, his = (kind(weights_of("cpu"), lr=0.1).defaults for kind in (Muon, torch.optim.Muon))
    assert all(mine[name] == his[name] for name in ("lr", "weight_decay", "momentum"))


def test_no_gradient_no_step_and_zero_is_no_trouble(device):
    first, second = weights_of(device)[:2]
    before = first.detach().clone(), second.detach().clone()
    optimizer = Muon([first, second], lr=0.1, weight_decay=0.0)
    second.grad = torch.zeros_like(second)
    optimizer.step()
    assert torch.equal(first, before[0]) and torch.equal(second, before[1])

"""Optimizers: which weights each one moves, by how much; Muon beside AdamW; averages of the weights."""

import pytest
import torch
from helpers.small_training import parts, run
from torch import nn

from course_lib.training.checkpoints import Checkpoints
from course_lib.training.config import TrainConfig
from course_lib.training.optim import CombinedOptimizer, WeightEMA, hidden_matrices, make_optimizer
from course_lib.training.trainer import train

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


def test_adamw_takes_the_steps_of_torch_s_with_the_paper_s_betas():
    torch.manual_seed(0)
    model = nn.Linear(3, 4)
    matrix, bias = (nn.Parameter(p.detach().clone()) for p in model.parameters())
    ours = make_optimizer(model, TrainConfig(steps=1, lr=0.1, weight_decay=0.3))
    theirs = [
        torch.optim.AdamW([matrix], lr=0.1, betas=(0.9, 0.98), weight_decay=0.3),
        torch.optim.AdamW([bias], lr=0.1, betas=(0.9, 0.98), weight_decay=0.0),
    ]
    for _ in range(3):
        for own, copy in ((model.weight, matrix), (model.bias, bias)):
            own.grad = torch.randn(own.shape)
            copy.grad = own.grad.clone()
        for optimizer in (ours, *theirs):
            optimizer.step()
    assert torch.allclose(model.weight, matrix, atol=1e-6) and torch.allclose(model.bias, bias, atol=1e-6)


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


def test_a_model_without_blocks_is_refused():
    with pytest.raises(ValueError, match="optimizer='muon' is for the matrices of blocks"):
        make_optimizer(nn.Linear(2, 3), TrainConfig(steps=1, optimizer="muon"))


def test_one_step_of_muon_is_an_orthogonal_matrix_of_the_size_of_an_adamw_step():
    rows, columns, lr = 48, 32, 0.01
    torch.manual_seed(0)
    model = nn.ModuleList([nn.Linear(columns, rows, bias=False)])
    weight = model[0].weight
    before = weight.detach().clone()
    optimizer = make_optimizer(model, TrainConfig(steps=1, optimizer="muon", lr=lr, weight_decay=0.0))
    weight.grad = torch.randn(rows, columns)
    u, _, v = torch.linalg.svd(weight.grad, full_matrices=False)
    optimizer.step()
    moved = (before - weight.detach()) / lr
    # 0.2 · √(larger side) times a matrix whose singular values the iteration brings near 1: 0.7 … 1.2
    sizes = torch.linalg.svdvals(moved) / (0.2 * rows**0.5)
    assert 0.6 < sizes.min() and sizes.max() < 1.3
    cosine = torch.nn.functional.cosine_similarity(moved.flatten(), (u @ v).flatten(), dim=0)
    assert cosine > 0.95  # the nearest orthogonal matrix to the gradient, by its singular vectors
    rms = moved.pow(2).mean().sqrt().item()
    assert 0.1 < rms < 0.3  # AdamW's steps have about 0.2 to 0.4


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


def test_muon_learns():
    plain, _ = run(steps=60)
    muon, _ = run(steps=60, optimizer="muon")
    assert muon.losses[0] == plain.losses[0] and muon.losses[-1] < muon.losses[0] / 2


SETTINGS = [{"optimizer": "muon"}, {"average": 0.9}, {"optimizer": "muon", "average": 0.9}]


@pytest.mark.parametrize("settings", SETTINGS, ids=["muon", "average", "both"])
def test_a_stopped_run_resumes_to_identical_losses_and_weights(device, tmp_path, monkeypatch, settings):
    whole, model = run(tmp_path / "whole", steps=23, device=device, **settings)
    save = Checkpoints.save

    def save_and_stop(self, step, *parts):
        save(self, step, *parts)
        if step == 10:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoints, "save", save_and_stop)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "stopped", steps=23, device=device, **settings)
    monkeypatch.undo()
    resumed, again = run(tmp_path / "stopped", steps=23, device=device, **settings)
    assert resumed.losses == whole.losses
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    _, finished = run(tmp_path / "stopped", steps=23, device=device, **settings)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), finished.parameters(), strict=True))


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

    config = TrainConfig(steps=12, lr=3e-3, warmup=10, precision="fp32", average=0.999, evaluate_every=5)
    history = train(objective, batches, config, device=device, progress=False, evaluate=evaluate)
    assert [number for number, _ in evaluated] == [5, 10, 12]
    for number, weight in evaluated:
        assert torch.allclose(weight, torch.stack(seen[:number]).mean(0), atol=1e-6)
    assert torch.equal(objective.model.embedding.weight, evaluated[-1][1])
    assert history.losses == run(steps=12, device=device)[0].losses


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"optimizer": "sgd"}, r"optimizer='sgd' is none of \['adamw', 'muon'\]"),
        ({"average": 1.0}, r"average=1.0 is not a number in \[0, 1\)"),
        ({"average": -0.1}, "average=-0.1 is not"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(steps=1, **settings)

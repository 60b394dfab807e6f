"""Muon: the steps of PyTorch's own, for many matrices at once."""

import pytest
import torch
from torch import nn

from course_lib.training.optim import Muon, orthogonal

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


@pytest.mark.parametrize("shape", [(3, 8, 24), (2, 24, 8), (4, 16, 16)])
def test_singular_values_come_near_1(device, shape):
    torch.manual_seed(0)
    values = torch.linalg.svdvals(orthogonal(torch.randn(shape).to(device)).float())
    assert 0.3 < values.min() and values.max() < 1.3 and 0.8 < values.median() < 1.2
    assert torch.linalg.svdvals(orthogonal(100 * torch.randn(shape).to(device)).float()).max() < 1.3


def test_no_gradient_no_step_and_zero_is_no_trouble(device):
    first, second = weights_of(device)[:2]
    before = first.detach().clone(), second.detach().clone()
    optimizer = Muon([first, second], lr=0.1, weight_decay=0.0)
    second.grad = torch.zeros_like(second)
    optimizer.step()
    assert torch.equal(first, before[0]) and torch.equal(second, before[1])


def test_it_goes_on_from_its_state(device):
    runs = []
    for interrupted in (False, True):
        weights, rng = weights_of(device), torch.Generator().manual_seed(1)
        optimizer = Muon(weights, lr=0.1)
        for step in range(4):
            if interrupted and step == 2:
                state = optimizer.state_dict()
                optimizer = Muon(weights, lr=0.5)
                optimizer.load_state_dict(state)
            for weight in weights:
                weight.grad = torch.randn(weight.shape, generator=rng).to(device)
            optimizer.step()
        runs.append(weights)
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))

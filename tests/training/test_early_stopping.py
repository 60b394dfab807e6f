"""Early stopping: what is kept is the best that was seen, and not the last."""

import math

import pytest
import torch
from helpers.small_training import learn
from torch import nn

from course_lib.models.gpt import GPT, GPTConfig
from course_lib.tasks.language_modeling import LanguageModelLoss, TextBatches, mean_loss
from course_lib.training.early_stopping import KeepBest


def fill(model: nn.Linear, value: float) -> None:
    with torch.no_grad():
        model.weight.fill_(value)


def test_the_weights_of_the_lowest_loss_come_back() -> None:
    model, losses = nn.Linear(2, 3), [3.0, 1.0, 1.0, 2.0]
    keep = KeepBest(model, lambda: losses[int(model.weight[0, 0])])
    for moment in range(4):
        fill(model, moment)
        assert keep() == {"loss": losses[moment]}
    assert keep.restore() == 1.0 and (model.weight == 1).all()  # the first of two that are equally good


def test_a_training_that_goes_on_knows_the_best_from_before(tmp_path) -> None:
    model, file = nn.Linear(2, 3), tmp_path / "run" / "best.safetensors"
    first = KeepBest(model, lambda: 1 / 3, file)
    fill(model, 1.0)
    first()
    again = KeepBest(model, lambda: 2.0, file)
    fill(model, 2.0)
    assert again() == {"loss": 2.0}
    assert again.restore() == 1 / 3 and (model.weight == 1).all()


def test_where_nothing_was_measured_nothing_changes() -> None:
    model = nn.Linear(2, 3)
    fill(model, 5.0)
    assert KeepBest(model, lambda: 0.0).restore() == math.inf and (model.weight == 5).all()


@pytest.mark.parametrize("average", [0.0, 0.5])
def test_a_training_that_learns_by_heart_goes_back_to_its_best(device: str, average: float) -> None:
    """The text to train on is short and of random tokens, so that the held-out loss must rise in the end."""
    rng = torch.Generator().manual_seed(0)
    ids, held_out = torch.randint(5, 17, (120,), generator=rng), torch.randint(5, 17, (60,), generator=rng)
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab=17, d_model=32, heads=2, layers=1, max_tokens=8))
    keep = KeepBest(model, lambda: mean_loss(model, held_out))
    config = {"steps": 60, "lr": 1e-2, "warmup": 5, "evaluate_every": 10, "average": average}
    batches = TextBatches(ids, 8, 4)
    seen = learn(LanguageModelLoss(model), batches, evaluate=keep, device=device, **config)
    losses = [found["loss"] for found in seen.evaluations]
    assert len(losses) == 6 and losses[-1] > min(losses) + 0.2
    assert keep.restore() == min(losses) == pytest.approx(mean_loss(model, held_out), abs=1e-5)

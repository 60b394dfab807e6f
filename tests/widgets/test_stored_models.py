"""The stored small models behind the widgets: all there, and what training gives again."""

import copy

import pytest
import torch

from course_lib.widgets import stored
from course_lib.widgets.train_models import MODELS


def test_exactly_the_models_that_the_command_makes_are_stored() -> None:
    assert {path.stem for path in stored.FOLDER.iterdir()} == set(MODELS)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", MODELS)
def test_training_again_gives_the_stored_weights(name: str) -> None:
    """As directions: other kernels round differently. Weights of another seed have a cosine near 0."""
    trained = MODELS[name]()
    kept = stored.load(lambda: copy.deepcopy(trained), name)
    one, other = (torch.cat([p.flatten() for p in model.parameters()]) for model in (trained, kept))
    assert torch.cosine_similarity(one, other, dim=0) > 0.99


def test_saved_weights_are_those_that_are_loaded(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(stored, "FOLDER", tmp_path / "models")
    layer = torch.nn.Linear(2, 3)
    stored.save(layer, "layer")
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    loaded = stored.load(lambda: torch.nn.Linear(2, 3), "layer")
    assert torch.equal(torch.rand(2), expected)  # the random numbers of others are left alone
    assert torch.equal(loaded.weight, layer.weight) and torch.equal(loaded.bias, layer.bias)
    assert not loaded.training and not loaded.weight.requires_grad

"""Weights of the small models behind the widgets, stored so that no widget trains a model when it opens."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch
from safetensors.torch import load_file
from torch import nn

from course_lib.training.model_files import save_model

Model = TypeVar("Model", bound=nn.Module)


def load(make: Callable[[], Model], file: Path) -> Model:
    """The model that `make` builds, with the stored weights, in evaluation mode and without gradients."""
    with torch.random.fork_rng(devices=[]):  # the random initial weights are replaced
        model = make()
    model.load_state_dict(load_file(file))
    return model.eval().requires_grad_(False)


def save(model: nn.Module, file: Path) -> None:
    """Store the weights, replacing a stored file as a whole."""
    save_model(model, file)

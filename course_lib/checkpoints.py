"""Checkpoints: the model in safetensors, the state of its training beside it, written whole or not at all."""

import re
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from course_lib.files import atomic_path


class Checkpoints:
    """The folder of a run: one sub-folder `step-000123` for each of its `keep` newest checkpoints."""

    def __init__(self, folder: str | Path, keep: int = 2):
        self.folder, self.keep = Path(folder), keep

    def steps(self) -> list[int]:
        """The steps there are checkpoints of, oldest first."""
        found = (re.fullmatch(r"step-(\d+)", path.name) for path in self.folder.glob("step-*"))
        return sorted(int(match[1]) for match in found if match)

    def path(self, step: int) -> Path:
        return self.folder / f"step-{step:06d}"

    def save(self, step: int, model: nn.Module, state: dict[str, Any]) -> None:
        """Write model and training state, then forget the oldest checkpoints."""
        with atomic_path(self.path(step)) as room:
            room.mkdir()
            save_model(model, room / "model.safetensors")
            torch.save(state, room / "training.pt")
        for old in self.steps()[: -self.keep]:
            for file in self.path(old).iterdir():
                file.unlink()
            self.path(old).rmdir()

    def load(self, step: int, model: nn.Module) -> dict[str, Any]:
        """Fill the model, and return the training state: tensors and plain values only."""
        load_model(model, self.path(step) / "model.safetensors")
        return torch.load(self.path(step) / "training.pt", weights_only=True, map_location="cpu")


def save_model(model: nn.Module, path: Path) -> None:
    """Write the weights as safetensors."""
    with atomic_path(path) as room:
        save_file({name: t.contiguous() for name, t in model.state_dict().items()}, room)


def load_model(model: nn.Module, path: Path) -> None:
    """Fill the model with weights that `save_model` wrote.

    Raises ValueError where names or shapes differ: the file is that of another model.
    """
    try:
        with safe_open(path, "pt") as file:
            found = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}
    except Exception as error:  # the safetensors library raises an exception of its own
        if isinstance(error, OSError):
            raise
        raise ValueError(f"{path} is not a safetensors file: {error}") from error
    wanted = {name: tuple(t.shape) for name, t in model.state_dict().items()}
    if found != wanted:
        name = sorted(k for k in found.keys() | wanted.keys() if found.get(k) != wanted.get(k))[0]
        raise ValueError(
            f"{path} is of another model: {name} is {found.get(name, 'absent')} there "
            f"and {wanted.get(name, 'absent')} here"
        )
    model.load_state_dict(load_file(path))

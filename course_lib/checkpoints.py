"""Checkpoints: the model in safetensors, the state of its training beside it, written whole or not at all."""

import logging
import pickle
import re
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from course_lib.files import atomic_path

_log = logging.getLogger(__name__)


class BrokenCheckpoint(ValueError):
    """A checkpoint that is not whole: its files are missing, cut short, or hold something else."""


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
        """Write model and training state, then forget the oldest checkpoints.

        Raises OSError where there is no room, or no right to write; the former checkpoints stay as they are.
        """
        for rest in self.folder.glob(".step-*"):  # what a killed process was writing
            shutil.rmtree(rest, ignore_errors=True)
        try:
            with atomic_path(self.path(step)) as room:
                room.mkdir()
                save_model(model, room / "model.safetensors")
                torch.save(state, room / "training.pt")
        except (OSError, RuntimeError, SafetensorError) as error:  # both libraries have errors of their own
            kept = f"those of steps {self.steps()} are whole" if self.steps() else "there is none yet"
            message = f"the checkpoint of step {step} could not be written to {self.folder}: {error}; {kept}"
            raise OSError(message) from error
        for old in self.steps()[: -self.keep]:
            shutil.rmtree(self.path(old))

    def load(self, step: int, model: nn.Module) -> dict[str, Any]:
        """Fill the model, and return the training state: tensors and plain values only.

        Raises BrokenCheckpoint where a file is not whole, ValueError where it is of another model.
        """
        path = self.path(step)
        try:
            state = torch.load(path / "training.pt", weights_only=True, map_location="cpu")
        except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
            raise BrokenCheckpoint(f"{path / 'training.pt'} cannot be read: {error}") from error
        try:
            load_model(model, path / "model.safetensors")
        except OSError as error:
            raise BrokenCheckpoint(f"{path / 'model.safetensors'} cannot be read: {error}") from error
        return state

    def load_newest(self, model: nn.Module) -> dict[str, Any] | None:
        """As `load`, from the newest checkpoint that is whole; None where there is no checkpoint at all.

        A broken one is passed over, with a warning in the log. Raises BrokenCheckpoint where all are broken.
        """
        problems = []
        for step in reversed(self.steps()):
            try:
                return self.load(step, model)
            except BrokenCheckpoint as error:
                problems.append(str(error))
                _log.warning("passing over a broken checkpoint, going back to the one before: %s", error)
        if not problems:
            return None
        raise BrokenCheckpoint(
            f"no checkpoint in {self.folder} is whole; delete it to begin anew: {'; '.join(problems)}"
        )


def save_model(model: nn.Module, path: Path) -> None:
    """Write the weights as safetensors."""
    with atomic_path(path) as room:
        save_file({name: t.contiguous() for name, t in model.state_dict().items()}, room)


def load_model(model: nn.Module, path: Path) -> None:
    """Fill the model with weights that `save_model` wrote.

    Raises BrokenCheckpoint where the file is not whole, and ValueError where names or shapes differ: then it
    is that of another model.
    """
    try:
        with safe_open(path, "pt") as file:
            found = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}
    except SafetensorError as error:
        raise BrokenCheckpoint(f"{path} is not a whole safetensors file: {error}") from error
    wanted = {name: tuple(t.shape) for name, t in model.state_dict().items()}
    if found != wanted:
        name = sorted(k for k in found.keys() | wanted.keys() if found.get(k) != wanted.get(k))[0]
        raise ValueError(
            f"{path} is of another model: {name} is {found.get(name, 'absent')} there "
            f"and {wanted.get(name, 'absent')} here"
        )
    model.load_state_dict(load_file(path))


def random_states(device: torch.device) -> list[Tensor]:
    """Where the chance of this process stands: on the CPU, and then on `device` where that is a GPU."""
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state(device)] if device.type == "cuda" else [])]


def set_random_states(states: list[Tensor], device: torch.device) -> None:
    """Go on from there; what a device of another kind has drawn is passed over."""
    torch.set_rng_state(states[0])
    if device.type == "cuda" and len(states) > 1:
        torch.cuda.set_rng_state(states[1], device)

"""Checkpoints: weights and training state in safetensors and JSON, written atomically."""

import hashlib
import json
import logging
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from course_lib.training.run_record import FORMAT, OtherRun
from course_lib.utils.files import atomic_path

_log = logging.getLogger(__name__)

FILES = ("model.safetensors", "training.safetensors", "training.json")
SUMS = "SHA256SUMS"  # in the format of the command sha256sum
UNUSABLE = (LookupError, TypeError, AttributeError, ValueError, RuntimeError)  # raised by an invalid state


class BrokenCheckpoint(ValueError):
    """A checkpoint with a missing, damaged, or invalid file."""


class Checkpoints:
    """The checkpoints of a run: the `keep` newest, each in a subfolder such as `step-000123`.

    Raises ValueError if `keep` is less than 1.
    """

    def __init__(self, folder: str | Path, keep: int = 2):
        if keep < 1:
            raise ValueError(f"keep={keep} must be at least 1: a run resumes from its newest checkpoint")
        self.folder, self.keep = Path(folder), keep

    def steps(self) -> list[int]:
        """The steps with a checkpoint, in order."""
        found = (re.fullmatch(r"step-(\d+)", path.name) for path in self.folder.glob("step-*"))
        return sorted(int(match[1]) for match in found if match)

    def path(self, step: int) -> Path:
        return self.folder / f"step-{step:06d}"

    def save(self, step: int, model: nn.Module, state: Any) -> None:
        """Write the model and the training state, then delete the oldest checkpoints.

        Raises OSError if the disk is full or not writable; earlier checkpoints are not affected.
        """
        for rest in self.folder.glob(".step-*"):  # left by a killed process
            shutil.rmtree(rest, ignore_errors=True)
        try:
            write_checkpoint(self.path(step), model.state_dict(), state)
        except (OSError, RuntimeError, SafetensorError) as error:  # safetensors has its own errors
            kept = f"steps {self.steps()} are intact" if self.steps() else "there is none yet"
            message = f"the checkpoint of step {step} could not be written to {self.folder}: {error}; {kept}"
            raise OSError(message) from error
        for old in self.steps()[: -self.keep]:
            shutil.rmtree(self.path(old))

    def load(self, step: int, model: nn.Module) -> Any:
        """Load the weights into the model, and return the training state.

        Raises BrokenCheckpoint if a file is damaged, OtherRun if it is of another model or format.
        """
        weights, state = read_checkpoint(self.path(step), model.state_dict())
        model.load_state_dict(weights)
        return state

    def load_newest(self, model: nn.Module, restore: Callable[[Any], None] = lambda state: None) -> Any:
        """Like `load`, from the newest usable checkpoint; returns None if there is no checkpoint.

        restore: restores the training state; a checkpoint for which it fails counts as broken.
        Broken checkpoints are skipped with a warning. Raises BrokenCheckpoint if all are broken.
        """
        problems = []
        for step in reversed(self.steps()):
            try:
                state = self.load(step, model)
                restore(state)
                return state
            except OtherRun:
                raise
            except BrokenCheckpoint as error:
                problems.append(str(error))
            except UNUSABLE as error:
                reason = f"{type(error).__name__}: {error}".splitlines()[0]
                problems.append(f"{self.path(step)} has no usable training state: {reason}")
            _log.warning("skipping a broken checkpoint, trying the one before: %s", problems[-1])
        if problems:
            intact = f"no checkpoint in {self.folder} is intact; delete it to start over"
            raise BrokenCheckpoint(f"{intact}: {'; '.join(problems)}")
        return None


def write_checkpoint(path: Path, weights: dict[str, Tensor], state: Any) -> None:
    """Write a folder with weights, training state (tensors and plain values), and checksums."""
    tensors: dict[str, Tensor] = {}

    def move(tensor: Tensor) -> dict[str, str]:
        """Move a tensor out of the JSON, and refer to it by its number."""
        tensors[str(len(tensors))] = tensor.contiguous()
        return {"tensor": str(len(tensors) - 1)}

    content = json.dumps({"format": FORMAT, "state": state}, default=move)
    with atomic_path(path) as room:
        room.mkdir()
        save_file({name: tensor.contiguous() for name, tensor in weights.items()}, room / FILES[0])
        save_file(tensors, room / FILES[1])
        (room / FILES[2]).write_text(content, encoding="utf-8")
        (room / SUMS).write_text(file_sums(room), encoding="utf-8")


def read_checkpoint(path: Path, like: dict[str, Tensor]) -> tuple[dict[str, Tensor], Any]:
    """Read the weights and the training state in a folder by `write_checkpoint`.

    like: weights with the expected names, shapes and dtypes. Errors: as in `Checkpoints.load`.
    """
    if (path / "training.pt").exists():
        raise OtherRun(f"{path} is in the format of an earlier version of the course and cannot be resumed")

    def put_back(part: dict[str, Any]) -> Any:
        if part.keys() == {"tensor"}:
            return tensors[part["tensor"]]
        # optimizers number their parameters, and JSON's keys are strings
        return {int(key) if key.isdigit() else key: value for key, value in part.items()}

    try:
        if (path / SUMS).read_text(encoding="utf-8") != file_sums(path):
            raise BrokenCheckpoint(f"{path} is damaged: the checksums of its files are not those in {SUMS}")
        tensors = load_file(path / FILES[1])
        content = json.loads((path / FILES[2]).read_text(encoding="utf-8"), object_hook=put_back)
        if content["format"] == FORMAT:
            return read_weights(path / FILES[0], like), content["state"]
    except (OSError, LookupError, TypeError, UnicodeError, json.JSONDecodeError, SafetensorError) as error:
        raise BrokenCheckpoint(f"{path} does not hold a checkpoint: {error!r}") from error
    raise OtherRun(f"{path} has format {content['format']!r}, and this version reads format {FORMAT}")


def file_sums(path: Path) -> str:
    """The checksum and the name of each file of a checkpoint, a line for each."""
    return "".join(f"{hashlib.sha256((path / name).read_bytes()).hexdigest()}  {name}\n" for name in FILES)


def save_model(model: nn.Module, path: Path) -> None:
    """Write the weights as safetensors."""
    with atomic_path(path) as room:
        save_file({name: t.contiguous() for name, t in model.state_dict().items()}, room)


def load_model(model: nn.Module, path: Path) -> None:
    """Load weights by `save_model`; they may be stored in half precision.

    Raises BrokenCheckpoint if the file is damaged, and OtherRun if names, shapes or dtypes differ.
    """
    model.load_state_dict(read_weights(path, model.state_dict(), any_float=True))


def read_weights(path: Path, like: dict[str, Tensor], any_float: bool = False) -> dict[str, Tensor]:
    """Read the tensors in a file, and check that they have the names, shapes and dtypes of `like`.

    any_float: treat all floating-point dtypes as equal.
    Raises BrokenCheckpoint if the file is damaged, and OtherRun for other names, shapes or dtypes.
    """
    try:
        found = load_file(path)
    except SafetensorError as error:
        raise BrokenCheckpoint(f"{path} is not a whole safetensors file: {error}") from error
    for name in sorted(found.keys() | like.keys()):
        there, here = (form(part.get(name), any_float) for part in (found, like))
        if there != here:
            raise OtherRun(f"{path} is of another model: {name} is {there} there and {here} here")
    return found


def form(tensor: Tensor | None, any_float: bool = False) -> str:
    """Shape and dtype as text."""
    if tensor is None:
        return "absent"
    dtype = "float" if any_float and tensor.is_floating_point() else str(tensor.dtype).removeprefix("torch.")
    return f"{tuple(tensor.shape)} {dtype}"


def random_states(device: torch.device) -> list[Tensor]:
    """States of the random generators: of the CPU, and of `device` if it is a GPU."""
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state(device)] if device.type == "cuda" else [])]


def set_random_states(states: list[Tensor], device: torch.device) -> None:
    """Restore `random_states`; the state of a GPU is ignored on a CPU."""
    torch.set_rng_state(states[0])
    if device.type == "cuda" and len(states) > 1:
        torch.cuda.set_rng_state(states[1], device)

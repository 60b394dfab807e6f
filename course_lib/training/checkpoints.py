"""Checkpoints: weights and training state in safetensors and JSON, written atomically."""

import hashlib
import json
import logging
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from course_lib.training.model_files import BrokenCheckpoint, read_weights
from course_lib.training.run_record import FORMAT, OtherRun
from course_lib.utils.files import atomic_path, check_writable

_log = logging.getLogger(__name__)

FILES = ("model.safetensors", "training.safetensors", "training.json")
SUMS = "SHA256SUMS"  # in the format of the command sha256sum
# raised by a damaged checkpoint (a BrokenCheckpoint is a ValueError), a missing file, and an invalid state
UNUSABLE = (OSError, LookupError, TypeError, AttributeError, ValueError, RuntimeError, SafetensorError)


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

    def check_disk(self, size: int, steps: int | None, every: int) -> None:
        """Raise OSError if the folder is not writable, or has no room for the checkpoints of a run.

        size: of one checkpoint, in bytes. steps: of the run, None if unknown. every: steps between two
        checkpoints; 0 means only one, at the end.
        """
        written = 1 + (steps // every if every else 0) if steps else 10  # 10: a guess
        # the newest is written before the oldest is deleted
        check_writable(self.folder, size * (1 + min(self.keep, written)))

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

        Raises BrokenCheckpoint if a file is damaged, FileNotFoundError if it is missing, and OtherRun if it
        is of another model or format.
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
            except UNUSABLE as error:
                reason = f"{type(error).__name__}: {error}".splitlines()[0]
                problems.append(f"{self.path(step).name} has no usable training state: {reason}")
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
        (room / SUMS).write_bytes(file_sums(room))


def read_checkpoint(path: Path, like: dict[str, Tensor]) -> tuple[dict[str, Tensor], Any]:
    """Read the weights and the training state in a folder by `write_checkpoint`.

    like: weights with the expected names, shapes and dtypes. Errors: as in `Checkpoints.load`.
    """
    if (path / "training.pt").exists():
        raise OtherRun(f"{path} is in the format of an earlier version of the course and cannot be resumed")
    if (path / SUMS).read_bytes() != file_sums(path):
        raise BrokenCheckpoint(f"{path} is damaged: the checksums of its files are not those in {SUMS}")
    tensors = load_file(path / FILES[1])

    def put_back(part: dict[str, Any]) -> Any:
        if part.keys() == {"tensor"}:
            return tensors[part["tensor"]]
        # optimizers number their parameters, and JSON's keys are strings
        return {int(key) if key.isdigit() else key: value for key, value in part.items()}

    content = json.loads((path / FILES[2]).read_text(encoding="utf-8"), object_hook=put_back)
    if content["format"] != FORMAT:
        raise OtherRun(f"{path} has format {content['format']!r}, and this version reads format {FORMAT}")
    return read_weights(path / FILES[0], like), content["state"]


def file_sums(path: Path) -> bytes:
    """The checksum and the name of each file of a checkpoint, a line for each."""
    lines = (f"{hashlib.sha256((path / name).read_bytes()).hexdigest()}  {name}\n" for name in FILES)
    return "".join(lines).encode()

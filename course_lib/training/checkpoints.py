"""Checkpoints: the weights and the training state of a run, written atomically and with checksums."""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn

from course_lib.training.model_files import BrokenCheckpoint, check_weights
from course_lib.training.run_record import FORMAT, OtherRun
from course_lib.utils.ranges import check_whole_numbers
from course_lib.utils.tree_files import check_savable, load_tree, save_tree

_log = logging.getLogger(__name__)


class Checkpoints:
    """The checkpoints of a run: the `keep` newest, each in a subfolder such as `step-000123`.

    Raises ValueError if `keep` is less than 1: a run resumes from its newest checkpoint.

    >>> from tempfile import TemporaryDirectory
    >>> from torch import nn
    >>> with TemporaryDirectory() as folder:
    ...     checkpoints = Checkpoints(folder, keep=2)
    ...     for step in (10, 20, 30):
    ...         checkpoints.save(step, nn.Linear(2, 2), state={})
    ...     checkpoints.steps()
    [20, 30]
    """

    def __init__(self, folder: str | Path, keep: int = 2):
        self.folder, self.keep = Path(folder), keep
        check_whole_numbers(self, 1, "keep")

    def steps(self) -> list[int]:
        """The steps with a checkpoint, in order."""
        numbers = [path.name.removeprefix("step-") for path in self.folder.glob("step-*")]
        return sorted(int(number) for number in numbers if number.isdecimal())

    def path(self, step: int) -> Path:
        return self.folder / f"step-{step:06d}"

    def check(self, model: nn.Module, state: dict[str, Any]) -> None:
        """Raise ValueError for a weight or a part of the training state that could not be saved."""
        for name, part in {**model.state_dict(), **state}.items():
            check_savable(name, part)

    def save(self, step: int, model: nn.Module, state: Any) -> None:
        """Write the model and the training state (see `save_tree`), then delete the oldest checkpoints.

        Raises OSError if the disk is full or not writable; earlier checkpoints are not affected.
        """
        for rest in self.folder.glob(".step-*"):  # left by a killed process
            shutil.rmtree(rest, ignore_errors=True)
        try:
            save_tree(self.path(step), {"format": FORMAT, "model": model.state_dict(), "state": state})
        except OSError as error:
            kept = f"steps {self.steps()} are intact" if self.steps() else "there is none yet"
            why = f"{error.strerror or error}; {kept}"
            raise OSError(f"step {step} could not be written to {self.folder}: {why}") from error
        for old in self.steps()[: -self.keep]:
            shutil.rmtree(self.path(old))

    def load(self, step: int, model: nn.Module) -> Any:
        """Load the weights into the model, and return the training state.

        Raises Damaged or FileNotFoundError if a file is damaged or missing, and OtherRun if the checkpoint is
        of another model or format.
        """
        path = self.path(step)
        if (path / "training.json").exists():
            raise OtherRun(f"{path} is in the format of an earlier version of the course")
        tree = load_tree(path)
        if tree["format"] != FORMAT:
            raise OtherRun(f"{path} has format {tree['format']!r}, and this version reads format {FORMAT}")
        check_weights(path, tree["model"], model.state_dict())
        model.load_state_dict(tree["model"])
        return tree["state"]

    def load_newest(self, model: nn.Module, restore: Callable[[Any], None]) -> None:
        """Load the newest usable checkpoint, if there is one.

        restore: restores the training state; a checkpoint for which it fails counts as broken.
        Broken checkpoints are skipped with a warning. Raises BrokenCheckpoint if all are broken.
        """
        broken = []
        for step in reversed(self.steps()):
            try:
                return restore(self.load(step, model))
            except OtherRun:
                raise
            except Exception as error:  # a damaged or missing file, or a state that does not fit the run
                broken.append(f"{self.path(step).name} has no usable training state: {error!r}")
                _log.warning("skipping a broken checkpoint, trying the one before: %s", broken[-1])
        if broken:
            start = f"no checkpoint in {self.folder} is intact; delete it to start over: "
            raise BrokenCheckpoint(start + "; ".join(broken))

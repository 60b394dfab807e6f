"""Early stopping: a training is left with the weights that it had when held-out data were predicted best."""

import math
from collections.abc import Callable
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from course_lib.files import atomic_path


class KeepBest:
    """The evaluation of a `course_lib.training.train` that also remembers the weights of its best moment.

    model: that is in training. loss: measures it on held-out data; the lower, the better.
    file: where they are written, too. A training that goes on from a checkpoint reads them there; without it,
    such a one remembers only what it has seen since then.
    """

    def __init__(self, model: nn.Module, loss: Callable[[], float], file: Path | None = None):
        self.model, self.measure, self.file = model, loss, file
        self.lowest = math.inf
        self.weights: dict[str, Tensor] = {}
        if file is not None and file.exists():
            with safe_open(file, "pt") as kept:
                self.lowest = float(kept.metadata()["loss"])
                self.weights = {name: kept.get_tensor(name) for name in kept.keys()}

    def __call__(self) -> dict[str, float]:
        """Measure the model, and remember its weights if none before were better."""
        loss = self.measure()
        if loss < self.lowest:
            self.lowest = loss
            self.weights = {name: weight.detach().clone() for name, weight in self.model.state_dict().items()}
            self.write()
        return {"loss": loss}

    def write(self) -> None:
        """Write the weights and their loss to the file, if there is one."""
        if self.file is not None:
            with atomic_path(self.file) as room:
                weights = {name: weight.contiguous() for name, weight in self.weights.items()}
                save_file(weights, room, metadata={"loss": repr(self.lowest)})

    def restore(self) -> float:
        """Give the model the weights of the best moment, and return their loss.

        Where nothing has been measured the model stays as it is, and the loss is infinite.
        """
        if self.weights:
            self.model.load_state_dict(self.weights)
        return self.lowest

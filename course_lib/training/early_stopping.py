"""Early stopping: keep the weights with the lowest validation loss."""

import math
from collections.abc import Callable
from pathlib import Path

from torch import Tensor, nn

from course_lib.training.checkpoints import read_checkpoint, write_checkpoint


class KeepBest:
    """Early stopping: pass it to `train` as `evaluate`, and call `restore` at the end.

    model: the one that is trained. loss: returns its loss on held-out data.
    folder: also write the best weights there, so that a resumed run finds them.
    Raises BrokenCheckpoint or OtherRun if the files in the folder are not usable.
    """

    def __init__(self, model: nn.Module, loss: Callable[[], float], folder: Path | None = None):
        self.model, self.measure, self.folder = model, loss, folder
        self.lowest = math.inf
        self.weights: dict[str, Tensor] = {}
        if folder is not None and folder.exists():
            self.weights, state = read_checkpoint(folder, model.state_dict())
            self.lowest = state["loss"]

    def __call__(self) -> dict[str, float]:
        """Evaluate the model, and keep its weights if they are the best so far."""
        loss = self.measure()
        if loss < self.lowest:
            self.lowest = loss
            self.weights = {name: weight.detach().clone() for name, weight in self.model.state_dict().items()}
            if self.folder is not None:
                write_checkpoint(self.folder, self.weights, {"loss": loss})
        return {"loss": loss}

    def restore(self) -> float:
        """Load the best weights into the model, and return their loss.

        Without any evaluation so far, the model stays as it is, and the loss is infinite.
        """
        if self.weights:
            self.model.load_state_dict(self.weights)
        return self.lowest

"""Early stopping: keep the weights with the lowest validation loss."""

import copy
import math
from collections.abc import Callable
from pathlib import Path

from torch import Tensor, nn

from course_lib.training.model_files import check_weights
from course_lib.utils.tree_files import check_savable, load_tree, save_tree


class KeepBest:
    """Early stopping: pass it to `train` as `evaluate`, and call `restore` at the end.

    model: the one that is trained. loss: returns its loss on held-out data.
    folder: also write the best weights there, so that a resumed run finds them.
    Raises Damaged or OtherRun if the files in the folder are not usable; ValueError for weights that cannot
    be saved there.

    >>> from torch import nn
    >>> losses = iter([3.0, 1.0, 2.0])
    >>> best = KeepBest(nn.Linear(2, 2), loss=lambda: next(losses))
    >>> [best(), best(), best()]
    [{'loss': 3.0}, {'loss': 1.0}, {'loss': 2.0}]
    >>> best.restore()  # the weights of the second evaluation
    1.0
    """

    def __init__(self, model: nn.Module, loss: Callable[[], float], folder: Path | None = None):
        self.model, self.measure, self.folder = model, loss, folder
        self.lowest = math.inf
        self.weights: dict[str, Tensor] = {}
        if folder is not None and folder.exists():
            best = load_tree(folder)
            self.lowest, self.weights = best["loss"], best["weights"]
            check_weights(folder, self.weights, model.state_dict())
        elif folder is not None:
            check_savable("the model", model.state_dict())

    def __call__(self) -> dict[str, float]:
        """Evaluate the model, and keep its weights if they are the best so far."""
        loss = self.measure()
        if loss < self.lowest:
            self.lowest = loss
            self.weights = copy.deepcopy(self.model.state_dict())
            if self.folder is not None:
                save_tree(self.folder, {"loss": loss, "weights": self.weights})
        return {"loss": loss}

    def restore(self) -> float:
        """Load the best weights into the model, and return their loss.

        Without any evaluation so far, the model stays as it is, and the loss is infinite.
        """
        if self.weights:
            self.model.load_state_dict(self.weights)
        return self.lowest

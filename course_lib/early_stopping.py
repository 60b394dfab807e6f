"""Early stopping: a training is left with the weights that it had when held-out data were predicted best."""

import math
from collections.abc import Callable

from torch import Tensor, nn


class KeepBest:
    """The evaluation of a `course_lib.training.train` that also remembers the weights of its best moment.

    model: that is in training. loss: measures it on held-out data; the lower, the better.
    A training that goes on from a checkpoint remembers what it has seen since then.
    """

    def __init__(self, model: nn.Module, loss: Callable[[], float]):
        self.model, self.measure = model, loss
        self.lowest = math.inf
        self.weights: dict[str, Tensor] = {}

    def __call__(self) -> dict[str, float]:
        """Measure the model, and remember its weights if none before were better."""
        loss = self.measure()
        if loss < self.lowest:
            self.lowest = loss
            self.weights = {name: weight.detach().clone() for name, weight in self.model.state_dict().items()}
        return {"loss": loss}

    def restore(self) -> float:
        """Give the model the weights of the best moment, and return their loss.

        Where nothing has been measured the model stays as it is, and the loss is infinite.
        """
        if self.weights:
            self.model.load_state_dict(self.weights)
        return self.lowest

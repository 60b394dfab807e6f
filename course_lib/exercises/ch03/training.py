"""The training loop."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal
from course_lib.layers.multi_head_attention import MultiHeadAttention

Batches = list[tuple[Tensor, Tensor]]


def _train(
    zero: bool = True,
    step: bool = True,
    see_answer: bool = False,
    after: bool = False,
    loss: Answer = F.mse_loss,
) -> Answer:
    """A training loop, with one part left out or changed."""

    def train(layer: nn.Module, optimizer: Optimizer, batches: Batches) -> list[float]:
        losses = []
        for x, y in batches:
            memory = y if see_answer else x
            value = loss(layer(x, memory), y)
            if zero:
                optimizer.zero_grad()
            value.backward()
            if step:
                optimizer.step()
            losses.append((loss(layer(x, memory), y) if after else value).item())
        return losses

    return train


def _arguments(optimizer: type[Optimizer], rate: float) -> tuple[nn.Module, Optimizer, Batches]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer = MultiHeadAttention(8, 2)
    batches = [(normal(2, 3, 8, seed=i), normal(2, 3, 8, seed=100 + i)) for i in range(4)]
    return layer, optimizer(layer.parameters(), lr=rate), batches


TRAIN = Exercise(
    id="03.train",
    reference=lambda layer, optimizer, batches: _train()(layer, optimizer, batches),
    inputs=(_arguments(torch.optim.SGD, 0.5), _arguments(torch.optim.Adam, 0.05)),
    mistakes=(
        mistake(
            "your code adds up the gradients of all batches",
            "backward() adds to the gradients that are already there. Call optimizer.zero_grad() before it.",
            _train(zero=False),
        ),
        mistake(
            "your code never changes the parameters",
            "After backward(), call optimizer.step(). If you do, check that zero_grad() does not come "
            "between them: it deletes the gradients.",
            _train(step=False),
        ),
        mistake(
            "your code shows the target to the layer",
            "layer(x, y) takes keys and values from the answer. In self-attention, the tokens look at one "
            "another: layer(x, x).",
            _train(see_answer=True),
        ),
        mistake(
            "your loss is not the mean squared error",
            "Use F.mse_loss(layer(x, x), y): the mean over all numbers of the squared difference.",
            _train(loss=F.l1_loss),
            _train(loss=lambda mine, right: F.mse_loss(mine, right, reduction="sum")),
        ),
        mistake(
            "your code measures the loss after the step",
            "Then the layer has already seen the batch. Keep the loss that you called backward() on.",
            _train(after=True),
        ),
        mistake(
            "your code returns only the last loss",
            "Return a list with one number per batch. Append loss.item() inside the loop.",
            lambda layer, optimizer, batches: _train()(layer, optimizer, batches)[-1],
        ),
    ),
)

"""The mean and the maximum over the tokens of a text, padding left out."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake


def random_states(batch: int, tokens: int, d_model: int, seed: int = 0) -> Tensor:
    return torch.randn(batch, tokens, d_model, generator=torch.Generator().manual_seed(seed)) - 0.5


SMALL = (torch.tensor([[[1.0, -2.0], [3.0, -6.0], [8.0, 4.0]]]), torch.tensor([[True, True, False]]))
LARGE = (
    random_states(3, 5, 4),
    torch.tensor([[1, 1, 1, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 1, 0]], dtype=torch.bool),
)
PADDED = (SMALL, LARGE)


def average(states: Tensor, real: Tensor) -> Tensor:
    return (states * real[..., None]).sum(dim=1) / real.sum(dim=1, keepdim=True)


MEAN = Exercise(
    id="09.mean",
    reference=average,
    inputs=PADDED,
    mistakes=(
        mistake(
            "counts the padding in the mean",
            "The states of padding mean nothing, and how many there are depends on the longest text of the "
            "batch. Leave them out of the sum and out of the number.",
            lambda states, real: states.mean(dim=1),
        ),
        mistake(
            "divides by the padded length",
            "The sum is right, but it is divided by all places. A short text in a long batch then has a "
            "small vector: divide by the number of its real tokens.",
            lambda states, real: (states * real[..., None]).mean(dim=1),
        ),
        mistake(
            "pools over the wrong axis",
            "Axis 0 is the batch, axis 1 the tokens, axis 2 the features. The tokens are to vanish.",
            lambda states, real: (states * real[..., None]).sum(dim=2) / real.sum(dim=1, keepdim=True),
            lambda states, real: states.mean(dim=2),
            lambda states, real: states.mean(dim=0),
        ),
        mistake(
            "averages over the batch as well",
            "Each text has its own number of tokens, and its own mean: sum over axis 1 alone.",
            lambda states, real: (states * real[..., None]).sum(dim=1) / real.sum(),
            lambda states, real: states[real].mean(dim=0).expand(len(states), -1),
        ),
        mistake(
            "averages the padding instead",
            "In this course True means: this is a real token.",
            lambda states, real: (states * ~real[..., None]).sum(dim=1) / (~real).sum(dim=1, keepdim=True),
        ),
        mistake(
            "sums up",
            "The sum grows with the length of the text. Divide by the number of real tokens.",
            lambda states, real: (states * real[..., None]).sum(dim=1),
        ),
    ),
)

MAX = Exercise(
    id="09.max",
    reference=lambda states, real: states.masked_fill(~real[..., None], -torch.inf).amax(dim=1),
    inputs=(
        (torch.tensor([[[1.0, -2.0], [3.0, -6.0], [8.0, 4.0]]]), torch.tensor([[True, True, False]])),
        LARGE,
    ),
    mistakes=(
        mistake(
            "lets padding win",
            "Where padding has the largest value of a feature, it becomes the feature of the text. Take the "
            "padding out of the running first.",
            lambda states, real: states.amax(dim=1),
        ),
        mistake(
            "sets padding to 0",
            "Where all real values of a feature are negative, the 0 of the padding wins. Only −∞ never does.",
            lambda states, real: (states * real[..., None]).amax(dim=1),
        ),
        mistake(
            "pools over the wrong axis",
            "Axis 1 holds the tokens. The maximum is taken over them, for each feature by itself.",
            lambda states, real: states.masked_fill(~real[..., None], -torch.inf).amax(dim=2),
            lambda states, real: states.masked_fill(~real[..., None], -torch.inf).amax(dim=0),
        ),
        mistake(
            "takes one whole token",
            "The maximum is of each feature by itself: they may come from different tokens.",
            lambda states, real: states[
                torch.arange(len(states)),
                states.sum(dim=-1).masked_fill(~real, -torch.inf).argmax(dim=1),
            ],
        ),
        mistake(
            "hides the real tokens",
            "True means: this is a real token. Fill where it is False.",
            lambda states, real: states.masked_fill(real[..., None], -torch.inf).amax(dim=1),
        ),
    ),
)

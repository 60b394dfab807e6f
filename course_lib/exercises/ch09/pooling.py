"""Mean and max pooling over the non-padding tokens."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake


def random_states(batch: int, tokens: int, d_model: int, seed: int = 0) -> Tensor:
    return torch.randn(batch, tokens, d_model, generator=torch.Generator().manual_seed(seed)) - 0.5


SMALL = (torch.tensor([[[1.0, -2.0], [3.0, -6.0], [8.0, 4.0]]]), torch.tensor([[True, True, False]]))
LARGE = (
    random_states(3, 5, 4).round(),  # some features of real tokens are 0
    torch.tensor([[1, 1, 1, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 1, 0]], dtype=torch.bool),
)
FAR_BELOW = (-1e5 * (2 + LARGE[0].abs()), LARGE[1])  # no fill value of the size of -1000 is below these
PADDED = (SMALL, LARGE)


def average(states: Tensor, real: Tensor) -> Tensor:
    return (states * real[..., None]).sum(dim=1) / real.sum(dim=1, keepdim=True)


def _dropped_axis(states: Tensor, real: Tensor) -> Tensor:
    return (states * real[..., None]).sum(dim=1) / real.sum(dim=1)


MEAN = Exercise(
    id="09.mean",
    reference=average,
    inputs=PADDED,
    mistakes=(
        mistake(
            "your mean counts the padding",
            "The hidden states of padding mean nothing, and how many there are depends on the longest "
            "text in the batch. Leave them out of the sum and out of the count.",
            lambda states, real: states.mean(dim=1),
        ),
        mistake(
            "your mean divides by the padded length",
            "The sum is right, but a short text in a long batch then gets a small vector. Divide by "
            "the number of real tokens.",
            lambda states, real: (states * real[..., None]).mean(dim=1),
        ),
        mistake(
            "your code pools over the wrong axis",
            "Axis 0 is the batch, axis 1 the tokens, axis 2 the features. Pool over axis 1.",
            lambda states, real: (states * real[..., None]).sum(dim=2) / real.sum(dim=1, keepdim=True),
            lambda states, real: states.mean(dim=2),
            lambda states, real: states.mean(dim=0),
        ),
        mistake(
            "your code also averages over the batch",
            "Each text has its own number of tokens and its own mean. Sum over axis 1 only.",
            lambda states, real: (states * real[..., None]).sum(dim=1) / real.sum(),
            lambda states, real: states[real].mean(dim=0).expand(len(states), -1),
            lambda states, real: states[real].mean(dim=0),
        ),
        mistake(
            "your code averages the padding",
            "In this course, `real` is True for real tokens. Do not invert it.",
            lambda states, real: (states * ~real[..., None]).sum(dim=1) / (~real).sum(dim=1, keepdim=True),
            lambda states, real: (states * ~real[..., None]).sum(dim=1) / real.sum(dim=1, keepdim=True),
        ),
        mistake(
            "your mean divides by a wrong number of tokens",
            "Divide by the number of real tokens of each text: real.sum(dim=1, keepdim=True).",
            lambda states, real: (states * real[..., None]).sum(dim=1) / len(states),
            lambda states, real: (states * real[..., None]).sum(dim=1) / states.shape[-1],
        ),
        mistake(
            "your code returns a sum",
            "The sum grows with the length of the text. Divide by the number of real tokens.",
            lambda states, real: (states * real[..., None]).sum(dim=1),
        ),
        mistake(
            "your code drops the axis of the count",
            "real.sum(dim=1) has shape (batch,). Keep the axis, so that each text is divided by its own "
            "number: keepdim=True.",
            _dropped_axis,
        ),
        mistake(
            "your sum counts the padding",
            "The number of tokens is right, but the sum must leave out the padding as well.",
            lambda states, real: states.sum(dim=1) / real.sum(dim=1, keepdim=True),
        ),
    ),
)


def _filled(number: float) -> Answer:
    return lambda states, real: states.masked_fill(~real[..., None], number).amax(dim=1)


MAX = Exercise(
    id="09.max",
    reference=lambda states, real: states.masked_fill(~real[..., None], -torch.inf).amax(dim=1),
    inputs=(
        (torch.tensor([[[1.0, -2.0], [3.0, -6.0], [8.0, 4.0]]]), torch.tensor([[True, True, False]])),
        LARGE,
        FAR_BELOW,
    ),
    mistakes=(
        mistake(
            "your maximum includes the padding",
            "If padding has the largest value of a feature, it decides that feature of the text. Set "
            "padding to −∞ first.",
            lambda states, real: states.amax(dim=1),
        ),
        mistake(
            "your code sets padding to 0",
            "If all real values of a feature are negative, the 0 of the padding wins. Only −∞ never does.",
            lambda states, real: (states * real[..., None]).amax(dim=1),
        ),
        mistake(
            "your code pools over the wrong axis",
            "Axis 1 holds the tokens. Take the maximum over them, for each feature separately.",
            lambda states, real: states.masked_fill(~real[..., None], -torch.inf).amax(dim=2),
            lambda states, real: states.masked_fill(~real[..., None], -torch.inf).amax(dim=0),
        ),
        mistake(
            "your code fills the padding with a finite number",
            "It works only as long as every real value is larger than your number. Fill with "
            "`-torch.inf`, which is below every number.",
            *(_filled(number) for number in (-1.0, -10.0, -99.0, -100.0, -999.0, -1e3, -9999.0, -1e4)),
        ),
        mistake(
            "your code returns the maximum together with its indices",
            "`states.max(dim=1)` returns a pair, (values, indices). Add `.values`, or use `amax`.",
            lambda states, real: tuple(states.masked_fill(~real[..., None], -torch.inf).max(dim=1)),
            lambda states, real: tuple(states.masked_fill(~real[..., None], -100).max(dim=1)),
            lambda states, real: tuple((states * real[..., None]).max(dim=1)),
            lambda states, real: tuple(states.max(dim=1)),
        ),
        mistake(
            "your code returns the indices of the maximum",
            "`argmax` and `.indices` say where the maximum is. Return its value: `.values`, or `amax`.",
            lambda states, real: states.masked_fill(~real[..., None], -torch.inf).argmax(dim=1),
        ),
        mistake(
            "your code takes one whole token",
            "The maximum is taken for each feature separately. Different features may come from "
            "different tokens.",
            lambda states, real: states[
                torch.arange(len(states)),
                states.sum(dim=-1).masked_fill(~real, -torch.inf).argmax(dim=1),
            ],
        ),
        mistake(
            "your code masks the real tokens",
            "`real` is True for real tokens. Fill the positions where it is False.",
            lambda states, real: states.masked_fill(real[..., None], -torch.inf).amax(dim=1),
        ),
        mistake(
            "your code fills the padding with +∞",
            "Then the padding always wins. Fill it with −∞.",
            _filled(torch.inf),
        ),
        mistake(
            "your code takes the maximum over the whole batch",
            "Each text has its own maximum, over axis 1.",
            lambda states, real: states[real].amax(dim=0),
            lambda states, real: states[real].amax(dim=0).expand(len(states), -1),
        ),
    ),
)

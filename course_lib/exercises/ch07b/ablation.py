"""Head ablation: what an attention layer writes to the residual stream without one of its heads."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, normal


def _without(outputs: Tensor, head: int, scale: float = 1.0) -> Tensor:
    """The heads' outputs with one head set to zero and the others multiplied by `scale`."""
    kept = (torch.arange(outputs.shape[1]) != head).float() * scale
    return outputs * kept[:, None]


def _merged(outputs: Tensor, w_o: Tensor) -> Tensor:
    return outputs.flatten(-2) @ w_o.T


def _slice_of_result(outputs: Tensor, w_o: Tensor, head: int) -> Tensor:
    """The layer's result with the head's slice of d_model set to zero."""
    result, width = _merged(outputs, w_o), outputs.shape[-1]
    result[:, head * width : (head + 1) * width] = 0
    return result


ABLATE = Exercise(
    id="07b.ablate",
    reference=lambda outputs, w_o, head: _merged(_without(outputs, head), w_o),
    inputs=(
        (normal(2, 2, 1), normal(2, 2, seed=1), 0),
        (normal(3, 2, 2, seed=2), normal(4, 4, seed=3), 1),
        (normal(5, 3, 2, seed=4), normal(6, 6, seed=5), 2),
    ),
    mistakes=(
        mistake(
            "your code sets a slice of the layer's result to zero",
            "After `w_o`, every number of the result mixes all heads. Set the head's own output to zero, "
            "and merge afterwards.",
            _slice_of_result,
        ),
        mistake(
            "your code keeps only this head",
            "An ablation removes one head and leaves the others as they are.",
            lambda outputs, w_o, head: _merged(outputs - _without(outputs, head), w_o),
        ),
        mistake(
            "your code ablates nothing",
            "The head still contributes. Set `outputs[:, head]` to zero in a copy, and merge that copy.",
            lambda outputs, w_o, head: _merged(outputs, w_o),
        ),
        mistake(
            "your code scales up the other heads",
            "This is not dropout: the other heads must write exactly what they wrote before.",
            lambda outputs, w_o, head: _merged(
                _without(outputs, head, outputs.shape[1] / (outputs.shape[1] - 1)), w_o
            ),
        ),
        mistake(
            "your code multiplies by `w_o` the wrong way around",
            "As in `nn.Linear`, the rows of `w_o` are outputs: `merged @ w_o.T`.",
            lambda outputs, w_o, head: _without(outputs, head).flatten(-2) @ w_o,
        ),
        mistake(
            "your code sets a token to zero",
            "The axes of `outputs` are (tokens, heads, d_head), so the head is the second index: "
            "`outputs[:, head]`.",
            lambda outputs, w_o, head: _merged(_without(outputs.transpose(0, 1), head).transpose(0, 1), w_o),
        ),
    ),
)

"""Head ablation: what an attention layer writes to the residual stream without one of its heads."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, normal, whole


def _without(outputs: Tensor, head: int, scale: float = 1.0) -> Tensor:
    """The heads' outputs with one head set to zero and the others multiplied by `scale`."""
    kept = (torch.arange(outputs.shape[1]) != head).float() * scale
    return outputs * kept[:, None]


def _mean_instead(outputs: Tensor, head: int) -> Tensor:
    """The heads' outputs with one head replaced by its mean over the tokens."""
    return outputs.where((torch.arange(outputs.shape[1]) != head)[:, None], outputs.mean(dim=0))


def _feature(outputs: Tensor, w_o: Tensor, head: int) -> Tensor:
    changed = outputs.clone()
    changed[..., head] = 0
    return _merged(changed, w_o)


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
        (torch.tensor([[[1.0], [2.0]], [[5.0], [3.0]]]), torch.tensor([[1.0, 10.0], [3.0, 100.0]]), 0),
        (whole(3, 2, 2, seed=2), whole(4, 4, seed=3), 1),
        (normal(2, 3, 4, seed=6), normal(12, 12, seed=7), 1),
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
            "your code puts the head's mean in its place",
            "That is *mean ablation*, a good experiment, too. Here the head gives zeros.",
            lambda outputs, w_o, head: _merged(_mean_instead(outputs, head), w_o),
            lambda outputs, w_o, head: _merged(
                outputs.where(
                    (torch.arange(outputs.shape[1]) != head)[:, None], outputs.mean(dim=1, keepdim=True)
                ),
                w_o,
            ),
        ),
        mistake(
            "your code removes the wrong head",
            "Heads are counted from 0, as any index: outputs[:, head], not outputs[:, head - 1].",
            lambda outputs, w_o, head: _merged(_without(outputs, (head - 1) % outputs.shape[1]), w_o),
        ),
        mistake(
            "your code sets one feature of every head to zero",
            "The axes of `outputs` are (tokens, heads, d_head), so the head is the second index: "
            "`outputs[:, head]`, not `outputs[..., head]`.",
            _feature,
        ),
        mistake(
            "your code merges the heads in the wrong order",
            "A merged vector is head 0, then head 1, and so on: flatten the last two axes as they are.",
            lambda outputs, w_o, head: _without(outputs, head).mT.flatten(-2) @ w_o.T,
        ),
        mistake(
            "your code returns the merged heads",
            "What the layer writes has been multiplied by `w_o`: merged @ w_o.T.",
            lambda outputs, w_o, head: _without(outputs, head).flatten(-2),
        ),
        mistake(
            "your code returns the difference that the head makes",
            "Return what the layer writes without the head, not how much that changes.",
            lambda outputs, w_o, head: _merged(_without(outputs, head), w_o) - _merged(outputs, w_o),
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
        mistake(
            "your code sets the head to one",
            "An ablated head gives zeros.",
            lambda outputs, w_o, head: _merged(
                outputs.where((torch.arange(outputs.shape[1]) != head)[:, None], torch.ones_like(outputs)),
                w_o,
            ),
        ),
        mistake(
            "your code adds up the heads",
            "The layer puts the heads side by side: flatten the last two axes, and then multiply by w_o.T.",
            lambda outputs, w_o, head: _without(outputs, head).sum(dim=1),
        ),
        mistake(
            "your code removes the head's columns from the wrong place",
            "Without the head, its own columns of w_o have to go as well. Setting its outputs to 0 is "
            "simpler.",
            lambda outputs, w_o, head: (
                torch.cat([outputs[:, :head], outputs[:, head + 1 :]], dim=1).flatten(-2)
                @ w_o[:, : w_o.shape[1] - outputs.shape[2]].T
            ),
        ),
    ),
)

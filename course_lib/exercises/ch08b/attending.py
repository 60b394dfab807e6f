"""Attention map of the class token, and attention rollout."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake


def _weights(heads: int, side: int, seed: int) -> Tensor:
    """Random attention weights of two images, (batch, heads, tokens, tokens), with a class token first."""
    tokens = 1 + side * side
    return torch.randn(2, heads, tokens, tokens, generator=torch.Generator().manual_seed(seed)).softmax(-1)


def _map(weights_of_patches: Tensor, side: int) -> Tensor:
    """Weights of the patches as an image that sums to 1."""
    return (weights_of_patches / weights_of_patches.sum(dim=-1, keepdim=True)).unflatten(-1, (side, side))


MAP = Exercise(
    id="08b.map",
    reference=lambda weights, side: _map(weights[:, :, 0, 1:].mean(dim=1), side),
    inputs=((_weights(2, 2, 0), 2), (_weights(3, 3, 1), 3)),
    mistakes=(
        mistake(
            "your code shows which patches attend to the class token",
            "Rows are queries and columns are keys. The weights of the class token are row 0, not column 0.",
            lambda weights, side: _map(weights[:, :, 1:, 0].mean(dim=1), side),
        ),
        mistake(
            "your map begins with the class token itself",
            "Key 0 is the class token, so patch 0 is key 1. Your map is shifted by one patch: use [..., 1:].",
            lambda weights, side: _map(weights[:, :, 0, :-1].mean(dim=1), side),
        ),
        mistake(
            "your map is transposed",
            "Patches follow one another row by row. The first of the two map axes is the patch row.",
            lambda weights, side: _map(weights[:, :, 0, 1:].mean(dim=1), side).transpose(1, 2),
        ),
        mistake(
            "your map does not sum to 1",
            "You left out the weight of the class token on itself, so the rest sums to less. Divide by "
            "its sum.",
            lambda weights, side: weights[:, :, 0, 1:].mean(dim=1).unflatten(-1, (side, side)),
        ),
        mistake(
            "your code normalizes before it averages over the heads",
            "Then a head that hardly attends to the patches counts as much as one that attends only to "
            "them. Average first, then normalize.",
            lambda weights, side: _map(weights[:, :, 0, 1:], side).mean(dim=1),
        ),
        mistake(
            "your code applies a second softmax",
            "The weights are probabilities already, and a softmax would flatten them. Divide by their sum.",
            lambda weights, side: (
                weights[:, :, 0, 1:].mean(dim=1).softmax(dim=-1).unflatten(-1, (side, side))
            ),
            lambda weights, side: (
                weights[:, :, 0].softmax(dim=-1)[..., 1:].mean(dim=1).unflatten(-1, (side, side))
            ),
        ),
        mistake(
            "your code takes the largest weight over the heads",
            "The exercise asks for the mean of the heads, axis 1.",
            lambda weights, side: _map(weights[:, :, 0, 1:].amax(dim=1), side),
        ),
        mistake(
            "your code divides by the largest weight",
            "The map must sum to 1. Divide it by its sum.",
            lambda weights, side: (
                (row := weights[:, :, 0, 1:].mean(dim=1)) / row.amax(dim=-1, keepdim=True)
            ).unflatten(-1, (side, side)),
        ),
        mistake(
            "all your maps together sum to 1",
            "Each map must sum to 1 by itself. Divide by the sum over its last axis, with keepdim=True.",
            lambda weights, side: ((row := weights[:, :, 0, 1:].mean(dim=1)) / row.sum()).unflatten(
                -1, (side, side)
            ),
        ),
        mistake(
            "your code returns the patches in one row",
            "A map is (batch, side, side): unflatten(-1, (side, side)).",
            lambda weights, side: _map(weights[:, :, 0, 1:].mean(dim=1), side).flatten(1),
        ),
        mistake(
            "your map shows only the first head",
            "Average over all heads, axis 1.",
            lambda weights, side: _map(weights[:, 0, 0, 1:], side),
        ),
        mistake(
            "your code averages over the queries",
            "That shows where all tokens attend. The exercise asks for the class token: row 0.",
            lambda weights, side: _map(weights[:, :, :, 1:].mean(dim=(1, 2)), side),
            lambda weights, side: _map(weights[:, :, 1:, 1:].mean(dim=(1, 2)), side),
        ),
        mistake(
            "your code averages over the images",
            "Axis 0 is the batch, and each image needs its own map. Average over the heads, axis 1.",
            lambda weights, side: _map(weights[:, :, 0, 1:].mean(dim=0), side),
        ),
        mistake(
            "your code shows where the last patch attends",
            "The class token is query 0.",
            lambda weights, side: _map(weights[:, :, -1, 1:].mean(dim=1), side),
        ),
    ),
)


def _maps(layers: int, heads: int, tokens: int, seed: int) -> Tensor:
    """Random attention weights, (layers, heads, tokens, tokens)."""
    rng = torch.Generator().manual_seed(seed)
    return (2 * torch.randn(layers, heads, tokens, tokens, generator=rng)).softmax(dim=-1)


def _steps(weights: Tensor, own: float = 0.5) -> Tensor:
    """The matrix of each layer: a fraction from the token itself, the rest by the mean of the heads."""
    return (1 - own) * weights.mean(dim=1) + own * torch.eye(weights.shape[-1])


def _product(steps: Tensor, reverse: bool = False) -> Tensor:
    """The product of the matrices, with the first layer on the right."""
    arrived = torch.eye(steps.shape[-1])
    for step in steps.flip(0) if reverse else steps:
        arrived = step @ arrived
    return arrived


def _added_up(weights: Tensor) -> Tensor:
    return torch.eye(weights.shape[-1]) + _steps(weights).sum(dim=0)


LOOK_AT_NEXT = torch.tensor([[0.0, 1.0], [0.0, 1.0]]).expand(2, 1, 2, 2)  # the example of the notebook

ROLLOUT = Exercise(
    id="08b.rollout",
    reference=lambda weights: _product(_steps(weights)),
    inputs=((LOOK_AT_NEXT,), (_maps(2, 2, 3, 0),), (_maps(3, 4, 5, 1),)),
    mistakes=(
        mistake(
            "your code multiplies the layers in the wrong order",
            "Layer 1 reads the input, so it is the rightmost factor: layer 3 @ layer 2 @ layer 1.",
            lambda weights: _product(_steps(weights), reverse=True),
        ),
        mistake(
            "your code leaves out the skip connection",
            "Half of each token comes from the token itself. Mix the weights with the identity matrix "
            "before you multiply.",
            lambda weights: _product(_steps(weights, own=0.0)),
        ),
        mistake(
            "your rows do not sum to 1",
            "Adding the identity makes each row sum to 2. Take half of the weights and half of the identity.",
            lambda weights: _product(2 * _steps(weights)),
        ),
        mistake(
            "your code averages the layers",
            "A token of layer 2 is already a mixture, so the layers act one after the other. Multiply "
            "their matrices.",
            lambda weights: _steps(weights).mean(dim=0),
            lambda weights: weights.mean((0, 1)),
        ),
        mistake(
            "your code multiplies entry by entry",
            "`*` follows no paths. The matrix product `@` sums over all tokens in between.",
            lambda weights: _steps(weights).prod(dim=0),
            lambda weights: _steps(weights).prod(dim=0) * torch.eye(weights.shape[-1]),
        ),
        mistake(
            "your code uses only the last layer",
            "Start with the matrix of layer 1, and multiply by each further layer from the left.",
            lambda weights: _steps(weights)[-1],
        ),
        mistake(
            "your code uses only the first head",
            "Average over the heads, axis 1.",
            lambda weights: _product(_steps(weights[:, :1])),
        ),
        mistake(
            "your code takes the largest weight over the heads",
            "Then the rows sum to more than 1. Average over the heads, axis 1.",
            lambda weights: _product(_steps(weights.amax(dim=1, keepdim=True))),
        ),
        mistake(
            "your code adds up the heads",
            "Then the rows sum to more than 1. Average over the heads, axis 1.",
            lambda weights: _product(_steps(weights.sum(dim=1, keepdim=True))),
        ),
        mistake(
            "your code mixes in the identity only at the end",
            "Every layer has its skip connection: mix each layer's weights with the identity before you "
            "multiply.",
            lambda weights: 0.5 * _product(_steps(weights, own=0.0)) + 0.5 * torch.eye(weights.shape[-1]),
        ),
        mistake(
            "your code multiplies the layers transposed",
            "Row i of a layer's matrix says where token i reads, so the later layer goes to the left, and "
            "nothing is transposed.",
            lambda weights: _product(_steps(weights)).T,
            lambda weights: _product(_steps(weights).mT),
        ),
        mistake(
            "your code leaves out the first or the last layer",
            "Multiply the matrices of all layers, starting from the identity.",
            lambda weights: _product(_steps(weights)[1:]),
            lambda weights: _product(_steps(weights)[:-1]),
        ),
        mistake(
            "your code adds up the layers",
            "A token of layer 2 is already a mixture, so the layers act one after the other: multiply their "
            "matrices.",
            _added_up,
        ),
        mistake(
            "your code averages over the layers instead of the heads",
            "`weights` is (layers, heads, tokens, tokens): the heads are axis 1.",
            lambda weights: _product(_steps(weights.transpose(0, 1))),
        ),
    ),
)

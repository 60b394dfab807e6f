"""A stack of blocks, and how many parameters a block has."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_lib.exercises.ch05.blocks import norm, scaled_norm
from course_lib.exercises.exercise import Answer, Exercise, mistake, normal

Layer = Callable[[Tensor], Tensor]


def _stack(first: bool = False, each: bool = False, last: bool = False) -> Answer:
    """A stack that norms in some places."""

    def stack(x: Tensor, blocks: Sequence[Layer], norm: Layer) -> Tensor:
        x = norm(x) if first else x
        for block in blocks:
            x = norm(block(x)) if each else block(x)
        return norm(x) if last else x

    return stack


def add_half(x: Tensor) -> Tensor:
    return x + 0.5 * x.roll(1, -1)


def bend(x: Tensor) -> Tensor:
    return x + torch.sin(3 * x)


def forget(x: Tensor) -> Tensor:
    return x + 0.1 * x.square()


STACK = Exercise(
    id="05.stack",
    reference=lambda x, blocks, norm: _stack(last=True)(x, blocks, norm),
    inputs=(
        (torch.tensor([[1.0, 1.0, 5.0, 5.0]]), (add_half,), norm),
        (normal(2, 3, 4), (add_half, bend, forget), scaled_norm),
    ),
    mistakes=(
        mistake(
            "has no final norm",
            "In pre-norm nothing norms the last sum: the deeper the stack, the larger the states, and the "
            "more sure of itself the model is before it has learnt anything.",
            _stack(),
        ),
        mistake(
            "norms after each block",
            "Then no way leads past the norms, as in post-norm. One norm, at the very end.",
            _stack(each=True),
            _stack(each=True, last=True),
        ),
        mistake(
            "norms before the first block and not after the last",
            "Each block norms what it reads by itself. What is missing is a norm at the end.",
            _stack(first=True),
        ),
        mistake(
            "runs one block only, however many there are",
            "As in the einsum listing, where the encoder is a stack of one. Go through them all.",
            lambda x, blocks, norm: norm(blocks[0](x)),
            lambda x, blocks, norm: norm(blocks[-1](x)),
            lambda x, blocks, norm: blocks[0](x),
        ),
        mistake(
            "runs the blocks from the last to the first",
            "The first block of the list reads x.",
            lambda x, blocks, norm: _stack(last=True)(x, blocks[::-1], norm),
        ),
        mistake(
            "hands x to every block instead of the block before",
            "Each block reads what the one before it has made.",
            lambda x, blocks, norm: norm(sum(block(x) for block in blocks)),
            lambda x, blocks, norm: sum(block(x) for block in blocks),
        ),
    ),
)


def _parameters(attention: int = 4, biases: bool = True, norms: int = 2, matrices: int = 2) -> Answer:
    def parameters(d_model: int, d_ff: int) -> int:
        weights = attention * d_model**2 + matrices * d_model * d_ff + norms * 2 * d_model
        return weights + biases * (attention * d_model + (matrices > 0) * (d_ff + d_model))

    return parameters


PARAMETERS = Exercise(
    id="05.parameters",
    reference=lambda d_model, d_ff: _parameters()(d_model, d_ff),
    inputs=((1, 1), (4, 16), (512, 2048)),
    mistakes=(
        mistake(
            "forgets the biases",
            "Each of the four matrices of attention has d_model of them; feed-forward has d_ff and d_model.",
            _parameters(biases=False),
        ),
        mistake(
            "forgets the norms",
            "Two LayerNorms, each with a gain and a bias for each feature: 4 · d_model in all.",
            _parameters(norms=0),
        ),
        mistake(
            "counts one norm",
            "There is one for each sublayer, and an encoder block has two sublayers.",
            _parameters(norms=1),
        ),
        mistake(
            "forgets the output matrix of attention",
            "Queries, keys, values, and the matrix that mixes the heads: four.",
            _parameters(attention=3),
        ),
        mistake(
            "counts one matrix in the feed-forward layer",
            "There are two: to d_ff, and back.",
            _parameters(matrices=1),
        ),
        mistake(
            "counts three norms or a second attention, as in a decoder block",
            "An encoder block has no cross-attention: one attention, one feed-forward, two norms.",
            _parameters(attention=8, norms=3),
            _parameters(norms=3),
        ),
    ),
)

"""Stack of blocks, and the parameter count of a block."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_lib.exercises.ch05.blocks import norm, scaled_norm
from course_lib.exercises.exercise import Answer, Exercise, mistake, normal

Layer = Callable[[Tensor], Tensor]


def _stack(first: bool = False, each: bool = False, last: bool = False) -> Answer:
    """Stack of blocks that applies the norm in some places."""

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
        (normal(2, 3, 4), (bend, add_half, forget), scaled_norm),
    ),
    mistakes=(
        mistake(
            "your code has no final norm",
            "In pre-norm, nothing normalizes the last sum. The deeper the stack, the larger the hidden "
            "states, and the more overconfident the model before it has learned anything.",
            _stack(),
        ),
        mistake(
            "your code applies the norm after each block",
            "Then every skip connection runs through a norm, as in post-norm. Apply the norm once, at "
            "the very end.",
            _stack(each=True),
            _stack(each=True, last=True),
        ),
        mistake(
            "your code applies the norm before the first block, not after the last",
            "Each block already normalizes its own inputs. Move the norm to the end.",
            _stack(first=True),
        ),
        mistake(
            "your code runs only one block",
            "Run all the blocks in the list, each on the output of the previous one.",
            lambda x, blocks, norm: norm(blocks[0](x)),
            lambda x, blocks, norm: blocks[0](x),
        ),
        mistake(
            "your code runs the blocks in reverse order",
            "The first block of the list reads x.",
            lambda x, blocks, norm: _stack(last=True)(x, blocks[::-1], norm),
        ),
        mistake(
            "your code passes x to every block",
            "Each block must read the output of the previous one. With y = block(x) in a loop, every block "
            "reads the first x, and only the last result survives. Write x = block(x).",
            lambda x, blocks, norm: norm(blocks[-1](x)),
            lambda x, blocks, norm: blocks[-1](x),
            lambda x, blocks, norm: norm(sum(block(x) for block in blocks)),
            lambda x, blocks, norm: sum(block(x) for block in blocks),
        ),
        mistake(
            "your code normalizes the input of the stack, too",
            "Each block already normalizes what it reads. Apply the norm once, at the very end.",
            _stack(first=True, last=True),
        ),
        mistake(
            "your code applies the norm before each block",
            "Each block already normalizes what it reads, inside its branches. Apply the norm once, at the "
            "very end.",
            lambda x, blocks, norm: _stack()(x, [lambda y, b=b: b(norm(y)) for b in blocks], norm),
            lambda x, blocks, norm: _stack(last=True)(x, [lambda y, b=b: b(norm(y)) for b in blocks], norm),
        ),
        mistake(
            "your code adds a skip connection around each block",
            "The blocks already contain their skip connections: x = block(x).",
            lambda x, blocks, norm: _stack(last=True)(x, [lambda y, b=b: y + b(y) for b in blocks], norm),
            lambda x, blocks, norm: _stack()(x, [lambda y, b=b: y + b(y) for b in blocks], norm),
        ),
        mistake(
            "your code runs no block",
            "Run all the blocks in the list, each on the output of the previous one, then the norm.",
            lambda x, blocks, norm: norm(x),
        ),
    ),
)


def _parameters(
    attention: int = 4,
    biases: Sequence[str] = ("attention", "d_ff", "d_model"),
    norms: int = 2,
    matrices: int = 2,
) -> Answer:
    """Parameter count with options for the mistakes.

    attention, matrices: number of matrices of attention and of the feed-forward layer. biases: those that
    are counted; "d_ff" and "d_model" are the feed-forward layer's.
    """

    def parameters(d_model: int, d_ff: int) -> int:
        sizes = {"attention": attention * d_model, "d_ff": d_ff, "d_model": d_model}
        weights = attention * d_model**2 + matrices * d_model * d_ff + norms * 2 * d_model
        return weights + sum(sizes[name] for name in biases)

    return parameters


PARAMETERS = Exercise(
    id="05.parameters",
    reference=lambda d_model, d_ff: _parameters()(d_model, d_ff),
    inputs=((1, 1), (4, 16), (512, 2048)),
    mistakes=(
        mistake(
            "your answer forgets the biases",
            "Each of the four attention matrices has a bias of size d_model. The feed-forward layer "
            "has biases of size d_ff and d_model.",
            _parameters(biases=()),
        ),
        mistake(
            "your answer forgets a bias of the feed-forward layer",
            "Both of its matrices have a bias: the first one of size d_ff, the second one of size d_model.",
            _parameters(biases=("attention",)),
            _parameters(biases=("attention", "d_ff")),
            _parameters(biases=("attention", "d_model")),
        ),
        mistake(
            "your answer forgets the norms, or the biases of attention",
            "Either way, 4 · d_model parameters are missing: two LayerNorms have a gain and a bias per "
            "feature, and each of the four attention matrices has a bias of size d_model.",
            _parameters(norms=0),
            _parameters(biases=("d_ff", "d_model")),
        ),
        mistake(
            "your answer counts only one norm",
            "Each sublayer has its own norm, and an encoder block has two sublayers.",
            _parameters(norms=1),
        ),
        mistake(
            "your answer forgets the output projection of attention",
            "Attention has four matrices: for queries, keys and values, and the one that mixes the heads.",
            _parameters(attention=3),
        ),
        mistake(
            "your answer counts only one feed-forward matrix",
            "There are two: from d_model to d_ff, and back.",
            _parameters(matrices=1),
            _parameters(matrices=1, biases=("attention", "d_ff")),
        ),
        mistake(
            "your answer counts the parts of a decoder block",
            "An encoder block has no cross-attention. Count one attention, one feed-forward layer and "
            "two norms.",
            _parameters(attention=8, norms=3),
            _parameters(norms=3),
        ),
        mistake(
            "your answer counts only the weight matrices",
            "All six matrices have biases, and each of the two norms has a gain and a bias.",
            _parameters(biases=(), norms=0),
        ),
        mistake(
            "your answer gives both feed-forward biases the same size",
            "A bias has one number per output: d_ff for the first matrix, d_model for the second.",
            lambda d_model, d_ff: _parameters()(d_model, d_ff) + d_ff - d_model,
            lambda d_model, d_ff: _parameters()(d_model, d_ff) + d_model - d_ff,
        ),
        mistake(
            "your answer counts a bias or a norm as one or two numbers",
            "A bias is a vector with one number per output, and a norm has a gain and a bias for each of "
            "the d_model features.",
            lambda d_model, d_ff: 4 * (d_model**2 + 1) + 2 * d_model * d_ff + 2 + 4,
            lambda d_model, d_ff: 4 * (d_model**2 + 1) + 2 * d_model * d_ff + 2 + 4 * d_model,
            lambda d_model, d_ff: _parameters(norms=0)(d_model, d_ff) + 4,
            lambda d_model, d_ff: _parameters(norms=0)(d_model, d_ff) + 2,
        ),
        mistake(
            "your feed-forward network takes d_ff to d_ff",
            "Its matrices lead from d_model to d_ff, and back.",
            lambda d_model, d_ff: 4 * (d_model * d_model + d_model) + 2 * (d_ff * d_ff + d_ff) + 4 * d_model,
        ),
    ),
)

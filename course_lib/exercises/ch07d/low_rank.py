"""LoRA: the forward pass, and the number of its parameters."""

import math
from collections.abc import Sequence
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Answer, Arguments, Exercise, mistake, normal, whole

Shapes: TypeAlias = Sequence[tuple[int, int]]


def _lora(
    scale: Answer = lambda alpha, a, b: alpha / len(a), base: float = 1.0, update: float = 1.0
) -> Answer:
    """y = base · W x + update · scale · B A x. scale: from alpha and the two matrices."""

    def answer(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> Tensor:
        low_rank = F.linear(F.linear(x, a), b)
        return base * F.linear(x, weight) + update * scale(alpha, a, b) * low_rank

    return answer


def _scaled_as_a_whole(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> Tensor:
    return alpha / len(a) * F.linear(x, weight + b @ a)


def _product_not_transposed(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> Tensor:
    return F.linear(x, weight) + alpha / len(a) * x @ (b @ a)


def _nothing_transposed(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> Tensor:
    return x @ (weight + alpha / len(a) * b @ a)


def _case(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> Arguments:
    """Arguments of which A and B are trained."""
    return x, weight, a.requires_grad_(), b.requires_grad_(), alpha


def _joined(join: Answer) -> Answer:
    """LoRA whose update is computed in another way from x, a and b."""
    return lambda x, weight, a, b, alpha: F.linear(x, weight) + alpha / len(a) * join(x, a, b)


LORA = Exercise(
    id="07d.lora",
    reference=lambda x, weight, a, b, alpha: _lora()(x, weight, a, b, alpha),
    inputs=(  # square matrices first: with those, a missing transpose is no error of shapes
        _case(
            torch.tensor([[3.0, 1.0]]),
            torch.tensor([[1.0, 0.0], [5.0, 1.0]]),
            torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
            torch.tensor([[1.0, 0.0], [1.0, 3.0]]),
            20.0,
        ),
        _case(whole(2, 4), whole(4, 4, seed=1), whole(2, 4, seed=2), whole(4, 2, seed=3), 6.0),
        _case(normal(3, 5), normal(4, 5, seed=1), normal(2, 5, seed=2), normal(4, 2, seed=3), 8.0),
        _case(normal(2, 3, 6), normal(5, 6, seed=4), normal(3, 6, seed=5), normal(5, 3, seed=6), 2.0),
    ),
    mistakes=(
        mistake(
            "your code does not scale the update",
            "Multiply B A x by alpha / rank. The rank is the number of rows of `a`.",
            _lora(lambda alpha, a, b: 1.0),
        ),
        mistake(
            "your code multiplies the update by alpha alone",
            "Divide by the rank as well, the number of rows of `a`. Then the update keeps about the same "
            "size when you change the rank.",
            _lora(lambda alpha, a, b: alpha),
        ),
        mistake(
            "your code divides alpha by the wrong number",
            "The rank is the small dimension: the number of rows of `a` and of columns of `b`.",
            _lora(lambda alpha, a, b: alpha / a.shape[1]),
            _lora(lambda alpha, a, b: alpha / len(b)),
            lambda x, weight, a, b, alpha: _lora(lambda alpha, a, b: alpha / len(x))(x, weight, a, b, alpha),
            lambda x, weight, a, b, alpha: _lora(lambda alpha, a, b: alpha / x.shape[-2])(
                x, weight, a, b, alpha
            ),
            _lora(lambda alpha, a, b: alpha / a.numel()),
        ),
        mistake(
            "your update has no gradient",
            "The value is right, but .detach() and torch.no_grad() cut it off from `a` and `b`, which are "
            "all that LoRA trains. Leave them out: W is frozen elsewhere.",
            lambda x, weight, a, b, alpha: _lora()(x, weight, a, b, alpha).detach(),
        ),
        mistake(
            "your code divides by the square root of the rank",
            "LoRA scales by alpha / rank. A later variant, rsLoRA, uses the square root.",
            _lora(lambda alpha, a, b: alpha / math.sqrt(len(a))),
        ),
        mistake(
            "your code scales by rank / alpha",
            "It is the other way round: alpha / rank.",
            _lora(lambda alpha, a, b: len(a) / alpha),
        ),
        mistake(
            "your code scales the frozen weights too",
            "Only the update is multiplied by alpha / rank. The frozen layer must compute what it did "
            "before.",
            _scaled_as_a_whole,
        ),
        mistake(
            "your code leaves out the frozen weights",
            "LoRA adds to the layer: W x + (alpha / rank) B A x.",
            _lora(base=0.0),
        ),
        mistake(
            "your code leaves out the update",
            "Add (alpha / rank) B A x to the output of the frozen layer.",
            _lora(update=0.0),
        ),
        mistake(
            "your code does not transpose the update",
            "A weight of shape (out, in) is applied as x @ weight.T. The product b @ a has this shape too.",
            _product_not_transposed,
            _nothing_transposed,
            _joined(lambda x, a, b: x @ a @ b),
            _joined(lambda x, a, b: x @ b @ a),
            _joined(lambda x, a, b: x @ a @ b.T),
            _joined(lambda x, a, b: x @ a.T @ b),
        ),
        mistake(
            "your code does not transpose W",
            "x is a row, so W x becomes x @ weight.T.",
            lambda x, weight, a, b, alpha: x @ weight + alpha / len(a) * F.linear(F.linear(x, a), b),
        ),
        mistake(
            "your code applies B before A",
            "A comes first and makes r numbers of the input; B makes the output of them: x @ a.T @ b.T.",
            _joined(lambda x, a, b: x @ b.T @ a.T),
        ),
        mistake(
            "your code subtracts the update",
            "LoRA adds it: W x + (alpha / rank) B A x.",
            _lora(update=-1.0),
        ),
        mistake(
            "your code multiplies by the update",
            "LoRA adds it: W x + (alpha / rank) B A x.",
            lambda x, weight, a, b, alpha: (
                F.linear(x, weight) * (1 + alpha / len(a) * F.linear(F.linear(x, a), b))
            ),
        ),
        mistake(
            "your code multiplies by r",
            "The factor is α / r: a larger rank adds up more terms.",
            lambda x, weight, a, b, alpha: x @ weight.T + alpha * len(a) * (x @ a.T @ b.T),
        ),
    ),
)


def _count(of: Answer) -> Answer:
    """The sum over all matrices of `of(out, into, rank)`."""

    def answer(shapes: Shapes, rank: int) -> int:
        return sum(of(out, into, rank) for out, into in shapes)

    return answer


TRAINABLE = Exercise(
    id="07d.trainable",
    reference=lambda shapes, rank: _count(lambda out, into, rank: rank * (out + into))(shapes, rank),
    inputs=(([(4, 6)], 1), ([(8, 3), (5, 7)], 2), ([(64, 64), (128, 64), (256, 64), (64, 256)], 8)),
    mistakes=(
        mistake(
            "your code counts the full matrices",
            "The matrices of shape (out, in) are frozen. Count their A and B: rank × in and out × rank.",
            _count(lambda out, into, rank: out * into),
        ),
        mistake(
            "your code adds the frozen matrices",
            "They are not trained. Count A and B alone.",
            _count(lambda out, into, rank: out * into + rank * (out + into)),
        ),
        mistake(
            "your code counts only one of the two matrices",
            "Both are trained: A has rank × in parameters, and B has out × rank.",
            _count(lambda out, into, rank: rank * into),
            _count(lambda out, into, rank: rank * out),
        ),
        mistake(
            "your code multiplies the two dimensions",
            "A has rank × in parameters and B has out × rank: together rank × (out + in). That is small "
            "because the two dimensions are added.",
            _count(lambda out, into, rank: rank * out * into),
        ),
        mistake(
            "your code treats every matrix as square",
            "A shape may be (256, 64). A has as many columns as the input is wide, and B as many rows as "
            "the output.",
            _count(lambda out, into, rank: 2 * rank * into),
            _count(lambda out, into, rank: 2 * rank * out),
        ),
        mistake(
            "your code forgets the rank",
            "A has `rank` rows, and B has `rank` columns.",
            _count(lambda out, into, rank: out + into),
        ),
        mistake(
            "your code counts one matrix only",
            "Add up the parameters for all shapes.",
            lambda shapes, rank: rank * sum(shapes[0]),
            lambda shapes, rank: rank * sum(shapes[-1]),
        ),
        mistake(
            "your code counts rank² parameters as well",
            "Nothing has the shape rank × rank. A is rank × in, B is out × rank.",
            _count(lambda out, into, rank: rank * (out + into) + rank**2),
        ),
        mistake(
            "your code counts A and B twice",
            "Each matrix has one A and one B: rank × (out + in).",
            _count(lambda out, into, rank: 2 * rank * (out + into)),
        ),
    ),
)

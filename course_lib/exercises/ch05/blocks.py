"""The sublayers of a block, and a pre-norm sublayer with its skip connection."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, normal

Layer = Callable[[Tensor], Tensor]


def norm(x: Tensor) -> Tensor:
    """LayerNorm without learned gain and bias."""
    return F.layer_norm(x, x.shape[-1:])


def scaled_norm(x: Tensor) -> Tensor:
    """LayerNorm with gain 3 and bias 0.5, so that applying it twice makes a difference."""
    return 3 * norm(x) + 0.5


def double(x: Tensor) -> Tensor:
    return 2 * x


def mixed(x: Tensor) -> Tensor:
    """Nonlinear sublayer."""
    return torch.sin(x.roll(1, -1)) + 0.3


def self_attention(x: Tensor) -> Tensor:
    """Causal self-attention without learned weights."""
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)


def cross_attention(x: Tensor, memory: Tensor) -> Tensor:
    """Cross-attention from `x` to `memory` without learned weights."""
    return F.scaled_dot_product_attention(x, memory, memory)


def feed_forward(x: Tensor) -> Tensor:
    """Nonlinear layer that treats each token separately, without learned weights."""
    return torch.relu(x) - 0.3 * x.roll(1, -1)


PRE_NORM = Exercise(
    id="05.pre_norm",
    reference=lambda x, sublayer, norm: x + sublayer(norm(x)),
    inputs=(
        (torch.tensor([[1.0, 1.0, 5.0, 5.0]]), double, norm),
        (normal(2, 3, 4), mixed, norm),
        (normal(2, 3, 4) + 2, mixed, scaled_norm),
    ),
    mistakes=(
        mistake(
            "your code forgets the skip connection",
            "x itself must reach the output around the sublayer. Add it to what the sublayer returns: x + ….",
            lambda x, sublayer, norm: sublayer(norm(x)),
            lambda x, sublayer, norm: norm(sublayer(x)),
        ),
        mistake(
            "your code applies the norm after the sum",
            "That is post-norm, as in the original Transformer. In pre-norm, the norm is inside the "
            "branch, before the sublayer, and the sum stays as it is.",
            lambda x, sublayer, norm: norm(x + sublayer(x)),
        ),
        mistake(
            "your code also normalizes the residual stream",
            "The skip connection carries x, not norm(x). Otherwise every block rescales the whole "
            "residual stream.",
            lambda x, sublayer, norm: norm(x) + sublayer(norm(x)),
        ),
        mistake(
            "your code normalizes twice: before the sublayer and after the sum",
            "The inner norm is right. The outer one normalizes the residual stream itself, which pre-norm "
            "leaves alone. Remove the outer one.",
            lambda x, sublayer, norm: norm(x + sublayer(norm(x))),
        ),
        mistake(
            "your code normalizes before and after the sublayer",
            "Some models do so (sandwich norm). Plain pre-norm has one norm, before the sublayer.",
            lambda x, sublayer, norm: x + norm(sublayer(norm(x))),
        ),
        mistake(
            "your code normalizes the sublayer's output, not its input",
            "In pre-norm, the norm comes before the sublayer. Compute sublayer(norm(x)).",
            lambda x, sublayer, norm: x + norm(sublayer(x)),
        ),
        mistake(
            "your code normalizes the skip connection, not the sublayer's input",
            "It is the other way around: the sublayer reads norm(x), and the skip connection carries x.",
            lambda x, sublayer, norm: norm(x) + sublayer(x),
        ),
        mistake(
            "your code has no norm",
            "Without it, the hidden states grow from block to block. Let the sublayer read norm(x).",
            lambda x, sublayer, norm: x + sublayer(x),
        ),
        mistake(
            "your code does not call the sublayer",
            "The branch is the sublayer of the normalized x: sublayer(norm(x)).",
            lambda x, sublayer, norm: x + norm(x),
        ),
        mistake(
            "your code multiplies instead of adding",
            "The skip connection is a sum: x + sublayer(norm(x)).",
            lambda x, sublayer, norm: x * sublayer(norm(x)),
        ),
        mistake(
            "your code adds x twice",
            "x + sublayer(norm(x)) contains x once, and norm(x) only inside the sublayer.",
            lambda x, sublayer, norm: x + x + sublayer(norm(x)),
            lambda x, sublayer, norm: x + norm(x) + sublayer(norm(x)),
        ),
    ),
)

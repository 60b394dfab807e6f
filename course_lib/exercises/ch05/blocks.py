"""Pre-norm sublayer with its skip connection, and a decoder block."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal

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
            lambda x, sublayer, norm: norm(x + sublayer(norm(x))),
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
    ),
)


def self_attention(x: Tensor) -> Tensor:
    """Causal self-attention without learned weights."""
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)


def cross_attention(x: Tensor, memory: Tensor) -> Tensor:
    """Cross-attention from `x` to `memory` without learned weights."""
    return F.scaled_dot_product_attention(x, memory, memory)


def feed_forward(x: Tensor) -> Tensor:
    """Nonlinear layer that treats each token separately, without learned weights."""
    return torch.relu(x) - 0.3 * x.roll(1, -1)


def _decoder(
    cross: Callable[[Tensor, Tensor], Tensor] = lambda y, memory: cross_attention(norm(y), memory),
    order: Sequence[str] = ("self", "cross", "feed"),
    without: str = "",
    post: bool = False,
    bare: str = "",
) -> Answer:
    """Decoder block with options for the mistakes.

    cross: the cross-attention sublayer. order: of the sublayers. without: the sublayer that has no skip
    connection. post: post-norm instead of pre-norm. bare: the sublayer that has no norm.
    """

    def decoder(x: Tensor, memory: Tensor) -> Tensor:
        around: Layer = (lambda y: y) if post else norm
        ways: dict[str, Layer] = {
            "self": lambda y: self_attention(y if bare == "self" else around(y)),
            "cross": lambda y: cross_attention(y, memory) if post else cross(y, memory),
            "feed": lambda y: feed_forward(y if bare == "feed" else around(y)),
        }
        for name in order:
            x = ways[name](x) + (0 if name == without else x)
            x = norm(x) if post else x
        return x

    return decoder


def _parallel(x: Tensor, memory: Tensor) -> Tensor:
    x = x + self_attention(norm(x)) + cross_attention(norm(x), memory)
    return x + feed_forward(norm(x))


def _one_norm(x: Tensor, memory: Tensor) -> Tensor:
    y = norm(x)
    x = x + self_attention(y)
    x = x + cross_attention(y, memory)
    return x + feed_forward(y)


def _norm_at_the_start(x: Tensor, memory: Tensor) -> Tensor:
    x = norm(x)
    x = x + self_attention(x)
    x = x + cross_attention(x, memory)
    return x + feed_forward(x)


DECODER = Exercise(
    id="05.decoder_block",
    reference=lambda x, memory: _decoder()(x, memory),
    inputs=(
        (torch.eye(2, 4)[None], torch.eye(3, 4)[None]),
        (normal(2, 5, 4), 2 * normal(2, 5, 4, seed=1) + 1),
        (normal(2, 3, 4), normal(2, 6, 4, seed=1)),
    ),
    mistakes=(
        mistake(
            "your code swaps the roles in cross-attention",
            "The queries come from the decoder, the keys and values from the memory: "
            "cross_attention(x, memory). Swapped, the result has one row per source token and does not "
            "fit the sum.",
            _decoder(lambda y, memory: cross_attention(memory, norm(y))),
            _decoder(lambda y, memory: cross_attention(norm(memory), norm(y))),
        ),
        mistake(
            "your code forgets the skip connection around cross-attention",
            "Without it, what the decoder has read so far is lost, except for its effect on the "
            "attention weights. Add x.",
            _decoder(without="cross"),
        ),
        mistake(
            "your code forgets the skip connection around self-attention",
            "Each of the three sublayers adds its result to x.",
            _decoder(without="self"),
        ),
        mistake(
            "your code forgets the skip connection around feed-forward",
            "Each of the three sublayers adds its result to x.",
            _decoder(without="feed"),
        ),
        mistake(
            "your code normalizes the memory again",
            "The encoder already ends with a norm. The decoder block normalizes only its own x.",
            _decoder(lambda y, memory: cross_attention(norm(y), norm(memory))),
        ),
        mistake(
            "your code leaves out the norm before one of the sublayers",
            "Pre-norm applies a norm before each of the three sublayers.",
            _decoder(lambda y, memory: cross_attention(y, memory)),
            _decoder(bare="self"),
            _decoder(bare="feed"),
        ),
        mistake(
            "your code uses one norm for all three sublayers",
            "x changes with every sum, so each sublayer must normalize it again: x = x + sublayer(norm(x)), "
            "three times.",
            _one_norm,
            _norm_at_the_start,
        ),
        mistake(
            "your code normalizes the output of the block",
            "In pre-norm, the last sum stays as it is. The final norm belongs to the whole stack, not "
            "to a block.",
            lambda x, memory: norm(_decoder()(x, memory)),
        ),
        mistake(
            "your code passes the same x to both attentions",
            "Cross-attention must read what self-attention has produced. Each sublayer starts from the "
            "previous sum.",
            _parallel,
        ),
        mistake(
            "your code runs the sublayers in the wrong order",
            "The order is self-attention, cross-attention, feed-forward.",
            _decoder(order=("cross", "self", "feed")),
            _decoder(order=("self", "feed", "cross")),
        ),
        mistake(
            "your code leaves out cross-attention",
            "That is a GPT block: it never sees the source. Attend to `memory` between self-attention "
            "and feed-forward.",
            _decoder(order=("self", "feed")),
        ),
        mistake(
            "your code applies the norms after the sums",
            "That is post-norm. In pre-norm, each sublayer reads normalized vectors, and the sums stay "
            "as they are.",
            _decoder(post=True),
        ),
    ),
)

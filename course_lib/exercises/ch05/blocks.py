"""A sublayer with its residual, and a decoder block."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal

Layer = Callable[[Tensor], Tensor]


def norm(x: Tensor) -> Tensor:
    """LayerNorm without gain and bias."""
    return F.layer_norm(x, x.shape[-1:])


def scaled_norm(x: Tensor) -> Tensor:
    """LayerNorm with a gain of 3: two of them in a row are not one."""
    return 3 * norm(x) + 0.5


def double(x: Tensor) -> Tensor:
    return 2 * x


def mixed(x: Tensor) -> Tensor:
    """A sublayer that is not linear."""
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
            "forgets the residual",
            "x itself must reach the output past the sublayer: x + ….",
            lambda x, sublayer, norm: sublayer(norm(x)),
            lambda x, sublayer, norm: norm(sublayer(x)),
        ),
        mistake(
            "puts the norm after the sum",
            "That is post-norm, the first Transformer. In pre-norm the norm stands in the branch, before the "
            "sublayer, and the sum stays as it is.",
            lambda x, sublayer, norm: norm(x + sublayer(x)),
        ),
        mistake(
            "norms the residual path as well",
            "What goes past the sublayer is x, not norm(x); otherwise every block norms all there is.",
            lambda x, sublayer, norm: norm(x) + sublayer(norm(x)),
            lambda x, sublayer, norm: norm(x + sublayer(norm(x))),
        ),
        mistake(
            "norms what the sublayer says, not what it reads",
            "The norm belongs before the sublayer: sublayer(norm(x)).",
            lambda x, sublayer, norm: x + norm(sublayer(x)),
        ),
        mistake(
            "norms what goes round and not what goes in",
            "Just the other way round: the sublayer reads norm(x), and x goes past it.",
            lambda x, sublayer, norm: norm(x) + sublayer(x),
        ),
        mistake(
            "has no norm at all",
            "The sublayer must read norm(x): without it the numbers grow from block to block.",
            lambda x, sublayer, norm: x + sublayer(x),
        ),
    ),
)


def self_attention(x: Tensor) -> Tensor:
    """Attention of a sequence to itself and the past, without weights to learn."""
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)


def cross_attention(x: Tensor, memory: Tensor) -> Tensor:
    """Attention from `x` to `memory`, without weights to learn."""
    return F.scaled_dot_product_attention(x, memory, memory)


def feed_forward(x: Tensor) -> Tensor:
    """A nonlinear change of each token by itself."""
    return torch.relu(x) - 0.3 * x.roll(1, -1)


def _decoder(
    cross: Callable[[Tensor, Tensor], Tensor] = lambda y, memory: cross_attention(norm(y), memory),
    order: Sequence[str] = ("self", "cross", "feed"),
    without: str = "",
    post: bool = False,
    bare: str = "",
) -> Answer:
    """A decoder block: what cross-attention reads, the order of the sublayers, one left bare of something."""

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
            "swaps the roles in cross-attention",
            "The queries come from the decoder, keys and values from the memory: cross_attention(x, memory). "
            "Swapped, there is one row for each source token, which does not even fit the sum.",
            _decoder(lambda y, memory: cross_attention(memory, norm(y))),
            _decoder(lambda y, memory: cross_attention(norm(memory), norm(y))),
        ),
        mistake(
            "forgets the residual around cross-attention",
            "As on Kak's slide 55: what the decoder has read so far is lost, but for where it looks.",
            _decoder(without="cross"),
        ),
        mistake(
            "forgets the residual around self-attention",
            "Each of the three sublayers adds something to x.",
            _decoder(without="self"),
        ),
        mistake(
            "forgets the residual around feed-forward",
            "Each of the three sublayers adds something to x.",
            _decoder(without="feed"),
        ),
        mistake(
            "norms the memory once more",
            "The encoder's stack ends in a norm of its own. The block norms only its own x.",
            _decoder(lambda y, memory: cross_attention(norm(y), norm(memory))),
        ),
        mistake(
            "leaves out the norm before one of the sublayers",
            "Pre-norm has one before each of the three.",
            _decoder(lambda y, memory: cross_attention(y, memory)),
            _decoder(bare="self"),
            _decoder(bare="feed"),
        ),
        mistake(
            "norms the result of the block",
            "The last sum stays as it is; the norm at the end belongs to the whole stack.",
            lambda x, memory: norm(_decoder()(x, memory)),
        ),
        mistake(
            "hands both attentions the same x",
            "Cross-attention reads what self-attention has made: each sublayer goes on from the sum before.",
            _parallel,
        ),
        mistake(
            "has the sublayers in another order",
            "First self-attention, then cross-attention, then feed-forward.",
            _decoder(order=("cross", "self", "feed")),
            _decoder(order=("self", "feed", "cross")),
        ),
        mistake(
            "leaves cross-attention out",
            "That is an encoder block with a causal mask, as in GPT: it never sees the source.",
            _decoder(order=("self", "feed")),
        ),
        mistake(
            "puts the norms after the sums",
            "That is post-norm. Here each sublayer reads normed vectors, and the sums stay as they are.",
            _decoder(post=True),
        ),
    ),
)

"""A decoder block."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_lib.exercises.ch05.blocks import Layer, cross_attention, feed_forward, norm, self_attention
from course_lib.exercises.exercise import Answer, Exercise, mistake, normal


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


def _no_skips(x: Tensor, memory: Tensor) -> Tensor:
    return feed_forward(norm(cross_attention(norm(self_attention(norm(x))), memory)))


def _no_norms(x: Tensor, memory: Tensor) -> Tensor:
    x = x + self_attention(x)
    x = x + cross_attention(x, memory)
    return x + feed_forward(x)


def _parallel_end(x: Tensor, memory: Tensor) -> Tensor:
    x = x + self_attention(norm(x))
    return x + cross_attention(norm(x), memory) + feed_forward(norm(x))


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
            "your code passes the same x to cross-attention and feed-forward",
            "Feed-forward must read what cross-attention has added. Each sublayer starts from the previous "
            "sum.",
            _parallel_end,
        ),
        mistake(
            "your code leaves out feed-forward",
            "A decoder block has three sublayers. The third one is feed-forward: x + feed_forward(norm(x)).",
            _decoder(order=("self", "cross")),
        ),
        mistake(
            "your code leaves out self-attention",
            "A decoder block has three sublayers. The first one is self-attention: x + "
            "self_attention(norm(x)).",
            _decoder(order=("cross", "feed")),
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
        mistake(
            "your code has no skip connections",
            "Each of the three sublayers adds its result to x: x = x + sublayer(norm(x)).",
            _no_skips,
        ),
        mistake(
            "your code has no norms",
            "Pre-norm applies a norm before each of the three sublayers.",
            _no_norms,
        ),
        mistake(
            "your code runs a sublayer twice",
            "Self-attention, cross-attention and feed-forward each run once.",
            _decoder(order=("self", "self", "feed")),
            _decoder(order=("cross", "cross", "feed")),
            _decoder(order=("self", "cross", "feed", "feed")),
        ),
        mistake(
            "your code adds the input of the block again",
            "Each sublayer has its own skip connection; there is none around the whole block.",
            lambda x, memory: x + _decoder()(x, memory),
        ),
    ),
)

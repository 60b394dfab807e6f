"""Pictures as lists of pixels, the convolution that is three matrices, attention between pixels, its cost."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal, numbered

FLATTEN = Exercise(
    id="10.flatten",
    reference=lambda x: x.flatten(2).transpose(1, 2),
    inputs=((numbered(1, 2, 2, 3),), (numbered(2, 3, 4, 5),)),
    mistakes=(
        mistake(
            "mixes pixels and channels: the shape is right, the contents are not",
            "view and reshape only count on along the memory, where all pixels of channel 0 come first. "
            "Flatten height and width, then swap the axes: x.flatten(2).transpose(1, 2).",
            lambda x: x.reshape(x.shape[0], -1, x.shape[1]),
            lambda x: x.flatten(1).unflatten(1, (-1, x.shape[1])),
        ),
        mistake(
            "leaves the channels in front",
            "Asked is a list of vectors, (batch, pixels, channels): the numbers of one pixel stand last.",
            lambda x: x.flatten(2),
        ),
        mistake(
            "reads the picture column by column",
            "A picture is read as a page: row by row. Attention would not mind, but the way back would turn "
            "the picture over.",
            lambda x: x.transpose(2, 3).flatten(2).transpose(1, 2),
            lambda x: x.permute(0, 3, 2, 1).flatten(1, 2),
        ),
        mistake(
            "makes each row of the picture a vector",
            "A token is one pixel, with the numbers of its channels; not a row, and not a channel.",
            lambda x: x.flatten(1, 2),
            lambda x: x.permute(0, 2, 1, 3).flatten(2),
        ),
        mistake(
            "loses the batch",
            "Each picture of the batch keeps its own list: the first axis stays.",
            lambda x: x.permute(0, 2, 3, 1).flatten(0, 2),
        ),
    ),
)

STACK = Exercise(
    id="10.stack",
    reference=lambda w_q, w_k, w_v: torch.cat([w_q, w_k, w_v])[:, :, None],
    inputs=(
        (numbered(2, 2), 10 + numbered(2, 2), 20 + numbered(2, 2)),
        (normal(3, 3), normal(3, 3, seed=1), normal(3, 3, seed=2)),
    ),
    mistakes=(
        mistake(
            "puts the matrices side by side",
            "The outputs lie along the rows of a convolution's weights. Three times as many outputs are "
            "three times as many rows.",
            lambda q, k, v: torch.cat([q, k, v], dim=1)[:, :, None],
        ),
        mistake(
            "forgets the axis of the width",
            "A Conv1d has weights of shape (outputs, inputs, width), here with the width 1.",
            lambda q, k, v: torch.cat([q, k, v]),
        ),
        mistake(
            "transposes the matrices",
            "A convolution computes W x for each pixel, with a row of W for each output, as nn.Linear does.",
            lambda q, k, v: torch.cat([q.t(), k.t(), v.t()])[:, :, None],
        ),
        mistake(
            "has them in another order",
            "The layer takes the first third of the channels as queries, then keys, then values.",
            lambda q, k, v: torch.cat([v, k, q])[:, :, None],
            lambda q, k, v: torch.cat([k, q, v])[:, :, None],
            lambda q, k, v: torch.cat([q, v, k])[:, :, None],
        ),
        mistake(
            "deals the rows out in turn",
            "Row 0 of W_Q, row 0 of W_K, row 0 of W_V, row 1 of W_Q and so on: then the first third of the "
            "channels is a mixture. One whole matrix comes after the other.",
            lambda q, k, v: torch.stack([q, k, v], dim=1).flatten(0, 1)[:, :, None],
        ),
    ),
)


def _parts(qkv: Tensor, heads: int) -> list[Tensor]:
    """Queries, keys and values, each (batch, heads, d_head, pixels)."""
    return [part.unflatten(1, (heads, -1)) for part in qkv.chunk(3, dim=1)]


def _by_head(qkv: Tensor, heads: int) -> list[Tensor]:
    return list(qkv.unflatten(1, (heads, -1)).chunk(3, dim=2))


def _dealt(qkv: Tensor, heads: int) -> list[Tensor]:
    return [part.unflatten(1, (-1, heads)).transpose(1, 2) for part in qkv.chunk(3, dim=1)]


def _pixels(
    parts: Callable[[Tensor, int], list[Tensor]] = _parts,
    width: Callable[[int, int], float] = lambda channels, heads: channels // heads,
    dim: int = -1,
    turned: bool = False,
) -> Answer:
    def attend(qkv: Tensor, heads: int) -> Tensor:
        q, k, v = parts(qkv, heads)
        scores = q.transpose(-2, -1) @ k / math.sqrt(width(qkv.shape[1] // 3, heads))
        weights = scores.softmax(dim)  # (batch, heads, queries, keys)
        return (v @ (weights if turned else weights.transpose(-2, -1))).flatten(1, 2)

    return attend


def _between_channels(qkv: Tensor, heads: int) -> Tensor:
    q, k, v = _parts(qkv, heads)
    weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[2])).softmax(-1)
    return (weights @ v).flatten(1, 2)


ATTENTION = Exercise(
    id="10.attention",
    reference=_pixels(),
    inputs=(
        (normal(1, 6, 3), 1),
        (normal(1, 12, 3, seed=1), 2),
        (normal(2, 18, 5, seed=2), 2),
        (normal(2, 18, 6, seed=3), 3),
    ),
    mistakes=(
        mistake(
            "compares channels instead of pixels",
            "The table of weights has a row and a column for each pixel: (pixels, pixels). Queries and keys "
            "stand in the columns here, so the scores are q.transpose(-2, -1) @ k.",
            _between_channels,
        ),
        mistake(
            "takes the softmax over the queries",
            "The weights with which one pixel looks at all others sum to 1: along the keys, the last axis.",
            _pixels(dim=-2),
        ),
        mistake(
            "gives each pixel what the others ask for, not what it asks for",
            "v @ weights sums over the queries. The sum runs over the keys: v @ weights.transpose(-2, -1).",
            _pixels(turned=True),
        ),
        mistake(
            "scales by the width of all heads together",
            "A dot product of one head has channels / heads terms, so its variance is that number.",
            _pixels(width=lambda channels, heads: channels),
        ),
        mistake(
            "does not scale",
            "The scores are divided by √d_head, as in chapter 1.",
            _pixels(width=lambda channels, heads: 1),
        ),
        mistake(
            "cuts the channels into heads first, as DLStudio does",
            "Here the first third are all queries, the second third all keys, the rest all values; each "
            "third is cut into heads afterwards. The other order is as good, but needs the rows of the "
            "weights in the other order, too.",
            _pixels(parts=_by_head),
        ),
        mistake(
            "deals the channels out like cards",
            "Head h is the h-th slice of channels that lie side by side: unflatten(1, (heads, -1)).",
            _pixels(parts=_dealt),
        ),
    ),
)

MEMORY = Exercise(
    id="10.memory",
    reference=lambda side, batch, heads: 4 * batch * heads * side**4,
    inputs=((2, 1, 1), (16, 2, 4), (64, 8, 1), (32, 3, 2)),
    mistakes=(
        mistake(
            "takes the side for the number of tokens",
            "The tokens are the pixels: side², and a table of weights has side² · side² entries.",
            lambda side, batch, heads: 4 * batch * heads * side**2,
        ),
        mistake(
            "forgets the heads",
            "Each head has a table of its own.",
            lambda side, batch, heads: 4 * batch * side**4,
        ),
        mistake(
            "forgets the batch",
            "Each picture has tables of its own.",
            lambda side, batch, heads: 4 * heads * side**4,
        ),
        mistake(
            "counts the weights, not their bytes",
            "A number in single precision takes 4 bytes.",
            lambda side, batch, heads: batch * heads * side**4,
        ),
        mistake(
            "counts bits",
            "A number in single precision has 32 bits, which are 4 bytes.",
            lambda side, batch, heads: 32 * batch * heads * side**4,
        ),
        mistake(
            "divides the table among the heads",
            "The heads share out the channels. Pixels they all see: every table has its full size.",
            lambda side, batch, heads: 4 * batch * side**4 / heads,
        ),
    ),
)

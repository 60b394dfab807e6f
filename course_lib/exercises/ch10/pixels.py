"""Pixel attention: flattening, a 1×1 convolution for queries, keys and values, attention, and its memory."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal, numbered, whole

FLATTEN = Exercise(
    id="10.flatten",
    reference=lambda x: x.flatten(2).transpose(1, 2),
    inputs=((numbered(1, 2, 2, 3),), (numbered(2, 3, 4, 5),)),
    mistakes=(
        mistake(
            "your code mixes pixels and channels: the shape is right, the contents are not",
            "view and reshape keep the memory order, where all pixels of channel 0 come first. Flatten "
            "height and width, then swap the axes: x.flatten(2).transpose(1, 2).",
            lambda x: x.reshape(x.shape[0], -1, x.shape[1]),
            lambda x: x.flatten(1).unflatten(1, (-1, x.shape[1])),
        ),
        mistake(
            "your code leaves the channels before the pixels",
            "The result must be (batch, pixels, channels): the features of a pixel come last. Swap the "
            "last two axes.",
            lambda x: x.flatten(2),
        ),
        mistake(
            "your code reads the image column by column",
            "Images are read row by row. Attention would not notice, but converting back would "
            "transpose the image.",
            lambda x: x.transpose(2, 3).flatten(2).transpose(1, 2),
            lambda x: x.permute(0, 3, 2, 1).flatten(1, 2),
        ),
        mistake(
            "your code does not make one token per pixel",
            "A token is not a whole row: it is one pixel, with its channels as features. The result must "
            "be (batch, pixels, channels).",
            lambda x: x.flatten(1, 2),
            lambda x: x.permute(0, 2, 1, 3).flatten(2),
            lambda x: x.permute(0, 2, 3, 1),
            lambda x: x.flatten(1),
        ),
        mistake(
            "your code loses the batch",
            "Each image in the batch needs its own sequence. Keep the first axis.",
            lambda x: x.permute(0, 2, 3, 1).flatten(0, 2),
            lambda x: x.permute(2, 3, 0, 1).flatten(0, 1),
        ),
    ),
)

STACK = Exercise(
    id="10.stack",
    reference=lambda w_q, w_k, w_v: torch.cat([w_q, w_k, w_v])[:, :, None],
    inputs=(
        (numbered(2, 2), 10 + numbered(2, 2), 20 + numbered(2, 2)),
        (numbered(1, 1), 10 + numbered(1, 1), 20 + numbered(1, 1)),
        (normal(3, 3), normal(3, 3, seed=1), normal(3, 3, seed=2)),
    ),
    mistakes=(
        mistake(
            "your code concatenates along the inputs",
            "The outputs of a convolution are the rows of its weights. Three times as many outputs "
            "need three times as many rows: concatenate along dim=0.",
            lambda q, k, v: torch.cat([q, k, v], dim=1)[:, :, None],
        ),
        mistake(
            "your code forgets the kernel axis",
            "A Conv1d has weights of shape (outputs, inputs, kernel size). Add a last axis of size 1.",
            lambda q, k, v: torch.cat([q, k, v]),
        ),
        mistake(
            "your code transposes the matrices",
            "A convolution computes W x for each pixel, with one row of W per output, just like "
            "nn.Linear. Do not transpose.",
            lambda q, k, v: torch.cat([q.t(), k.t(), v.t()])[:, :, None],
        ),
        mistake(
            "your code has the matrices in the wrong order",
            "The layer reads queries, keys and values from the first, second and last third of the "
            "channels. Concatenate in that order.",
            lambda q, k, v: torch.cat([v, k, q])[:, :, None],
            lambda q, k, v: torch.cat([k, q, v])[:, :, None],
            lambda q, k, v: torch.cat([q, v, k])[:, :, None],
        ),
        mistake(
            "your code interleaves the rows",
            "With row 0 of W_Q, W_K, W_V, then row 1 of each, every third of the channels is a "
            "mixture. Concatenate whole matrices.",
            lambda q, k, v: torch.stack([q, k, v], dim=1).flatten(0, 1)[:, :, None],
        ),
        mistake(
            "your code stacks along a new axis",
            "torch.stack makes a new axis. Concatenate along the first one: torch.cat([w_q, w_k, w_v]).",
            lambda q, k, v: torch.stack([q, k, v]),
            lambda q, k, v: torch.stack([q, k, v], dim=-1),
            lambda q, k, v: torch.stack([q, k, v], dim=1),
        ),
        mistake(
            "your kernel axis is not the last one",
            "A Conv1d has weights of shape (outputs, inputs, kernel size). Add the axis at the end: [:, :, "
            "None].",
            lambda q, k, v: torch.cat([q, k, v])[None],
            lambda q, k, v: torch.cat([q, k, v])[:, None],
        ),
        mistake(
            "your code adds the matrices",
            "Stack them: the convolution has three times as many outputs.",
            lambda w_q, w_k, w_v: (w_q + w_k + w_v)[:, :, None],
        ),
    ),
)


def _parts(qkv: Tensor, heads: int) -> list[Tensor]:
    """Queries, keys and values, each (batch, heads, d_head, pixels)."""
    return [part.unflatten(1, (heads, -1)) for part in qkv.chunk(3, dim=1)]


def _by_head(qkv: Tensor, heads: int) -> list[Tensor]:
    return list(qkv.unflatten(1, (heads, -1)).chunk(3, dim=2))


def _interleaved(qkv: Tensor, heads: int) -> list[Tensor]:
    return [part.unflatten(1, (-1, heads)).transpose(1, 2) for part in qkv.chunk(3, dim=1)]


def _pixels(
    parts: Callable[[Tensor, int], list[Tensor]] = _parts,
    width: Callable[[int, int], float] = lambda channels, heads: channels // heads,
    dim: int = -1,
    turned: bool = False,
    order: tuple[int, int, int] = (0, 1, 2),
    softmax: Callable[[Tensor, int], Tensor] = lambda scores, dim: scores.softmax(dim),
    pixels: bool = False,
) -> Answer:
    """Pixel attention with options for the mistakes.

    width: what the scores are scaled by, from channels and heads; pixels: by the number of pixels instead.
    order: which of the parts are taken for queries, keys and values.
    """

    def attend(qkv: Tensor, heads: int) -> Tensor:
        q, k, v = (parts(qkv, heads)[i] for i in order)
        scale = qkv.shape[2] if pixels else width(qkv.shape[1] // 3, heads)
        scores = q.transpose(-2, -1) @ k / math.sqrt(scale)
        weights = softmax(scores, dim)  # (batch, heads, queries, keys)
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
        (whole(1, 3, 2, seed=2), 1),
        (normal(1, 6, 3), 1),
        (normal(1, 12, 3, seed=1), 2),
        (normal(2, 18, 5, seed=2), 2),
        (normal(2, 18, 6, seed=3), 3),
    ),
    mistakes=(
        mistake(
            "your code compares channels instead of pixels",
            "The weights need a row and a column per pixel: (pixels, pixels). Here the queries and "
            "keys are columns, so the scores are q.transpose(-2, -1) @ k.",
            _between_channels,
        ),
        mistake(
            "your code takes the softmax over the queries",
            "The weights of each query must sum to 1 over the keys, the last axis. Use dim=-1.",
            _pixels(dim=-2),
        ),
        mistake(
            "your code applies the weights transposed",
            "v @ weights sums over the queries. To sum over the keys, compute v @ weights.transpose(-2, -1).",
            _pixels(turned=True),
        ),
        mistake(
            "your code scales by the width of all heads together",
            "A dot product in one head has channels / heads terms, so its variance is that number. "
            "Divide by its square root.",
            _pixels(width=lambda channels, heads: channels),
        ),
        mistake(
            "your code does not scale",
            "Divide the scores by √d_head, as in chapter 1.",
            _pixels(width=lambda channels, heads: 1),
        ),
        mistake(
            "your code scales by the number of pixels",
            "Here the last axis of q holds the pixels. d_head is axis 2: divide by math.sqrt(q.shape[2]).",
            _pixels(pixels=True),
        ),
        mistake(
            "your code divides by d_head instead of its root",
            "A dot product of d_head terms has a variance of d_head, so a standard deviation of √d_head.",
            _pixels(width=lambda channels, heads: (channels // heads) ** 2),
        ),
        mistake(
            "your code takes the softmax over all pairs of pixels",
            "The weights of each query must sum to 1 over the keys, the last axis. Use dim=-1.",
            _pixels(softmax=lambda scores, dim: scores.flatten(-2).softmax(-1).view_as(scores)),
        ),
        mistake(
            "your code leaves out the softmax",
            "Scores become weights that sum to 1 by a softmax over the keys.",
            _pixels(softmax=lambda scores, dim: scores),
        ),
        mistake(
            "your code interchanges queries and keys",
            "The rows are queries: q.transpose(-2, -1) @ k.",
            _pixels(order=(1, 0, 2)),
        ),
        mistake(
            "your code takes the wrong part for the values",
            "The values are the last third. What is averaged is v.",
            _pixels(order=(0, 1, 0)),
            _pixels(order=(0, 1, 1)),
        ),
        mistake(
            "your code splits into heads first, as DLStudio does",
            "Here the first third of the channels is all queries, then all keys, then all values, and "
            "each third is split into heads. The other order works too, but only if the rows of the "
            "weights have the same order.",
            _pixels(parts=_by_head),
        ),
        mistake(
            "your code interleaves the channels of the heads",
            "Head h is the h-th contiguous slice of channels. Use unflatten(1, (heads, -1)).",
            _pixels(parts=_interleaved),
        ),
        mistake(
            "your code scales by the number of heads",
            "In q, (batch, heads, d_head, pixels), d_head is axis 2: divide by math.sqrt(q.shape[2]).",
            _pixels(width=lambda channels, heads: heads),
        ),
        mistake(
            "your softmax is over the heads",
            "The weights of each query must sum to 1 over the keys, the last axis. Use dim=-1.",
            _pixels(dim=1),
        ),
    ),
)

MEMORY = Exercise(
    id="10.memory",
    reference=lambda side, batch, heads: 4 * batch * heads * side**4,
    inputs=((2, 1, 1), (16, 2, 4), (64, 8, 1), (32, 3, 2)),
    mistakes=(
        mistake(
            "your answer takes the side as the number of tokens",
            "The tokens are the pixels, side² of them. The attention weights have side² · side² entries.",
            lambda side, batch, heads: 4 * batch * heads * side**2,
        ),
        mistake(
            "your answer forgets the heads",
            "Each head has its own attention weights. Multiply by `heads`.",
            lambda side, batch, heads: 4 * batch * side**4,
        ),
        mistake(
            "your answer forgets the batch",
            "Each image has its own attention weights. Multiply by `batch`.",
            lambda side, batch, heads: 4 * heads * side**4,
        ),
        mistake(
            "your answer counts numbers instead of bytes",
            "A float32 number takes 4 bytes. Multiply by 4.",
            lambda side, batch, heads: batch * heads * side**4,
        ),
        mistake(
            "your answer counts bits",
            "A float32 number has 32 bits, which are 4 bytes. Multiply by 4, not 32.",
            lambda side, batch, heads: 32 * batch * heads * side**4,
        ),
        mistake(
            "your answer divides the weights among the heads",
            "The heads split the channels, not the pixels. The weights of every head have the full size.",
            lambda side, batch, heads: 4 * batch * side**4 / heads,
        ),
        mistake(
            "your answer has the wrong power of the side",
            "side² pixels attend to side² pixels: side⁴ weights.",
            lambda side, batch, heads: 4 * batch * heads * side**3,
        ),
        mistake(
            "your answer takes 8 bytes for a number",
            "float32 takes 4 bytes; it is float64 that takes 8.",
            lambda side, batch, heads: 8 * batch * heads * side**4,
            lambda side, batch, heads: 2 * batch * heads * side**4,
        ),
        mistake(
            "your answer counts megabytes",
            "The task asks for bytes.",
            lambda side, batch, heads: 4 * batch * heads * side**4 / 2**20,
            lambda side, batch, heads: 4 * batch * heads * side**4 / 10**6,
        ),
    ),
)

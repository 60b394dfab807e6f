"""Functions that the wrong answers in tests/exercises/wrong_answers.csv call, with switches for mistakes."""

import math
import statistics

import torch
import torch.nn as nn
import torch.nn.functional as F

from course_lib.exercises.toys import cross_attention, feed_forward, norm, self_attention
from course_lib.layers.multi_head_attention import attention
from course_lib.layers.positions import sinusoidal

sdpa = F.scaled_dot_product_attention


def probed(pair, i):
    """Output i of a pair (x, layer(x)) as one number, with a random weight for each feature."""
    output = pair[1][i]
    return (output * torch.randn(len(output), generator=torch.Generator().manual_seed(1))).sum()


def split(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge(x):
    return x.transpose(1, 2).flatten(-2)


def loop(
    layer, optimizer, batches, *, item=True, zero=True, step=True, backward=True, last=False,
    loss=F.mse_loss, memory=False, total=False, late_zero=False,
):  # fmt: skip
    losses = []
    for x, y in batches:
        value = loss(layer(x, y if memory else x), y)
        if zero and not late_zero:
            optimizer.zero_grad()
        if backward:
            value.backward()
        if late_zero:
            optimizer.zero_grad()
        if step:
            optimizer.step()
        losses.append(value.item() if item else value)
    return losses[-1] if last else sum(losses) if total else losses


def hole(x, s, size):
    """The head of 03.loophole: scores s · number, values ±size."""
    w_q = torch.tensor([[0.0], [0], [1], [0]])
    w_k = torch.tensor([[s], [0], [0], [0]])
    w_v = torch.tensor([[0.0], [size], [0], [-size]])
    return sdpa(x @ w_q, x @ w_k, x @ w_v)[1].item()


def flash(q, k, v, block, *, scale=None, one_maximum=False, first_maximum=False, rescale=True, divide=True):
    top = sums = results = None
    for keys, values in zip(k.split(block), v.split(block), strict=True):
        scores = q @ keys.T * (scale or q.shape[-1] ** -0.5)
        here = scores.max() if one_maximum else scores.amax(-1, True)
        new = here if top is None else top if first_maximum else torch.maximum(top, here)
        weights = (scores - new).exp()
        old = (top - new).exp() if rescale and top is not None else 1.0
        sums = weights.sum(-1, True) + (0 if sums is None else old * sums)
        results = weights @ values + (0 if results is None else old * results)
        top = new
    return results / sums if divide else results


def turned(a, b, x, start, sign=1, base=10000.0, swap=False, no_minus=False):
    table = sinusoidal(start + x.shape[-2], x.shape[-1], base)[start:]
    sin, cos = sign * table[:, 0::2], table[:, 1::2]
    sin, cos = (cos, sin) if swap else (sin, cos)
    return a * cos - (-1 if no_minus else 1) * b * sin, a * sin + b * cos


def rope(x, start, side_by_side=False, **mistakes):
    parts = turned(x[..., 0::2], x[..., 1::2], x, start, **mistakes)
    return torch.cat(parts, -1) if side_by_side else torch.stack(parts, -1).flatten(-2)


def halves(x, start, interleave=False, second_first=False, **mistakes):
    a, b = x.chunk(2, -1)
    parts = turned(*((b, a) if second_first else (a, b)), x, start, **mistakes)
    return torch.stack(parts, -1).flatten(-2) if interleave else torch.cat(parts, -1)


def dist(tokens):
    positions = torch.arange(tokens)
    return positions[:, None] - positions


def ln(
    x, gain, bias, *, dim=-1, correction=0, root=True, eps=1e-5, outside=False, mean=True
):  # fmt: skip
    variance = x.var(dim, correction=correction, keepdim=True)
    divisor = variance.sqrt() + eps if outside else (variance + eps).sqrt() if root else variance + eps
    return (x - x.mean(dim, keepdim=True) * mean) / divisor * gain + bias


def dec(x, memory, order, *, skip="scf", post=False, norm_memory=False, plain="", swap=False):
    """A decoder block: its sublayers, those with a skip connection, and those without a norm."""
    for name in order:
        y = x if post or name in plain else norm(x)
        read = norm(memory) if norm_memory else memory
        cross = cross_attention(read, y) if swap else cross_attention(y, read)
        result = {"s": self_attention(y), "c": cross, "f": feed_forward(y)}[name]
        x = result + x if name in skip else result
        x = norm(x) if post else x
    return x


def par(x, memory):
    x = x + self_attention(norm(x))
    return x + cross_attention(norm(x), memory) + feed_forward(norm(x))


def through(x, blocks):
    for block in blocks:
        x = block(x)
    return x


def unit(x, dim=-1):
    return x / (x.square().mean(dim, keepdim=True) + 1e-5).sqrt()


NAMES = {
    **{one.__name__: one for one in (probed, split, merge, loop, hole, flash, rope, halves, dist, ln, dec)},
    **{one.__name__: one for one in (par, through, unit, attention, sinusoidal)},
    "norm": norm, "sdpa": sdpa, "torch": torch, "nn": nn, "F": F, "math": math, "statistics": statistics,
}  # fmt: skip

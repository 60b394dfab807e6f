"""Attention as the lecture's code computes it, with a switch for each deviation."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.masks import Mask
from course_lib.lectures.dlstudio.deviations import Deviations
from course_lib.utils.ranges import check_axes


def dlstudio_attention(
    q: Float[Tensor, "*batch queries d_head"],
    k: Float[Tensor, "*batch keys d_head"],
    v: Float[Tensor, "*batch keys d_value"],
    mask: Mask | None,
    deviations: Deviations,
) -> tuple[Float[Tensor, "*batch queries d_value"], Float[Tensor, "*batch queries keys"]]:
    """Attention with deviations: outputs and weights; without any, `course_lib.layers.attention`.

    mask: True where a query may attend.
    Source: Kak slide 32, lines (J) to (O); DLStudio 2.4.3 has dim=1 in line (E).
    """
    scale = 1 / math.sqrt(q.shape[-1])
    scores = q @ k.transpose(-2, -1)
    if not deviations.scale_after_softmax:
        scores = scores * scale
    axis = -2 if deviations.softmax_over_queries else -1
    if mask is None:
        weights = scores.softmax(dim=axis)
    else:
        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=axis)
        # a fully masked row (or column) becomes NaN: set its weights to 0
        weights = weights.masked_fill(~mask.any(dim=axis, keepdim=True), 0.0)
    # after the softmax, the factor shrinks the output and leaves the weights unchanged
    return weights @ v * (scale if deviations.scale_after_softmax else 1), weights


class HeadLinears(nn.Module):
    """Projections to the queries (or keys, or values) of all heads, with one Linear per head.

    flat: the Linear maps the flattened sentence to a flattened sentence, so every sentence must have
    `tokens` tokens. sliced: head h reads only slice h of the vectors, instead of all features.
    """

    def __init__(self, d_model: int, heads: int, tokens: int, flat: bool, sliced: bool, bias: bool = True):
        super().__init__()
        self.flat, self.sliced = flat, sliced
        length, d_head = tokens if flat else 1, d_model // heads
        width = d_head if sliced else d_model
        sizes = (length * width, length * d_head, bias)
        self.linears = nn.ModuleList(nn.Linear(*sizes) for _ in range(heads))

    def forward(self, x: Float[Tensor, "batch tokens d_model"]) -> Float[Tensor, "batch heads tokens d_head"]:
        check_axes(x, "batch, tokens, d_model")
        heads = len(self.linears)
        seen = x.chunk(heads, dim=-1) if self.sliced else [x] * heads
        if self.flat:
            seen = [part.flatten(1) for part in seen]
        out = torch.stack([linear(part) for linear, part in zip(self.linears, seen, strict=True)], dim=1)
        return out.unflatten(-1, (x.shape[1], -1)) if self.flat else out


class DLStudioAttention(nn.Module):
    """Multi-head attention with deviations: self-attention as `attend(x, x)`, cross-attention as
    `attend(x, memory)`.

    flat, bias: as in `HeadLinears`.
    Source: Kak slides 35 and 50.
    """

    def __init__(
        self, d_model: int, heads: int, tokens: int, flat: bool, deviations: Deviations, bias: bool = True
    ):
        super().__init__()
        self.deviations = deviations
        sizes = (d_model, heads, tokens, flat, deviations.sliced_heads, bias)
        self.w_q, self.w_k, self.w_v = (HeadLinears(*sizes) for _ in range(3))
        self.w_o = nn.Identity() if deviations.no_output_projection else nn.Linear(d_model, d_model)

    def forward(
        self,
        x: Float[Tensor, "batch queries d_model"],
        memory: Float[Tensor, "batch keys d_model"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch queries d_model"]:
        out, _ = dlstudio_attention(self.w_q(x), self.w_k(memory), self.w_v(memory), mask, self.deviations)
        return self.w_o(out.transpose(1, 2).flatten(-2))

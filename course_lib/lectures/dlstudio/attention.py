"""Attention as the lecture's code computes it, each oddity behind its switch."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.lectures.dlstudio.oddities import Oddities
from course_lib.masks import Mask


def odd_attention(
    q: Float[Tensor, "*batch queries d_head"],
    k: Float[Tensor, "*batch keys d_head"],
    v: Float[Tensor, "*batch keys d_value"],
    mask: Mask | None,
    oddities: Oddities,
) -> tuple[Float[Tensor, "*batch queries d_value"], Float[Tensor, "*batch queries keys"]]:
    """Averages of the values and their weights; `course_lib.attention.attention` where nothing is odd.

    mask: True where a query may look.
    Source: Kak slide 32, lines (J) to (O); DLStudio 2.4.3 has dim=1 in line (E).
    """
    scale = 1 / math.sqrt(q.shape[-1])
    scores = q @ k.transpose(-2, -1)
    if not oddities.scale_after_softmax:
        scores = scores * scale
    axis = -2 if oddities.softmax_over_queries else -1
    if mask is None:
        weights = scores.softmax(dim=axis)
    else:
        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=axis)
        # a row (or column) of nothing but -inf comes out as NaN: nothing is looked at
        weights = weights.masked_fill(~mask.any(dim=axis, keepdim=True), 0.0)
    # past the softmax the factor makes the average smaller and leaves the weights as they are
    return weights @ v * (scale if oddities.scale_after_softmax else 1), weights


class HeadLinears(nn.Module):
    """One Linear for each head: the queries (or keys, or values) of all heads.

    flat: the Linear reads all vectors of a sentence as one long vector and writes such a one; sentences
    have `tokens` tokens then. sliced: head h sees slice h of the vectors, otherwise all of them.
    """

    def __init__(self, d_model: int, heads: int, tokens: int, flat: bool, sliced: bool, bias: bool = True):
        super().__init__()
        self.flat, self.sliced = flat, sliced
        length, d_head = tokens if flat else 1, d_model // heads
        width = d_head if sliced else d_model
        sizes = (length * width, length * d_head, bias)
        self.linears = nn.ModuleList(nn.Linear(*sizes) for _ in range(heads))

    def forward(self, x: Float[Tensor, "batch tokens d_model"]) -> Float[Tensor, "batch heads tokens d_head"]:
        heads = len(self.linears)
        seen = x.chunk(heads, dim=-1) if self.sliced else [x] * heads
        if self.flat:
            seen = [part.flatten(1) for part in seen]
        out = torch.stack([linear(part) for linear, part in zip(self.linears, seen, strict=True)], dim=1)
        return out.unflatten(-1, (x.shape[1], -1)) if self.flat else out


class OddAttention(nn.Module):
    """Several heads side by side; self-attention is `attend(x, x)`, cross-attention `attend(x, memory)`.

    flat, bias: as in `HeadLinears`.
    Source: Kak slides 35 and 50.
    """

    def __init__(
        self, d_model: int, heads: int, tokens: int, flat: bool, oddities: Oddities, bias: bool = True
    ):
        super().__init__()
        self.oddities = oddities
        sizes = (d_model, heads, tokens, flat, oddities.sliced_heads, bias)
        self.w_q, self.w_k, self.w_v = (HeadLinears(*sizes) for _ in range(3))
        self.w_o = nn.Identity() if oddities.no_output_projection else nn.Linear(d_model, d_model)

    def forward(
        self,
        x: Float[Tensor, "batch queries d_model"],
        memory: Float[Tensor, "batch keys d_model"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch queries d_model"]:
        out, _ = odd_attention(self.w_q(x), self.w_k(memory), self.w_v(memory), mask, self.oddities)
        return self.w_o(out.transpose(1, 2).flatten(-2))

"""Attention: the function, and the layer with several heads around it."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.cache import Cache, KeysValues
from course_lib.masks import Mask, masked_softmax
from course_lib.positions import RotaryPositions, Start


def attention(
    q: Float[Tensor, "*batch queries d_head"],
    k: Float[Tensor, "*batch keys d_head"],
    v: Float[Tensor, "*batch keys d_value"],
    mask: Mask | None = None,
) -> tuple[Float[Tensor, "*batch queries d_value"], Float[Tensor, "*batch queries keys"]]:
    """Average the values `v`, weighted by how well each query matches each key.

    mask: True where a query may look; broadcasts to the weights.
    Returns the averages and the weights; each row of weights sums to 1 (to 0 where a query may look nowhere).
    Source: Vaswani et al. 2017, equation (1).
    """
    weights = masked_softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), mask)
    return weights @ v, weights


class FusedAttention(nn.Module):
    """`attention` without its weights, through PyTorch's fused kernels.

    It is a module, and not a function, so that a hook can see queries and keys (`record_attention`).
    dropout: probability of dropping a weight in training; on a CPU it forgoes the fast kernel.
    """

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        self.dropout = dropout

    def forward(
        self,
        q: Float[Tensor, "batch heads queries d_head"],
        k: Float[Tensor, "batch heads keys d_head"],
        v: Float[Tensor, "batch heads keys d_head"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch heads queries d_head"]:
        dropout = self.dropout if self.training else 0.0
        if q.dtype == torch.bfloat16 and q.device.type == "cpu" and not dropout:
            return attention(q, k, v, mask)[0]  # several times faster there than the fused kernel
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each in its own slice of the projected vectors.

    Self-attention is `mha(x, x)`, cross-attention `mha(x, memory)`.
    d_model: width of the vectors. heads: divides d_model. dropout: probability, on the weights.
    rotary: turns queries and keys by their positions; for self-attention alone.
    normalise: whether queries and keys are brought to the length √d_head, so that no score exceeds it.
    Raises ValueError where `heads` does not divide `d_model`.
    Source: Vaswani et al. 2017, section 3.2.2; Henry et al. 2020 (normalised queries and keys).
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        rotary: RotaryPositions | None = None,
        normalise: bool = False,
    ):
        super().__init__()
        if d_model % heads:
            raise ValueError(f"heads={heads} does not divide d_model={d_model}")
        self.heads, self.rotary, self.normalise = heads, rotary, normalise
        self.w_q = nn.Linear(d_model, d_model, bias)
        self.w_kv = nn.Linear(d_model, 2 * d_model, bias)
        self.w_o = nn.Linear(d_model, d_model, bias)
        self.attend = FusedAttention(dropout)

    def forward(
        self,
        x: Float[Tensor, "batch queries d_model"],
        memory: Float[Tensor, "batch keys d_model"],
        mask: Mask | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "batch queries d_model"]:
        """What each token of `x` gathers from `memory`, and from the tokens its cache has seen before."""
        start = getattr(cache, "length", 0)  # the tokens that self-attention has seen before
        q = self.turn(self.split(self.w_q(x)), start)
        project = partial(self.keys_values, start=start)
        k, v = project(memory) if cache is None else cache.extend(memory, project)
        return self.w_o(self.attend(q, k, v, mask).transpose(1, 2).flatten(-2))

    def keys_values(self, memory: Float[Tensor, "batch keys d_model"], start: Start = 0) -> KeysValues:
        k, v = self.w_kv(memory).chunk(2, dim=-1)
        return self.turn(self.split(k), start), self.split(v)

    def split(self, x: Float[Tensor, "batch tokens d_model"]) -> Float[Tensor, "batch heads tokens d_head"]:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def turn(
        self, x: Float[Tensor, "batch heads tokens d_head"], start: Start
    ) -> Float[Tensor, "batch heads tokens d_head"]:
        """Queries or keys as they meet: normalised, and turned by their positions, where that is wanted."""
        x = F.rms_norm(x, x.shape[-1:]) if self.normalise else x
        return x if self.rotary is None else self.rotary(x, start)

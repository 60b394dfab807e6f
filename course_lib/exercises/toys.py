"""Stand-ins for the parts of a Transformer, without learned weights: exercises compute with them by hand."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def norm(x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
    """LayerNorm without learned gain and bias."""
    return F.layer_norm(x, x.shape[-1:])


def unit(x: Float[Tensor, "*shape"], axis: int = -1) -> Float[Tensor, "*shape"]:
    """RMSNorm without gain."""
    return x / (x.square().mean(axis, keepdim=True) + 1e-5).sqrt()


def self_attention(x: Float[Tensor, "*batch tokens d_model"]) -> Float[Tensor, "*batch tokens d_model"]:
    """Causal self-attention without learned weights."""
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)


def cross_attention(
    x: Float[Tensor, "*batch queries d_model"], memory: Float[Tensor, "*batch keys d_model"]
) -> Float[Tensor, "*batch queries d_model"]:
    """Cross-attention from `x` to `memory` without learned weights."""
    return F.scaled_dot_product_attention(x, memory, memory)


def feed_forward(x: Float[Tensor, "*batch tokens d_model"]) -> Float[Tensor, "*batch tokens d_model"]:
    """Nonlinear layer that treats each token separately, without learned weights."""
    return torch.relu(x) - 0.3 * x.roll(1, -1)

"""nanoGPT's model, rebuilt from its description in plain PyTorch; it uses none of the course's layers.

The sizes are those of its published CPU setting, with 0.80 million parameters. It has no dropout there.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Model sizes."""

    vocab: int = 65
    layers: int = 4
    heads: int = 4
    width: int = 128
    context: int = 64


class Block(nn.Module):
    """Pre-norm block: attention (queries, keys and values in one projection), feed-forward; no biases."""

    def __init__(self, s: Setting):
        super().__init__()
        self.heads = s.heads
        self.norms = nn.ModuleList(nn.LayerNorm(s.width, bias=False) for _ in range(2))
        self.project = nn.Linear(s.width, 3 * s.width, bias=False)
        self.attention_out = nn.Linear(s.width, s.width, bias=False)
        self.hidden = nn.Linear(s.width, 4 * s.width, bias=False)
        self.hidden_out = nn.Linear(4 * s.width, s.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        parts = self.project(self.norms[0](x)).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        seen = seen.transpose(1, 2).reshape(batch, tokens, width)
        x = x + self.attention_out(seen)
        return x + self.hidden_out(F.gelu(self.hidden(self.norms[1](x))))


class NanoGPT(nn.Module):
    """A GPT with learned positions, weight tying and a final LayerNorm."""

    def __init__(self, s: Setting):
        super().__init__()
        self.tokens, self.places = nn.Embedding(s.vocab, s.width), nn.Embedding(s.context, s.width)
        self.blocks = nn.ModuleList(Block(s) for _ in range(s.layers))
        self.norm = nn.LayerNorm(s.width, bias=False)
        for name, p in self.named_parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * s.layers) if "_out" in name else 0.02)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tokens.weight.T

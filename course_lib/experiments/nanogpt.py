"""nanoGPT's published CPU setting, rebuilt from its description in plain PyTorch: model and training.

0.80 million parameters: 4 layers, 4 heads, width 128, context 64; batch 12, 2000 steps of AdamW,
learning rate 0.001 with cosine decay to 0.0001 after 100 steps of warm-up, betas 0.9 and 0.99, decay 0.1,
no dropout. It uses none of the course's layers.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Model sizes and training hyperparameters."""

    vocab: int = 65
    layers: int = 4
    heads: int = 4
    width: int = 128
    context: int = 64
    batch: int = 12
    steps: int = 2000
    warmup: int = 100
    lr: float = 1e-3
    last_lr: float = 1e-4
    dropout: float = 0.0


class Block(nn.Module):
    """Pre-norm block: attention (queries, keys and values in one projection), feed-forward; no biases."""

    def __init__(self, s: Setting):
        super().__init__()
        self.heads, self.dropout = s.heads, s.dropout
        self.norms = nn.ModuleList(nn.LayerNorm(s.width, bias=False) for _ in range(2))
        self.project = nn.Linear(s.width, 3 * s.width, bias=False)
        self.attention_out = nn.Linear(s.width, s.width, bias=False)
        self.hidden = nn.Linear(s.width, 4 * s.width, bias=False)
        self.hidden_out = nn.Linear(4 * s.width, s.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        parts = self.project(self.norms[0](x)).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        dropout = self.dropout if self.training else 0.0
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
        seen = seen.transpose(1, 2).reshape(batch, tokens, width)
        x = x + F.dropout(self.attention_out(seen), dropout)
        return x + F.dropout(self.hidden_out(F.gelu(self.hidden(self.norms[1](x)))), dropout)


class NanoGPT(nn.Module):
    """A GPT with learned positions, weight tying and a final LayerNorm."""

    def __init__(self, setting: Setting):
        super().__init__()
        self.setting = s = setting
        self.tokens, self.places = nn.Embedding(s.vocab, s.width), nn.Embedding(s.context, s.width)
        self.blocks = nn.ModuleList(Block(s) for _ in range(s.layers))
        self.norm = nn.LayerNorm(s.width, bias=False)
        for name, p in self.named_parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * s.layers) if "_out" in name else 0.02)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        x = F.dropout(x, self.setting.dropout, self.training)
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tokens.weight.T


class Training:
    """Trains one model on a text; `step` takes one step."""

    def __init__(self, model: NanoGPT, text: Tensor, seed: int = 0):
        self.model, self.text, self.number = model.train(), text, 0
        self.rng = torch.Generator().manual_seed(seed)
        groups = [
            {"params": [p for p in model.parameters() if p.ndim >= 2], "weight_decay": 0.1},
            {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(groups, lr=model.setting.lr, betas=(0.9, 0.99))

    def rate(self) -> float:
        s = self.model.setting
        if self.number < s.warmup:
            return s.lr * (self.number + 1) / (s.warmup + 1)
        done = min(1.0, (self.number - s.warmup) / (s.steps - s.warmup))
        return s.last_lr + 0.5 * (1 + math.cos(math.pi * done)) * (s.lr - s.last_lr)

    def step(self) -> int:
        """One step on random windows of the text; returns the number of predicted tokens."""
        s = self.model.setting
        places = torch.randint(len(self.text) - s.context, (s.batch,), generator=self.rng)
        windows = torch.stack([self.text[place : place + s.context + 1] for place in places.tolist()])
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()
        logits = self.model(windows[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.number += 1
        return s.batch * s.context

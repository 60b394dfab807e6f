"""Where a token stands: vectors added to the embeddings."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


def sinusoidal(tokens: int, d_model: int, base: float = 10000.0) -> Float[Tensor, "tokens d_model"]:
    """Sines and cosines of wavelengths from 2π to almost 2π·base, one pair for each two features.

    Feature 2i holds sin(position / base^(2i/d_model)), feature 2i+1 the cosine of the same angle.
    Raises ValueError where `d_model` is odd.
    Source: Vaswani et al. 2017, section 3.5.
    """
    if d_model % 2:
        raise ValueError(f"d_model={d_model} is odd: sines and cosines come in pairs")
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    angles = torch.arange(tokens, dtype=torch.float64)[:, None] / base**exponents  # (tokens, pairs)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()


class SinusoidalPositions(nn.Module):
    """Adds the fixed sinusoidal vectors.

    max_tokens: the longest sequence, for which the table is made.
    """

    def __init__(self, max_tokens: int, d_model: int):
        super().__init__()
        self.register_buffer("table", sinusoidal(max_tokens, d_model), persistent=False)

    def forward(
        self, x: Float[Tensor, "batch tokens d_model"], start: int = 0
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Add the vectors of positions start, start + 1, …; ValueError past the table's end."""
        return x + rows(self.table, start, x.shape[1])


class LearnedPositions(nn.Module):
    """Adds a table of vectors that is trained with the model.

    max_tokens: the longest sequence there can ever be.
    """

    def __init__(self, max_tokens: int, d_model: int):
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_tokens, d_model) * 0.02)

    def forward(
        self, x: Float[Tensor, "batch tokens d_model"], start: int = 0
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Add the vectors of positions start, start + 1, …; ValueError past the table's end."""
        return x + rows(self.table, start, x.shape[1])


def rows(
    table: Float[Tensor, "max_tokens d_model"], start: int, tokens: int
) -> Float[Tensor, "tokens d_model"]:
    if start + tokens > len(table):
        raise ValueError(f"positions up to {start + tokens} asked for, but there are max_tokens={len(table)}")
    return table[start : start + tokens]

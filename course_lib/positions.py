"""Where a token stands: vectors added to the embeddings, or a turn of queries and keys."""

from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

Start: TypeAlias = int | Int[Tensor, ""]  # a tensor where compiled code must not depend on it


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
        self, x: Float[Tensor, "batch tokens d_model"], start: Start = 0
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
        self, x: Float[Tensor, "batch tokens d_model"], start: Start = 0
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Add the vectors of positions start, start + 1, …; ValueError past the table's end."""
        return x + rows(self.table, start, x.shape[1])


class RotaryPositions(nn.Module):
    """Turns queries and keys by angles that grow with the position.

    A score then depends on how far key and query stand apart, and not on where they stand.
    max_tokens: the longest sequence, for which the table is made.
    Raises ValueError where `d_head` is odd.
    Source: Su et al. 2021, section 3.2.2.
    """

    def __init__(self, max_tokens: int, d_head: int):
        super().__init__()
        if d_head % 2:
            raise ValueError(f"d_head={d_head} is odd: features are turned in pairs")
        self.register_buffer("table", sinusoidal(max_tokens, d_head), persistent=False)

    def forward(
        self, x: Float[Tensor, "*batch tokens d_head"], start: Start = 0
    ) -> Float[Tensor, "*batch tokens d_head"]:
        """Turn by the positions start, start + 1, …; ValueError past the table's end."""
        return rotate(x, rows(self.table, start, x.shape[-2]))


def rotate(
    x: Float[Tensor, "*batch tokens d_head"], table: Float[Tensor, "tokens d_head"]
) -> Float[Tensor, "*batch tokens d_head"]:
    """Turn features 2i and 2i+1, as a point in the plane, by the angle whose sine and cosine `table` holds.

    table: rows of `sinusoidal`. Lengths stay as they are; position 0 does not turn.
    Source: Su et al. 2021, equations (13) and (15).
    """
    a, b = x[..., 0::2], x[..., 1::2]
    sin, cos = table[..., 0::2], table[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2).to(x.dtype)


class NoPositions(nn.Identity):
    """Adds nothing; like `nn.Identity` it takes any sizes, here those of the others."""

    def forward(
        self, x: Float[Tensor, "batch tokens d_model"], start: Start = 0
    ) -> Float[Tensor, "batch tokens d_model"]:
        return x


def rows(
    table: Float[Tensor, "max_tokens d_model"], start: Start, tokens: int
) -> Float[Tensor, "tokens d_model"]:
    """Rows start, start + 1, … of a table; of a `start` in a tensor the end is not checked."""
    if isinstance(start, Tensor):
        return table[start + torch.arange(tokens, device=table.device)]
    if start + tokens > len(table):
        raise ValueError(f"positions up to {start + tokens} asked for, but there are max_tokens={len(table)}")
    return table[start : start + tokens]

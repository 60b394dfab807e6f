"""Position encodings: sinusoidal, learned, rotary (RoPE), none."""

from functools import partial
from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.tables import ComputedTable
from course_lib.utils.ranges import check_whole

Start: TypeAlias = int | Int[Tensor, ""]  # a tensor if compiled code must not depend on it


def sinusoidal(tokens: int, d_model: int, base: float = 10000.0) -> Float[Tensor, "tokens d_model"]:
    """Sinusoidal position encodings, with wavelengths from 2π to almost 2π·base.

    Feature 2i is sin(position / base^(2i/d_model)), feature 2i+1 the cosine of the same angle.
    Raises ValueError if `d_model` is odd.
    Source: Vaswani et al. 2017, section 3.5.

    >>> sinusoidal(tokens=3, d_model=2)  # sines and cosines of 0, 1 and 2
    tensor([[ 0.0000,  1.0000],
            [ 0.8415,  0.5403],
            [ 0.9093, -0.4161]])
    """
    check_whole(0, tokens=tokens)
    check_whole(1, d_model=d_model)
    if d_model % 2:
        raise ValueError(f"d_model={d_model} is odd: sines and cosines come in pairs")
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    angles = torch.arange(tokens, dtype=torch.float64)[:, None] / base**exponents  # (tokens, pairs)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()


class SinusoidalPositions(ComputedTable):
    """Adds sinusoidal position encodings.

    max_tokens: length of the longest sequence.

    >>> SinusoidalPositions(max_tokens=8, d_model=4)(torch.zeros(1, 1, 4))
    tensor([[[0., 1., 0., 1.]]])
    """

    table: Float[Tensor, "max_tokens d_model"]

    def __init__(self, max_tokens: int, d_model: int):
        super().__init__("table", partial(sinusoidal, max_tokens, d_model))

    def forward(
        self, x: Float[Tensor, "*batch tokens d_model"], start: Start = 0
    ) -> Float[Tensor, "*batch tokens d_model"]:
        """Add the encodings of positions start, start + 1, …; ValueError beyond max_tokens."""
        return x + rows(self.table, start, x.shape[-2]).to(x.dtype)


class LearnedPositions(nn.Module):
    """Adds learned position embeddings.

    max_tokens: length of the longest sequence.

    >>> LearnedPositions(max_tokens=8, d_model=4)(torch.zeros(1, 9, 4))
    Traceback (most recent call last):
    ValueError: 0 + 9 tokens exceed max_tokens=8
    """

    def __init__(self, max_tokens: int, d_model: int):
        super().__init__()
        check_whole(1, max_tokens=max_tokens, d_model=d_model)
        self.table = nn.Parameter(torch.randn(max_tokens, d_model) * 0.02)

    def forward(
        self, x: Float[Tensor, "*batch tokens d_model"], start: Start = 0
    ) -> Float[Tensor, "*batch tokens d_model"]:
        """Add the embeddings of positions start, start + 1, …; ValueError beyond max_tokens."""
        return x + rows(self.table, start, x.shape[-2])


class RotaryPositions(ComputedTable):
    """Rotary position embeddings (RoPE): rotates queries and keys by angles that grow with the position.

    The score of a query and a key then depends on their distance, not on their absolute positions.
    max_tokens: length of the longest sequence. base: as in `sinusoidal` (`rope_theta` in `transformers`).
    Raises ValueError if `d_head` is odd.
    Source: Su et al. 2021, section 3.2.2.

    >>> rotary, (q, k) = RotaryPositions(max_tokens=8, d_head=4), torch.randn(2, 1, 4)
    >>> scores = [rotary(q, start) @ rotary(k, start + 2).T for start in (0, 5)]  # both at distance 2
    >>> torch.allclose(*scores, atol=1e-5)
    True
    """

    table: Float[Tensor, "max_tokens d_head"]

    def __init__(self, max_tokens: int, d_head: int, base: float | int = 10000.0):
        check_whole(1, max_tokens=max_tokens, d_head=d_head)
        if d_head % 2:
            raise ValueError(f"d_head={d_head} is odd: features are rotated in pairs")
        super().__init__("table", partial(sinusoidal, max_tokens, d_head, float(base)))

    def forward(
        self, x: Float[Tensor, "*batch tokens d_head"], start: Start = 0
    ) -> Float[Tensor, "*batch tokens d_head"]:
        """Rotate by the positions start, start + 1, …; ValueError beyond max_tokens."""
        return rotate(x, rows(self.table, start, x.shape[-2]))


def rotate(
    x: Float[Tensor, "*batch tokens d_head"], table: Float[Tensor, "tokens d_head"]
) -> Float[Tensor, "*batch tokens d_head"]:
    """Rotate features 2i and 2i+1, as a point in the plane, by the angle whose sine and cosine `table` holds.

    table: rows of `sinusoidal`. Rotation keeps lengths; position 0 is not rotated. Computes in fp32.
    Source: Su et al. 2021, equations (12) and (15).

    >>> rotate(torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0, 0.0]]))  # by 90°: sine 1, cosine 0
    tensor([[-4.,  3.]])
    """
    sin, cos = table.float().unflatten(-1, (-1, 2)).unbind(-1)
    points = x.float().unflatten(-1, (-1, 2))
    if torch.compiler.is_compiling():  # torch.compile fuses real products, but cannot compile complex ones
        a, b = points.unbind(-1)
        rotated = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)
    else:  # (a + ib)(cos + i sin): a single operation, several times as fast
        rotated = torch.view_as_real(torch.view_as_complex(points) * torch.complex(cos, sin))
    return rotated.flatten(-2).to(x.dtype)


class NoPositions(nn.Identity):
    """No position encoding. Takes the arguments of the others and ignores them.

    >>> NoPositions()(torch.ones(1, 2, 3), start=5).sum()
    tensor(6.)
    """

    def forward(
        self, x: Float[Tensor, "*batch tokens d_model"], start: Start = 0
    ) -> Float[Tensor, "*batch tokens d_model"]:
        return x


def rows(
    table: Float[Tensor, "max_tokens d_model"], start: Start, tokens: int
) -> Float[Tensor, "tokens d_model"]:
    """Rows start, start + 1, … of a table; the end is not checked if `start` is a tensor."""
    if isinstance(start, Tensor):
        return table[start + torch.arange(tokens, device=table.device)]
    if start + tokens > len(table):
        raise ValueError(f"{start} + {tokens} tokens exceed max_tokens={len(table)}")
    return table[start : start + tokens]

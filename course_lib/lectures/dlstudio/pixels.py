"""Pixel attention of DLStudio's diffusion module, as in the lecture."""

from jaxtyping import Float, Num
from torch import Tensor, nn

from course_lib.layers.pixel_attention import PixelAttention
from course_lib.utils.ranges import check_axes

GROUPS = 32  # GroupNorm groups, for any number of channels


class AttentionBlock(nn.Module):
    """Self-attention over the pixels of an image, with a residual connection.

    Unlike the package's Transformers, it has no deviations: one matrix for all pixels, softmax over the
    keys, scaling before it, an output projection, a residual connection. It differs from `PixelAttention`
    in four ways, none of which changes what it can compute:

    - the rows of `qkv` are ordered by head: queries, keys and values of head 1, then of head 2, and so on;
      only with one head are they three stacked matrices;
    - queries and keys are each divided by d_head^¼, so that their product stays small in half precision;
    - the softmax always runs in single precision;
    - GroupNorm always has 32 groups.

    channels: a multiple of 32, called `time_embed_dim` in the package. heads: divides `channels`.
    Raises ValueError if `heads` or 32 does not divide `channels`.
    Source: DLStudio 2.4.3 and 2.5.2, module GenerativeDiffusion; Kak slides 106 to 108.
    """

    def __init__(self, channels: int, heads: int = 1):
        super().__init__()
        for name, number in (("heads", heads), ("groups", GROUPS)):
            if channels % number:
                raise ValueError(f"{name}={number} does not divide channels={channels}")
        self.heads = heads
        self.norm = nn.GroupNorm(GROUPS, channels)
        self.qkv = nn.Conv1d(channels, 3 * channels, 1)
        self.proj_out = nn.Conv1d(channels, channels, 1)
        nn.init.zeros_(self.proj_out.weight)
        nn.init.zeros_(self.proj_out.bias)

    def forward(
        self, x: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        check_axes(x, "batch, channels, height, width")
        pixels = x.flatten(2)
        by_head = self.qkv(self.norm(pixels)).unflatten(1, (self.heads, -1))
        q, k, v = by_head.chunk(3, dim=2)  # each (batch, heads, d_head, pixels)
        scale = q.shape[2] ** -0.25
        scores = (q * scale).transpose(-2, -1) @ (k * scale)
        weights = scores.float().softmax(dim=-1).to(scores.dtype)  # (batch, heads, queries, keys)
        gathered = (v @ weights.transpose(-2, -1)).flatten(1, 2)
        return (pixels + self.proj_out(gathered)).view_as(x)


def part_by_part(rows: Num[Tensor, "rows *rest"], heads: int) -> Num[Tensor, "rows *rest"]:
    """Reorder rows from by-head order to all queries, then all keys, then all values."""
    return rows.unflatten(0, (heads, 3, -1)).transpose(0, 1).flatten(0, 2)


def as_pixel_attention(block: AttentionBlock) -> PixelAttention:
    """Equivalent `PixelAttention` layer with the weights of this block."""
    layer = PixelAttention(block.qkv.in_channels, block.heads, GROUPS)
    weights = block.state_dict()
    for name in ("weight", "bias"):
        weights[f"qkv.{name}"] = part_by_part(weights[f"qkv.{name}"], block.heads)
        weights[f"w_o.{name}"] = weights.pop(f"proj_out.{name}")
    layer.load_state_dict(weights)
    return layer.to(block.qkv.weight)

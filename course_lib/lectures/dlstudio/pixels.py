"""The attention between pixels of DLStudio's diffusion module, as the lecture has it."""

from jaxtyping import Float, Num
from torch import Tensor, nn

from course_lib.pixel_attention import PixelAttention

GROUPS = 32  # of the GroupNorm, whatever the number of channels


class AttentionBlock(nn.Module):
    """What each pixel gathers from all pixels is added to it.

    Against the package's Transformers nothing is odd: one matrix for all pixels, softmax over the keys, the
    scale inside, an output projection, a residual. Against `PixelAttention` four things differ. None
    of them changes what the block can compute:

    - the rows of `qkv` go head by head: queries, keys and values of head 1, then those of head 2, and so on;
      with one head, and only then, they are three matrices, one above the other;
    - queries and keys are each divided by d_head^¼, so that in half precision their product stays small;
    - the softmax is computed in single precision, whatever the precision of the rest;
    - GroupNorm has 32 groups, always.

    channels: a multiple of 32, called `time_embed_dim` in the package. heads: divides `channels`.
    Raises ValueError where one of these does not divide it.
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
        pixels = x.flatten(2)
        by_head = self.qkv(self.norm(pixels)).unflatten(1, (self.heads, -1))
        q, k, v = by_head.chunk(3, dim=2)  # each (batch, heads, d_head, pixels)
        scale = q.shape[2] ** -0.25
        scores = (q * scale).transpose(-2, -1) @ (k * scale)
        weights = scores.float().softmax(dim=-1).to(scores.dtype)  # (batch, heads, queries, keys)
        gathered = (v @ weights.transpose(-2, -1)).flatten(1, 2)
        return (pixels + self.proj_out(gathered)).view_as(x)


def part_by_part(rows: Num[Tensor, "rows *rest"], heads: int) -> Num[Tensor, "rows *rest"]:
    """Rows that go head by head in the other order: all queries, then all keys, then all values."""
    return rows.unflatten(0, (heads, 3, -1)).transpose(0, 1).flatten(0, 2)


def as_pixel_attention(block: AttentionBlock) -> PixelAttention:
    """The course's layer with the weights of this block, which computes the same."""
    layer = PixelAttention(block.qkv.in_channels, block.heads, GROUPS)
    weights = block.state_dict()
    for name in ("weight", "bias"):
        weights[f"qkv.{name}"] = part_by_part(weights[f"qkv.{name}"], block.heads)
        weights[f"w_o.{name}"] = weights.pop(f"proj_out.{name}")
    layer.load_state_dict(weights)
    return layer.to(block.qkv.weight)

"""Attention between the pixels of a picture, as the networks of diffusion models have it."""

from jaxtyping import Float
from torch import Tensor, nn

from course_lib.attention import FusedAttention


class PixelAttention(nn.Module):
    """Every pixel looks at every other: what it gathers is added to it.

    The channels of a pixel are its vector. One convolution of width 1 makes queries, keys and values of all
    pixels: its weights are the matrices W_Q, W_K and W_V, one above the other.
    heads: divides `channels`. groups: of the GroupNorm before all else, also a divisor of `channels`.
    At first nothing is added. Raises ValueError where one of the two does not divide `channels`.
    Source: Kak slides 106 to 108; Ho et al. 2020, section 4.
    """

    def __init__(self, channels: int, heads: int = 1, groups: int = 8):
        super().__init__()
        for name, number in (("heads", heads), ("groups", groups)):
            if channels % number:
                raise ValueError(f"{name}={number} does not divide channels={channels}")
        self.heads = heads
        self.norm = nn.GroupNorm(groups, channels)
        self.qkv = nn.Conv1d(channels, 3 * channels, kernel_size=1)
        self.attend = FusedAttention()
        self.w_o = nn.Conv1d(channels, channels, kernel_size=1)
        nn.init.zeros_(self.w_o.weight)
        nn.init.zeros_(self.w_o.bias)

    def forward(
        self, x: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        pixels = x.flatten(2)  # (batch, channels, pixels)
        q, k, v = (self.split(part) for part in self.qkv(self.norm(pixels)).chunk(3, dim=1))
        gathered = self.attend(q, k, v).transpose(-2, -1).flatten(1, 2)  # (batch, channels, pixels)
        return x + self.w_o(gathered).view_as(x)

    def split(self, x: Float[Tensor, "batch channels pixels"]) -> Float[Tensor, "batch heads pixels d_head"]:
        vectors = x.unflatten(1, (self.heads, -1)).transpose(-2, -1)
        return vectors.contiguous()  # otherwise the fused kernel would silently give way to the formula

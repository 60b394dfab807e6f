"""Self-attention between the pixels of an image, as in the UNets of diffusion models."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.utils.ranges import check_axes, check_whole


class PixelAttention(nn.Module):
    """Self-attention between all pixels of an image, with a residual connection.

    Each pixel is a token whose vector is its channels. One 1×1 convolution computes queries, keys and values:
    its weights are W_Q, W_K and W_V, stacked. The output projection starts at zero.
    heads: must divide `channels`. groups: of the GroupNorm at the input; must divide `channels`.
    Raises ValueError if one of them does not divide `channels`.
    Source: Kak slides 106 to 108; Ho et al. 2020, section 4.

    >>> layer, images = PixelAttention(channels=16, heads=2), torch.randn(1, 16, 4, 4)
    >>> torch.equal(layer(images), images)  # the output projection starts at zero
    True
    """

    attend = staticmethod(F.scaled_dot_product_attention)  # as in `MultiHeadAttention`

    def __init__(self, channels: int, heads: int = 1, groups: int = 8):
        super().__init__()
        check_whole(1, channels=channels, heads=heads, groups=groups)
        for name, number in (("heads", heads), ("groups", groups)):
            if channels % number:
                raise ValueError(f"{name}={number} does not divide channels={channels}")
        self.heads = heads
        self.norm = nn.GroupNorm(groups, channels)
        self.qkv = nn.Conv1d(channels, 3 * channels, kernel_size=1)
        self.w_o = nn.Conv1d(channels, channels, kernel_size=1)
        nn.init.zeros_(self.w_o.weight)
        nn.init.zeros_(self.w_o.bias)

    def forward(
        self, x: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        check_axes(x, "batch, channels, height, width")
        pixels = x.flatten(2)  # (batch, channels, pixels)
        q, k, v = (self.split(part) for part in self.qkv(self.norm(pixels)).chunk(3, dim=1))
        gathered = self.attend(q, k, v).transpose(-2, -1).flatten(1, 2)  # (batch, channels, pixels)
        return x + self.w_o(gathered).view_as(x)

    def split(self, x: Float[Tensor, "batch channels pixels"]) -> Float[Tensor, "batch heads pixels d_head"]:
        vectors = x.unflatten(1, (self.heads, -1)).transpose(-2, -1)
        return vectors.contiguous()  # otherwise PyTorch silently falls back to its slow kernel

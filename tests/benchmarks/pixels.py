"""Attention between pixels, forward and backward: ours, the formula as it stands, PyTorch's own layer."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from benchmarks.layer import turn_of
from benchmarks.timing import Comparison, Plan, measure
from course_lib.attention import attention
from course_lib.pixel_attention import PixelAttention

SHAPE = (16, 64, 16, 4)  # batch, channels, side, heads
TINY_SHAPE = (2, 8, 3, 2)


class Explicit(nn.Module):
    """The formula, with its table of weights written out."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attention(q, k, v)[0]


def explicit_pixels(channels: int, heads: int) -> PixelAttention:
    """Our layer around the formula."""
    layer = PixelAttention(channels, heads)
    layer.attend = Explicit()
    return layer


class TorchPixels(nn.Module):
    """The same around `nn.MultiheadAttention`, over the list of pixels."""

    def __init__(self, channels: int, heads: int):
        super().__init__()
        self.norm = nn.GroupNorm(8, channels)
        self.attend = nn.MultiheadAttention(channels, heads, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        vectors = self.norm(x).flatten(2).transpose(1, 2)
        gathered = self.attend(vectors, vectors, vectors, need_weights=False)[0]
        return x + gathered.transpose(1, 2).reshape(x.shape)


def pixels(plan: Plan) -> Iterator[Comparison]:
    """Pictures of 16 × 16 pixels with 64 channels, batch 16, 4 heads, fp32."""
    batch, channels, side, heads = TINY_SHAPE if plan.tiny else SHAPE
    torch.manual_seed(0)
    sides = {"ours": PixelAttention, "explicit": explicit_pixels, "nn.MultiheadAttention": TorchPixels}
    found = {name: kind(channels, heads).to(plan.device) for name, kind in sides.items()}
    x = torch.randn(batch, channels, side, side, device=plan.device)
    turns = {name: turn_of(module, [x], list(module.parameters())) for name, module in found.items()}
    size = f"batch {batch}, channels {channels}, {side} × {side}, heads {heads}"
    case = f"between pixels, {size}, forward and backward"
    yield measure(Comparison("attention", case, "s", "ours"), turns, plan.lasting(0.5))

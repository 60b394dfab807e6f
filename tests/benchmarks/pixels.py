"""Attention between pixels against the size of the picture, forward and backward, in time and in memory.

Ours, the formula with its table of weights, and PyTorch's own layer; all of them with equal weights.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from benchmarks.layer import turn_of
from benchmarks.timing import Comparison, Plan, measure
from course_lib.attention import attention
from course_lib.pixel_attention import PixelAttention

OURS, EXPLICIT, TORCH = "ours", "explicit", "nn.MultiheadAttention"
SHAPE = (64, 4)  # channels, heads
SIDES = (
    8,
    16,
    32,
    64,
)  # the lecture's pictures are of 64 × 64 pixels, its attention stands at 16 × 16 and 8 × 8
PIXELS = 64 * 64  # in a batch: as many smaller pictures as one of 64 × 64 has room for
TINY_SHAPE, TINY_SIDES, TINY_PIXELS = (8, 2), (2, 4), 4 * 4


class Explicit(nn.Module):
    """The formula, with its table of weights written out."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attention(q, k, v)[0]


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


def layers(channels: int, heads: int) -> dict[str, nn.Module]:
    """The three, with the same weights."""
    torch.manual_seed(0)
    ours, explicit, theirs = (
        PixelAttention(channels, heads), PixelAttention(channels, heads), TorchPixels(channels, heads)
    )  # fmt: skip
    nn.init.xavier_uniform_(ours.w_o.weight)  # it begins with zeros
    explicit.load_state_dict(ours.state_dict())
    explicit.attend = Explicit()
    weights = ours.state_dict()
    theirs.load_state_dict(
        {
            **{name: weights[name] for name in ("norm.weight", "norm.bias")},
            "attend.in_proj_weight": weights["qkv.weight"][..., 0],
            "attend.in_proj_bias": weights["qkv.bias"],
            "attend.out_proj.weight": weights["w_o.weight"][..., 0],
            "attend.out_proj.bias": weights["w_o.bias"],
        }
    )
    return {OURS: ours, EXPLICIT: explicit, TORCH: theirs}


def kept_bytes(module: Callable[[Tensor], Tensor], x: Tensor) -> int:
    """What stays in memory between the forward and the backward pass, input and weights left out."""
    kept: dict[int, int] = {}

    def note(t: Tensor) -> Tensor:
        kept[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t

    with saved_tensors_hooks(note, lambda t: t):
        out = module(x.detach().requires_grad_())
    assert out.requires_grad  # and so nothing that was noted has been freed
    known = {t.untyped_storage().data_ptr() for t in (x, *getattr(module, "parameters", list)())}
    return sum(size for place, size in kept.items() if place not in known)


def pixels(plan: Plan) -> Iterator[Comparison]:
    """Batches of as many pixels in larger and larger pictures: what grows is the attention alone. fp32."""
    channels, heads = TINY_SHAPE if plan.tiny else SHAPE
    found = {name: layer.to(plan.device) for name, layer in layers(channels, heads).items()}
    for side in TINY_SIDES if plan.tiny else SIDES:
        batch = (TINY_PIXELS if plan.tiny else PIXELS) // side**2
        x = torch.randn(batch, channels, side, side, device=plan.device)
        case = (
            f"{side} × {side} pixels, batch {batch}, channels {channels}, heads {heads}, forward and backward"
        )
        sizes = (f"{name} {kept_bytes(layer, x) / 2**20:.1f} MiB" for name, layer in found.items())
        comparison = Comparison(
            "pixels", case, "s", OURS, notes=[f"kept for the gradient: {', '.join(sizes)}"]
        )
        turns = {name: turn_of(layer, [x], list(layer.parameters())) for name, layer in found.items()}
        yield measure(comparison, turns, plan.lasting(0.3))

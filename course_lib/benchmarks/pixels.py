"""Self-attention between pixels: time and memory against image size, forward and backward.

Ours, the formula with its full attention matrix, and PyTorch's own layer, all with equal weights.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from course_lib.benchmarks.timing import Comparison, Plan, Turn, measure
from course_lib.layers.multi_head_attention import attention
from course_lib.layers.pixel_attention import PixelAttention

OURS, EXPLICIT, TORCH = "ours", "explicit", "nn.MultiheadAttention"
SHAPE = (64, 4)  # channels, heads
SIDES = (8, 16, 32, 64)  # the lecture's images have 64 × 64 pixels, and attention at 16 × 16 and 8 × 8
PIXELS = 64 * 64  # in a batch: the smaller the images, the more of them
TINY_SHAPE, TINY_SIDES, TINY_PIXELS = (8, 2), (2, 4), 4 * 4


class TorchPixels(nn.Module):
    """The same layer around `nn.MultiheadAttention`, over the sequence of pixels."""

    def __init__(self, channels: int, heads: int):
        super().__init__()
        self.norm = nn.GroupNorm(8, channels)
        self.attend = nn.MultiheadAttention(channels, heads, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        vectors = self.norm(x).flatten(2).transpose(1, 2)
        gathered = self.attend(vectors, vectors, vectors, need_weights=False)[0]
        return x + gathered.transpose(1, 2).reshape(x.shape)


def layers(channels: int, heads: int) -> dict[str, nn.Module]:
    """The three layers, with the same weights."""
    torch.manual_seed(0)
    ours, explicit, theirs = (
        PixelAttention(channels, heads), PixelAttention(channels, heads), TorchPixels(channels, heads)
    )  # fmt: skip
    nn.init.xavier_uniform_(ours.w_o.weight)  # initialized to zeros
    explicit.load_state_dict(ours.state_dict())
    explicit.attend = lambda q, k, v: attention(q, k, v)[0]
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
    """Bytes kept in memory for the backward pass, without input and weights."""
    kept: dict[int, int] = {}

    def note(t: Tensor) -> Tensor:
        kept[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t

    with saved_tensors_hooks(note, lambda t: t):
        out = module(x.detach().requires_grad_())
    assert out.requires_grad  # so nothing that was noted has been freed
    known = {t.untyped_storage().data_ptr() for t in (x, *getattr(module, "parameters", list)())}
    return sum(size for place, size in kept.items() if place not in known)


def turn_of(function: Callable[..., Tensor], x: Tensor, weights: Sequence[Tensor] = ()) -> Turn:
    """One forward pass, and one backward pass to the input and the weights."""
    x = x.detach().requires_grad_()
    up = torch.randn_like(x)

    def turn(number: int) -> float:
        function(x).backward(up)
        for one in (x, *weights):
            one.grad = None
        return 1.0

    return turn


def pixels(plan: Plan) -> Iterator[Comparison]:
    """Batches of equally many pixels in ever larger images: only the cost of attention grows. fp32."""
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
        turns = {name: turn_of(layer, x, list(layer.parameters())) for name, layer in found.items()}
        yield measure(comparison, turns, plan.lasting(0.3))

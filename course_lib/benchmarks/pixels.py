"""Images: training a ViT beside timm's, and self-attention between pixels, in time and memory.

Attention between pixels is ours, the formula with its full attention matrix, and PyTorch's own layer, all
with equal weights, forward and backward.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from course_lib.benchmarks.timing import Comparison, Plan, Turn, measure, trainer
from course_lib.layers.multi_head_attention import attention
from course_lib.layers.pixel_attention import PixelAttention
from course_lib.models.vit import ViT, ViTConfig
from course_lib.pretrained.vit import to_timm
from course_lib.tasks.image_classification import ImageClassificationLoss

OURS, TIMM, EXPLICIT, TORCH = "ours", "timm", "explicit", "nn.MultiheadAttention"
VIT = ViTConfig(classes=10, d_model=192, heads=3, layers=6)  # half the blocks of ViT-Ti, 65 tokens
TINY_VIT = ViTConfig(classes=10, image_size=8, d_model=16, heads=2, layers=1)
SHAPE = (64, 4)  # channels, heads
SIDES = (8, 16, 32, 64)  # the lecture's images have 64 × 64 pixels, and attention at 16 × 16 and 8 × 8
PIXELS = 64 * 64  # in a batch: the smaller the images, the more of them
TINY_SHAPE, TINY_SIDES, TINY_PIXELS = (8, 2), (2, 4), 4 * 4


def classifiers(config: ViTConfig) -> dict[str, nn.Module]:
    """Our image classifier, and timm's with the same weights."""
    torch.manual_seed(0)
    ours = ViT(config).train()
    return {OURS: ours, TIMM: to_timm(ours)}


def random_images(config: ViTConfig, batch: int) -> tuple[Tensor, Tensor]:
    """A batch of images with labels."""
    rng, side = torch.Generator().manual_seed(0), config.image_size
    images = torch.randn(batch, config.channels, side, side, generator=rng)
    return images, torch.randint(config.classes, (batch,), generator=rng)


def vision(plan: Plan) -> Iterator[Comparison]:
    """Training a ViT in both precisions, with equal sizes, weights, batches, loss and optimizer."""
    config, batch = (TINY_VIT, 4) if plan.tiny else (VIT, 64)
    for precision in ("fp32", "bf16"):
        found, images = classifiers(config), [random_images(config, batch)]
        count = sum(p.numel() for p in found[OURS].parameters())
        case = f"training a ViT of {count / 1e6:.1f} M parameters, batch {batch}, {precision}"
        comparison = Comparison("vision", case, "images/s", OURS, 1.0, (TIMM,))
        losses = {name: ImageClassificationLoss(model) for name, model in found.items()}
        turns = {name: trainer(loss, images, plan, precision) for name, loss in losses.items()}
        yield measure(comparison, turns, plan.lasting(0.5))


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
    ours, explicit = PixelAttention(channels, heads), PixelAttention(channels, heads)
    theirs = TorchPixels(channels, heads)
    nn.init.xavier_uniform_(ours.w_o.weight)  # initialized to zeros
    weights = ours.state_dict()
    explicit.load_state_dict(weights)
    explicit.attend = lambda q, k, v: attention(q, k, v)[0]
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


def forward_and_backward(layer: nn.Module, x: Tensor) -> Turn:
    """One forward pass, and one backward pass to the input and the weights."""
    x = x.detach().requires_grad_()
    up = torch.randn_like(x)

    def turn(number: int) -> float:
        layer(x).backward(up)
        x.grad = None
        layer.zero_grad()
        return 1.0

    return turn


def pixels(plan: Plan) -> Iterator[Comparison]:
    """Batches of equally many pixels in ever larger images: only the cost of attention grows. fp32."""
    channels, heads = TINY_SHAPE if plan.tiny else SHAPE
    found = {name: layer.to(plan.device) for name, layer in layers(channels, heads).items()}
    for side in TINY_SIDES if plan.tiny else SIDES:
        batch = (TINY_PIXELS if plan.tiny else PIXELS) // side**2
        x = torch.randn(batch, channels, side, side, device=plan.device)
        sizes = (f"{name} {kept_bytes(layer, x) / 2**20:.1f} MiB" for name, layer in found.items())
        case = f"{side} × {side} pixels, batch {batch}, channels {channels}, heads {heads}"
        comparison = Comparison("pixels", f"{case}, forward and backward", "s", OURS)
        comparison.notes = [f"kept for the gradient: {', '.join(sizes)}"]
        turns = {name: forward_and_backward(layer, x) for name, layer in found.items()}
        yield measure(comparison, turns, plan.lasting(0.3))

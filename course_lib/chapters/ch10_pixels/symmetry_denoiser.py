"""Denoising symmetric images: a small network with self-attention between pixels, and one without.

    python -m course_lib.experiments symmetry_denoiser

trains the network with attention, in seconds, and saves it in models/; `trained_mirrors()` loads it.

    python -m course_lib.experiments symmetry_denoiser convolutions --seeds 0 1 2

trains eleven convolutions and no attention, for longer, and stores the missing errors in
results/symmetry_denoiser.json, a few minutes a seed; `stored()` reads them.
"""

import sys
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.chapters.ch10_pixels.pixel_attention import MODELS, save
from course_lib.experiments.runner import Experiment, every
from course_lib.layers.pixel_attention import PixelAttention
from course_lib.widgets.stored import load

HEIGHT, WIDTH = 4, 12
CONVOLUTIONS = 9  # in place of the attention, so that eleven reach across the image
LONGER, RATES, SEEDS = 3000, (2e-3, 5e-3, 1e-2), (0, 1, 2)  # steps; learning rates


def mirrors(count: int, rng: torch.Generator) -> Float[Tensor, "count channels height width"]:
    """Images of random pixels with variance 1 that are symmetric about their middle column."""
    left = torch.randn(count, 1, HEIGHT, WIDTH // 2, generator=rng)
    return torch.cat([left, left.flip(3)], dim=3)


class Convolutions(nn.Module):
    """A chain of 3 × 3 convolutions with skip connections; without any of them, the identity."""

    def __init__(self, number: int, channels: int):
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(number))

    def forward(
        self, h: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        for convolution in self.convolutions:
            h = h + convolution(F.silu(h))
        return h


class MirrorNet(nn.Module):
    """Two convolutions, learned positions, optional self-attention between pixels, an output convolution.

    more_convolutions: how many take the place of the attention, if there is none.
    """

    def __init__(self, attention: bool, channels: int = 16, more_convolutions: int = 0):
        super().__init__()
        self.enter = nn.Conv2d(1, channels, 3, padding=1)
        self.positions = nn.Parameter(torch.randn(channels, HEIGHT, WIDTH))
        self.middle = nn.Conv2d(channels, channels, 3, padding=1)
        without = Convolutions(more_convolutions, channels)
        self.attention = PixelAttention(channels, heads=2, groups=1) if attention else without
        self.leave = nn.Conv2d(channels, 1, 1)

    def forward(
        self, x: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        h = self.enter(x) + self.positions
        h = self.attention(h + self.middle(F.silu(h)))
        return self.leave(F.silu(h))


def train_denoiser(model: nn.Module, steps: int = 700, seed: int = 0, lr: float = 1e-2) -> nn.Module:
    """Train a model on `steps` batches of 64 new symmetric images with noise of variance 1; returns it."""
    rng = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    fall = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, steps, pct_start=0.05)
    for _ in range(steps):
        clean = mirrors(64, rng)
        noise = torch.randn(clean.shape, generator=rng)
        loss = (model(clean + noise) - clean).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        fall.step()
    return model.eval()


def train_mirrors(attention: bool, steps: int = 700, seed: int = 0, lr: float = 1e-2) -> MirrorNet:
    """A new network, initialized from `seed` and trained with `train_denoiser`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = MirrorNet(attention)
    train_denoiser(model, steps, seed, lr)
    return model


@torch.no_grad()
def error_by_column(model: nn.Module, pictures: int = 2000) -> Float[Tensor, " width"]:
    """The mean squared error of each column, on images not seen in training."""
    rng = torch.Generator().manual_seed(1_000_003)
    clean = mirrors(pictures, rng)
    noise = torch.randn(clean.shape, generator=rng)
    return (model(clean + noise) - clean).square().mean(dim=(0, 1, 2))


def reach(model: nn.Module, row: int, column: int) -> Bool[Tensor, "height width"]:
    """Receptive field: the pixels of the input on which the output at a pixel depends, found by the gradient.

    >>> reach(nn.Conv2d(1, 1, 3, padding=1), row=0, column=0).nonzero().tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    image = mirrors(1, torch.Generator().manual_seed(0)).requires_grad_()
    (gradient,) = torch.autograd.grad(model(image)[0, 0, row, column], image)
    return gradient[0, 0] != 0


@cache
def trained_mirrors() -> MirrorNet:
    """The stored network with attention, in evaluation mode."""
    return load(lambda: MirrorNet(attention=True), MODELS / "mirrors.safetensors")


def convolutions_run(seed: int, lr: float, steps: int = LONGER) -> dict[str, Any]:
    """Errors by column of eleven convolutions without attention."""
    torch.manual_seed(seed)
    model = MirrorNet(attention=False, more_convolutions=CONVOLUTIONS)
    train_denoiser(model, steps, seed, lr)
    errors = [round(error, 3) for error in error_by_column(model, 10_000).tolist()]
    return {"seed": seed, "lr": lr, "steps": steps, "errors": errors}


EXPERIMENT = Experiment(
    __file__,
    {"convolutions": every(lr=RATES, seed=SEEDS, steps=[LONGER])},
    convolutions_run,
    dict,
    keys=("seed", "lr", "steps"),
)


def stored() -> list[dict[str, Any]]:
    """The stored runs of eleven convolutions."""
    return EXPERIMENT.part("convolutions")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        EXPERIMENT.main(__doc__)
    else:
        save(train_mirrors(attention=True, steps=1500), "mirrors")

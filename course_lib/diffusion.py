"""Diffusion: noise added to pictures step by step, what a network learns from that, and the way back."""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


def linear_betas(steps: int) -> Float[Tensor, " steps"]:
    """The variance of the noise that each step adds; it rises on a line.

    With 1000 steps it runs from 0.0001 to 0.02; with fewer, each step adds as many times more.
    Raises ValueError for fewer than 21 steps, whose last one would have a variance of 1 or more.
    Source: Ho et al. 2020, section 4.
    """
    if steps < 21:
        raise ValueError(f"steps={steps}: with fewer than 21 the last variance, 20 / steps, reaches 1")
    return torch.linspace(0.1 / steps, 20 / steps, steps, dtype=torch.float64)


class Diffusion(nn.Module):
    """Pictures after 0, 1, …, `steps` steps of noise. Pixels run from −1 to 1.

    Each step keeps √(1 − β) of the picture and adds noise of variance β: a variance of 1 stays 1.
    kept: the share of the variance that is still picture after t steps, the paper's ᾱ; 1 for t = 0.
    Source: Ho et al. 2020, section 2.
    """

    def __init__(self, steps: int = 100):
        super().__init__()
        self.steps = steps
        kept = torch.cumprod(1 - linear_betas(steps), dim=0)
        self.register_buffer("kept", torch.cat([torch.ones(1), kept]).float(), persistent=False)

    def shares(self, t: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """√ᾱ and √(1 − ᾱ), the factors of picture and noise after t steps, shaped for a batch of pictures.

        Raises ValueError for a step outside 0 … `steps`.
        """
        low, high = t.min().item(), t.max().item()
        if low < 0 or high > self.steps:
            raise ValueError(f"t runs from {low} to {high}, but steps={self.steps} takes 0 to {self.steps}")
        kept = self.kept[t][:, None, None, None]
        return kept.sqrt(), (1 - kept).sqrt()

    def add_noise(
        self,
        clean: Float[Tensor, "batch channels height width"],
        t: Int[Tensor, " batch"],
        noise: Float[Tensor, "batch channels height width"],
    ) -> Float[Tensor, "batch channels height width"]:
        """The pictures after t steps, in one: √ᾱ · clean + √(1 − ᾱ) · noise. Source: equation (4)."""
        picture, rest = self.shares(t)
        return picture * clean + rest * noise

    def estimate_clean(
        self,
        x: Float[Tensor, "batch channels height width"],
        t: Int[Tensor, " batch"],
        noise: Float[Tensor, "batch channels height width"],
    ) -> Float[Tensor, "batch channels height width"]:
        """The clean pictures if this is the noise in them, cut to −1 … 1; t from 1 on."""
        picture, rest = self.shares(t)
        return ((x - rest * noise) / picture).clamp(-1, 1)


class DiffusionObjective(nn.Module):
    """The question: which noise is in this picture? Asked at a random step for each picture of a batch.

    model: takes noised pictures and steps and returns the noise, as a `UNet` does.
    Source: Ho et al. 2020, equation (14) and algorithm 1.
    """

    def __init__(self, model: nn.Module, diffusion: Diffusion):
        super().__init__()
        self.model, self.diffusion = model, diffusion

    def forward(
        self, clean: Float[Tensor, "batch channels height width"], labels: Tensor | None = None
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """The sum of the squared errors over all pixels, and their number; nobody looks at the labels."""
        t = torch.randint(1, self.diffusion.steps + 1, clean.shape[:1], device=clean.device)
        noise = torch.randn_like(clean)
        found = self.model(self.diffusion.add_noise(clean, t, noise), t)
        return (found - noise).square().sum(), torch.tensor(clean.numel(), device=clean.device)


@torch.no_grad()
def noise_loss(
    model: nn.Module,
    diffusion: Diffusion,
    clean: Float[Tensor, "pictures channels height width"],
    t: Int[Tensor, " pictures"],
    seed: int = 0,
) -> Float[Tensor, " pictures"]:
    """The mean squared error of the noise that `model` finds in each picture after `t` steps.

    The noise is drawn on the CPU from `seed`: every model is asked the same.
    """
    rng = torch.Generator().manual_seed(seed)
    noise = torch.randn(clean.shape, generator=rng).to(clean)
    found = model(diffusion.add_noise(clean, t, noise), t)
    return (found - noise).square().mean(dim=(1, 2, 3))


def walk_back(
    model: nn.Module,
    diffusion: Diffusion,
    x: Float[Tensor, "batch channels height width"],
    rng: torch.Generator | None = None,
    jumps: int | None = None,
    fresh: float = 1.0,
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """From noise to pictures: yields for each stop its t, the pictures there, and the clean ones estimated.

    x: pictures after all steps, as a rule noise alone. rng: of the noise that is added on the way.
    jumps: over how many stops to go; by default every step is one.
    fresh: 1 adds as much noise as the way there took (DDPM), 0 adds none (DDIM); between them, less.
    Raises ValueError for jumps outside 1 … steps. The model must be in evaluation mode.
    Source: Song et al. 2021, equations (12) and (16). With fresh=1 and every step: Ho et al. 2020,
    equation (7).
    """
    jumps = diffusion.steps if jumps is None else jumps
    if not 1 <= jumps <= diffusion.steps:
        raise ValueError(f"jumps={jumps} must be 1 to steps={diffusion.steps}")
    stops = torch.linspace(diffusion.steps, 0, jumps + 1).round().long().tolist()
    for t, s in zip(stops, stops[1:], strict=False):
        now = torch.full(x.shape[:1], t, device=x.device)
        with torch.no_grad():
            clean = diffusion.estimate_clean(x, now, model(x, now))
        x = step_back(diffusion, x, clean, t, s, rng, fresh)
        yield s, x, clean


def step_back(
    diffusion: Diffusion,
    x: Float[Tensor, "batch channels height width"],
    clean: Float[Tensor, "batch channels height width"],
    t: int,
    s: int,
    rng: torch.Generator | None = None,
    fresh: float = 1.0,
) -> Float[Tensor, "batch channels height width"]:
    """From t to an earlier step s, if `clean` is what is behind `x`; see `walk_back`."""
    here, there = diffusion.kept[t], diffusion.kept[s]
    noise = (x - here.sqrt() * clean) / (1 - here).sqrt()
    spread = fresh * ((1 - there) / (1 - here) * (1 - here / there)).sqrt()
    x = there.sqrt() * clean + (1 - there - spread**2).clamp(min=0).sqrt() * noise
    return x + spread * torch.randn(x.shape, generator=rng, device=x.device, dtype=x.dtype)


def sample(
    model: nn.Module,
    diffusion: Diffusion,
    shape: tuple[int, int, int, int],
    seed: int = 0,
    jumps: int | None = None,
    fresh: float = 1.0,
) -> Float[Tensor, "batch channels height width"]:
    """New pictures of this shape, from noise alone; `jumps` and `fresh` as in `walk_back`."""
    device, training = diffusion.kept.device, model.training
    rng = torch.Generator(device).manual_seed(seed)
    noise = torch.randn(shape, generator=rng, device=device)
    model.eval()
    *_, (_, pictures, _) = walk_back(model, diffusion, noise, rng, jumps, fresh)
    model.train(training)
    return pictures

"""Diffusion (DDPM, DDIM): the forward process adds noise, a network learns to remove it."""

from collections.abc import Iterator
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.tables import ComputedTable
from course_lib.training.evaluation import evaluating
from course_lib.utils.ranges import check_axes


def linear_betas(steps: int) -> Float[Tensor, " steps"]:
    """Linear noise schedule: the variance β of the noise that each step adds.

    With 1000 steps, β rises from 0.0001 to 0.02; with fewer steps, each β is larger by the same factor.
    Raises ValueError for fewer than 21 steps: the last β would reach 1.
    Source: Ho et al. 2020, section 4.
    """
    if steps < 21:
        raise ValueError(f"steps={steps}: with fewer than 21 the last β, 20 / steps, reaches 1")
    return torch.linspace(0.1 / steps, 20 / steps, steps, dtype=torch.float64)


def alpha_bars(steps: int) -> Float[Tensor, " states"]:
    """ᾱ after 0, 1, …, `steps` steps, in fp32."""
    return torch.cat([torch.ones(1), torch.cumprod(1 - linear_betas(steps), dim=0)]).float()


class Diffusion(ComputedTable):
    """Forward process of diffusion: images after 0, 1, …, `steps` steps of noise. Pixels run from −1 to 1.

    Each step scales the image by √(1 − β) and adds noise of variance β, so a variance of 1 stays 1.
    alpha_bar: ᾱ, the fraction of the variance that still comes from the image after t steps; 1 for t = 0.
    It stays in fp32, in whatever precision the model is: near 1, half precision would round 1 − ᾱ to 0.
    Source: Ho et al. 2020, section 2.

    >>> diffusion, clean = Diffusion(steps=100), torch.rand(2, 1, 8, 8)
    >>> noisy = diffusion.add_noise(clean, torch.tensor([0, 100]), torch.randn(2, 1, 8, 8))
    >>> torch.equal(noisy[0], clean[0]), torch.equal(noisy[1], clean[1])  # after 0 and after 100 steps
    (True, False)
    """

    alpha_bar: Tensor

    def __init__(self, steps: int = 100):
        super().__init__("alpha_bar", partial(alpha_bars, steps))
        self.steps = steps

    def scales(self, t: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """√ᾱ and √(1 − ᾱ): the factors of image and noise after t steps, shaped for a batch of images.

        Raises ValueError for a step outside 0 … `steps`, on a CPU only and not in compiled code: on a GPU, a
        look at the steps would wait for it.
        """
        readable = t.device.type == "cpu" and not torch.compiler.is_compiling()
        if readable and ((t < 0) | (t > self.steps)).any():
            low, high = t.min().item(), t.max().item()
            raise ValueError(f"t runs from {low} to {high}, but steps={self.steps} takes 0 to {self.steps}")
        alpha_bar = self.alpha_bar[t][:, None, None, None]
        return alpha_bar.sqrt(), (1 - alpha_bar).sqrt()

    def add_noise(
        self,
        clean: Float[Tensor, "batch channels height width"],
        t: Int[Tensor, " batch"],
        noise: Float[Tensor, "batch channels height width"],
    ) -> Float[Tensor, "batch channels height width"]:
        """Jump to step t directly: √ᾱ · clean + √(1 − ᾱ) · noise. Source: Ho et al. 2020, equation (4)."""
        check_axes(clean, "batch, channels, height, width")
        of_image, of_noise = self.scales(t)
        return (of_image * clean + of_noise * noise).to(clean.dtype)

    def estimate_clean(
        self,
        x: Float[Tensor, "batch channels height width"],
        t: Int[Tensor, " batch"],
        noise: Float[Tensor, "batch channels height width"],
    ) -> Float[Tensor, "batch channels height width"]:
        """The clean images that `x` implies if it contains this noise, clipped to −1 … 1. t: at least 1."""
        check_axes(x, "batch, channels, height, width")
        of_image, of_noise = self.scales(t)
        return ((x - of_noise * noise) / of_image).clamp(-1, 1).to(x.dtype)


class DiffusionLoss(nn.Module):
    """Denoising loss: squared error of the predicted noise, at a random step for each image.

    model: takes noisy images and their steps, and predicts the noise, as `UNet` does.
    Source: Ho et al. 2020, equation (14) and algorithm 1.

    >>> from course_lib.models import UNet, UNetConfig
    >>> loss, pixels = DiffusionLoss(UNet(UNetConfig()), Diffusion(steps=100))(torch.rand(2, 1, 8, 8))
    >>> pixels
    tensor(128)
    """

    def __init__(self, model: nn.Module, diffusion: Diffusion):
        super().__init__()
        self.model, self.diffusion = model, diffusion

    def forward(
        self, clean: Float[Tensor, "batch channels height width"], labels: Tensor | None = None
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """Sum of the squared errors over all pixels, and the number of pixels; labels are ignored."""
        t = torch.randint(1, self.diffusion.steps + 1, clean.shape[:1], device=clean.device)
        noise = torch.randn_like(clean)
        predicted = self.model(self.diffusion.add_noise(clean, t, noise), t)
        return (predicted - noise).float().square().sum(), torch.full((), clean.numel(), device=clean.device)


@torch.no_grad()
def noise_loss(
    model: nn.Module,
    diffusion: Diffusion,
    clean: Float[Tensor, "images channels height width"],
    t: Int[Tensor, " images"],
    seed: int = 0,
) -> Float[Tensor, " images"]:
    """Mean squared error of the predicted noise, for each image after `t` steps.

    The noise is drawn on the CPU from `seed`, so that every model gets the same images.
    """
    rng = torch.Generator().manual_seed(seed)
    noise = torch.randn(clean.shape, generator=rng).to(clean)
    predicted = model(diffusion.add_noise(clean, t, noise), t)
    return (predicted - noise).float().square().mean(dim=(1, 2, 3))


def reverse_process(
    model: nn.Module,
    diffusion: Diffusion,
    x: Float[Tensor, "batch channels height width"],
    rng: torch.Generator | None = None,
    num_steps: int | None = None,
    eta: float = 1.0,
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Reverse process: from noise to images. Yields t, the images, and the clean images after each step.

    The clean images are the model's estimates in that step. The model must be in evaluation mode.
    x: images after all steps of noise, usually noise alone. rng: of the noise that is added on the way.
    num_steps: number of steps to take, evenly spaced; by default all.
    eta: scale of the noise that each step adds, from 0 to 1: 1 is DDPM, 0 is DDIM (deterministic).
    Raises ValueError for num_steps outside 1 … steps, and for eta outside its range.
    Source: Song et al. 2021, equations (12) and (16); with eta=1 and all steps, Ho et al. 2020, equation (7).

    >>> from course_lib.models import UNet, UNetConfig
    >>> model, diffusion, noise = UNet(UNetConfig()).eval(), Diffusion(steps=100), torch.randn(1, 1, 8, 8)
    >>> [t for t, images, clean in reverse_process(model, diffusion, noise, num_steps=4)]
    [75, 50, 25, 0]
    """
    num_steps = diffusion.steps if num_steps is None else num_steps
    if not 1 <= num_steps <= diffusion.steps:
        raise ValueError(f"num_steps={num_steps} must be 1 to steps={diffusion.steps}")
    if not 0 <= eta <= 1:
        raise ValueError(f"eta={eta} is outside [0, 1]")
    stops = torch.linspace(diffusion.steps, 0, num_steps + 1).round().long().tolist()
    for t, s in zip(stops, stops[1:], strict=False):
        now = torch.full(x.shape[:1], t, device=x.device)
        with torch.no_grad():
            clean = diffusion.estimate_clean(x, now, model(x, now))
        x = step_back(diffusion, x, clean, t, s, rng, eta)
        yield s, x, clean


def step_back(
    diffusion: Diffusion,
    x: Float[Tensor, "batch channels height width"],
    clean: Float[Tensor, "batch channels height width"],
    t: int,
    s: int,
    rng: torch.Generator | None = None,
    eta: float = 1.0,
) -> Float[Tensor, "batch channels height width"]:
    """One step of `reverse_process`: from step t to an earlier step s, given the clean images."""
    now, earlier = diffusion.alpha_bar[t], diffusion.alpha_bar[s]
    noise = (x - now.sqrt() * clean) / (1 - now).sqrt()
    sigma = eta * ((1 - earlier) / (1 - now) * (1 - now / earlier)).sqrt()
    x = earlier.sqrt() * clean + (1 - earlier - sigma**2).clamp(min=0).sqrt() * noise
    return x + sigma * torch.randn(x.shape, generator=rng, device=x.device, dtype=x.dtype)


def sample(
    model: nn.Module,
    diffusion: Diffusion,
    shape: tuple[int, int, int, int],
    seed: int = 0,
    num_steps: int | None = None,
    eta: float = 1.0,
) -> Float[Tensor, "batch channels height width"]:
    """Sample new images of this shape; `num_steps` and `eta` as in `reverse_process`."""
    weight = next(model.parameters(), diffusion.alpha_bar)
    device = diffusion.alpha_bar.device
    rng = torch.Generator(device).manual_seed(seed)
    noise = torch.randn(shape, generator=rng, device=device, dtype=weight.dtype)
    with evaluating(model):
        *_, (_, images, _) = reverse_process(model, diffusion, noise, rng, num_steps, eta)
    return images

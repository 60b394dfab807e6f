"""Diffusion on a digit: adding noise, estimating the clean image, and sampling from pure noise."""

from collections.abc import Callable
from functools import cache

import ipywidgets
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.chapters.ch10_pixels.pixel_attention import SIDE, trained
from course_lib.datasets import load_images
from course_lib.tasks.diffusion import reverse_process
from course_lib.tasks.image_classification import to_floats
from course_lib.widgets.explorer import Explorer, slider

DIGITS = 6
TITLES = ("the digit", "with noise", "the network's\nestimate", "sampled from\npure noise", "its estimate")

Frames = Float[Tensor, "steps digits height width"]


def diffusion_explorer() -> Explorer:
    """A digit after t noise steps, the estimate of the clean digit, and a sample at the same step."""
    return Explorer(
        {
            "t": slider(ipywidgets.IntSlider, "noise steps", value=40, min=0, max=trained()[1].steps),
            "digit": slider(ipywidgets.IntSlider, "digit", value=1, min=1, max=DIGITS),
        },
        diffusion_picture,
        "sliders for the number of noise steps and for the digit, above the digit, the noisy digit, the "
        "network's estimate of the clean digit, and a digit sampled from pure noise, at the same step.",
        size=(7.0, 2.1),
    )


@cache
@torch.no_grad()
def there() -> tuple[Frames, Frames]:
    """Forward process: the digits after 0, 1, … noise steps, and estimates of the clean digits."""
    model, diffusion = trained()
    clean = to_floats(load_images("digits").test.pixels[:DIGITS])
    noise = torch.randn(clean.shape, generator=torch.Generator().manual_seed(0))
    noised, estimates = [clean], [clean]
    for step in range(1, diffusion.steps + 1):
        t = torch.full((DIGITS,), step)
        noised.append(diffusion.add_noise(clean, t, noise))
        estimates.append(diffusion.estimate_clean(noised[-1], t, model(noised[-1], t)))
    return torch.stack(noised)[:, :, 0], torch.stack(estimates)[:, :, 0]


@cache
def back() -> tuple[Frames, Frames]:
    """Reverse process: digits sampled from noise, by step from 0, and estimates of the clean digits."""
    model, diffusion = trained()
    rng = torch.Generator().manual_seed(8)
    start = torch.randn(DIGITS, 1, SIDE, SIDE, generator=rng)
    pictures, estimates = [start], []
    for _, x, clean in reverse_process(model, diffusion, start, rng):
        pictures.append(x)
        estimates.append(clean)
    estimates.append(pictures[-1])
    return torch.stack(pictures[::-1])[:, :, 0], torch.stack(estimates[::-1])[:, :, 0]


def diffusion_picture(figure: Figure) -> Callable[..., str]:
    """Five images side by side: three from the forward process, two from the reverse process."""
    panels = figure.subplots(1, 5)
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.02, top=0.8, wspace=0.06)
    images = [panel.imshow([[0.0]], cmap="gray", vmin=-1, vmax=1, extent=(0, 1, 0, 1), animated=True)
              for panel in panels]  # fmt: skip
    for panel, title in zip(panels, TITLES, strict=True):
        panel.set(xticks=(), yticks=(), title=title)
        panel.grid(visible=False)

    def update(t: int, digit: int) -> str:
        (noised, estimates), (drawn, expected) = there(), back()
        shown = [frames[t, digit - 1] for frames in (noised, estimates, drawn, expected)]
        for image, frame in zip(images, [noised[0, digit - 1], *shown], strict=True):
            image.set_data(frame.numpy())
        return _in_words(t, digit, noised[0, digit - 1], *shown)

    return update


def _in_words(
    t: int, digit: int, clean: Tensor, noised: Tensor, estimate: Tensor, drawn: Tensor, expected: Tensor
) -> str:
    diffusion = trained()[1]
    kept = diffusion.alpha_bar[t].item()
    before, after = ((one - clean).abs().mean().item() for one in (noised, estimate))
    left = (expected - back()[0][0, digit - 1]).abs().mean().item()
    return (
        f"Digit {digit} after {t} of {diffusion.steps} steps: {kept:.1%} of the variance is signal. Mean "
        f"absolute error: {before:.2f} with the noise, {after:.2f} in the network's estimate. In sampling, "
        f"the estimate at this step differs from the final sample by {left:.2f} on average. "
        f"{_verdict(kept, after, (mean_digit() - clean).abs().mean().item())}"
    )


@cache
def mean_digit() -> Float[Tensor, "height width"]:
    """The mean of all training digits: what to guess when nothing is visible."""
    return to_floats(load_images("digits").train.pixels).mean(dim=(0, 1))


def _verdict(kept: float, off: float, guessing: float) -> str:
    """What to notice. off, guessing: the errors of the estimate and of the mean of all digits."""
    if kept == 1:
        return "No noise has been added yet, and in sampling, none is left to remove."
    if off < 0.2:
        return "The network recovers the digit from the noise."
    if kept < 0.0005:
        return (
            "Almost no signal is left. The estimate divides by the signal that is left, so even a tiny error "
            "saturates the pixels to black or white."
        )
    if kept < 0.01:
        return f"Almost nothing is visible: the mean of all digits would be off by {guessing:.2f}."
    return "The estimate is a guess, blurred where the network is uncertain."

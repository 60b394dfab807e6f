"""Noise going into a digit, what a network makes of it, and a digit that it draws from noise alone."""

from collections.abc import Callable
from functools import cache

import ipywidgets
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.datasets import load_images
from course_lib.diffusion import walk_back
from course_lib.vision import to_floats
from course_lib.widgets.explorer import Explorer, slider
from course_lib.widgets.pixel_runs import SIDE, trained

DIGITS = 6
TITLES = ("the digit", "with noise", "the network's\nestimate", "drawn from\nnoise alone", "its estimate")

Frames = Float[Tensor, "steps digits height width"]


def diffusion_explorer() -> Explorer:
    """A digit after some steps of noise, the estimate of the clean one, and a drawing at the same step."""
    return Explorer(
        {
            "t": slider(ipywidgets.IntSlider, "steps of noise", value=40, min=0, max=trained()[1].steps),
            "digit": slider(ipywidgets.IntSlider, "digit", value=1, min=1, max=DIGITS),
        },
        diffusion_picture,
        "sliders for the number of noise steps and for the digit, above the digit, the digit with noise, "
        "the network's estimate of the clean one, and a digit that it draws from noise alone, at the same "
        "step. It answers while the notebook is running.",
        size=(7.0, 2.1),
    )


@cache
@torch.no_grad()
def there() -> tuple[Frames, Frames]:
    """The digits after 0, 1, … steps of noise, and what the network takes for the clean ones each time."""
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
    """Digits drawn from noise, at every step from 0 on, and the clean ones that were expected there."""
    model, diffusion = trained()
    rng = torch.Generator().manual_seed(8)
    start = torch.randn(DIGITS, 1, SIDE, SIDE, generator=rng)
    pictures, estimates = [start], []
    for _, x, clean in walk_back(model, diffusion, start, rng):
        pictures.append(x)
        estimates.append(clean)
    estimates.append(pictures[-1])
    return torch.stack(pictures[::-1])[:, :, 0], torch.stack(estimates[::-1])[:, :, 0]


def diffusion_picture(figure: Figure) -> Callable[..., str]:
    """Five pictures side by side: three of the way there, two of the way back."""
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
    kept = diffusion.kept[t].item()
    before, after = ((one - clean).abs().mean().item() for one in (noised, estimate))
    left = (expected - back()[0][0, digit - 1]).abs().mean().item()
    return (
        f"Digit {digit} after {t} of {diffusion.steps} steps: {kept:.1%} of the variance is picture. A pixel "
        f"is off by {before:.2f} on average, and by {after:.2f} in the network's estimate. On the way back, "
        f"at this step, the estimate is {left:.2f} away from what is drawn in the end. "
        f"{_verdict(kept, after)}"
    )


def _verdict(kept: float, off: float) -> str:
    if kept == 1:
        return "Nothing has been added yet, and on the way back nothing is left to be removed."
    if off < 0.2:
        return "The network sees the digit through the noise."
    if kept < 0.0005:
        return (
            "Hardly anything of the digit is left. The estimate divides by what is left of it, and so makes "
            "the smallest error as large as can be: black or white."
        )
    if kept < 0.01:
        return "There is next to nothing to be seen: the estimate is the mean of what digits look like."
    return "The estimate is a guess, with soft edges where it is not sure."

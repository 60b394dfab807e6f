"""Pixel attention in a network that denoises symmetric images."""

from collections.abc import Callable
from functools import cache

import ipywidgets
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from course_lib.experiments.symmetry_denoiser import HEIGHT, WIDTH, mirrors, trained_mirrors
from course_lib.layers.hooks import record_attention
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, slider

PICTURES = 6
HEADS = ("both heads", "head 1", "head 2")

Pictures = Float[Tensor, "pictures height width"]


def pixel_attention_explorer() -> Explorer:
    """Attention weights of one pixel of a noisy symmetric image on all pixels."""
    return Explorer(
        {
            "row": slider(ipywidgets.IntSlider, "row", value=2, min=1, max=HEIGHT),
            "column": slider(ipywidgets.IntSlider, "column", value=2, min=1, max=WIDTH),
            "picture": slider(ipywidgets.IntSlider, "image", value=1, min=1, max=PICTURES),
            "heads": slider(ipywidgets.SelectionSlider, "weights of", options=HEADS, value=HEADS[0]),
        },
        pixels_picture,
        "sliders for the row and column of a pixel, the image and the head, above a symmetric "
        "image, the image with noise, the image denoised by the network, and the attention weights of "
        "the pixel. It responds while the notebook is running.",
        size=(7.0, 3.6),
    )


@cache
@torch.no_grad()
def seen() -> tuple[Pictures, Pictures, Pictures, Float[Tensor, "pictures heads pixels pixels"]]:
    """Clean, noisy and denoised images, and the attention weights of the network."""
    rng = torch.Generator().manual_seed(11)
    clean = mirrors(PICTURES, rng)
    noisy = clean + torch.randn(clean.shape, generator=rng)
    with record_attention(trained_mirrors()) as maps:
        cleaned = trained_mirrors()(noisy)
    ((weights,),) = maps.values()
    return clean[:, 0], noisy[:, 0], cleaned[:, 0], weights


def pixels_picture(figure: Figure) -> Callable[..., str]:
    """Four images in two rows: clean and noisy, denoised and the weights."""
    panels = figure.subplots(2, 2).flatten()
    figure.subplots_adjust(left=0.02, right=0.98, bottom=0.03, top=0.91, hspace=0.3, wspace=0.06)
    titles = ("original", "with noise", "denoised by the network", "weights of the framed pixel")
    for panel, title in zip(panels, titles, strict=True):
        panel.set(xticks=(), yticks=(), title=title)
        panel.grid(visible=False)
    grey = {"cmap": "gray", "vmin": -3, "vmax": 3}
    looks = (grey, grey, grey, {"cmap": "Blues", "vmin": 0, "vmax": 1})
    images = [
        panel.imshow([[0.0] * WIDTH] * HEIGHT, animated=True, aspect="auto", **look)
        for panel, look in zip(panels, looks, strict=True)
    ]
    frames = [(_frame(panel, PALETTE[1], "-"), _frame(panel, PALETTE[2], ":")) for panel in panels]

    def update(row: int, column: int, picture: int, heads: str) -> str:
        clean, noisy, cleaned, weights = (part[picture - 1] for part in seen())
        chosen = weights.mean(0) if heads == HEADS[0] else weights[HEADS.index(heads) - 1]
        weight = chosen[(row - 1) * WIDTH + column - 1].view(HEIGHT, WIDTH)
        for image, shown in zip(images, (clean, noisy, cleaned, weight), strict=True):
            image.set_data(shown.numpy())
        for own, mirrored in frames:
            own.set_xy((column - 1.5, row - 1.5))
            mirrored.set_xy((WIDTH - column - 0.5, row - 1.5))
        return _in_words(row, column, heads, weight, *(part[row - 1] for part in (clean, noisy, cleaned)))

    return update


def _frame(panel: Axes, colour: str, style: str) -> Rectangle:
    frame = Rectangle(
        (0, 0), 1, 1, fill=False, edgecolor=colour, linestyle=style, linewidth=3, animated=True, zorder=3
    )
    panel.add_patch(frame)
    return frame


def _in_words(
    row: int, column: int, heads: str, weight: Tensor, clean: Tensor, noisy: Tensor, cleaned: Tensor
) -> str:
    other = WIDTH + 1 - column
    own, mirrored = (weight[row - 1, at - 1].item() for at in (column, other))
    place = [number + 1 for number in divmod(int(weight.argmax()), WIDTH)]
    return (
        f"Row {row}, column {column}, {heads}: weight {own:.2f} on itself, {mirrored:.2f} on its mirror "
        f"pixel in column {other}; largest weight {weight.max():.2f}, on row {place[0]}, column {place[1]}. "
        f"The pixel: {clean[column - 1]:.2f} in the original, {noisy[column - 1]:.2f} with noise (mirror "
        f"pixel {noisy[other - 1]:.2f}), {cleaned[column - 1]:.2f} denoised."
    )

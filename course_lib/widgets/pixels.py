"""Where one pixel of a symmetrical picture looks."""

from collections.abc import Callable
from functools import cache

import ipywidgets
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from course_lib.recorder import record_attention
from course_lib.show import PALETTE
from course_lib.widgets.explorer import Explorer, slider
from course_lib.widgets.mirrors import HEIGHT, WIDTH, mirrors, trained_mirrors

PICTURES = 6
HEADS = ("both heads", "head 1", "head 2")

Pictures = Float[Tensor, "pictures height width"]


def pixel_attention_explorer() -> Explorer:
    """A pixel of a noisy symmetrical picture, by row and column, and the weights that it gives all pixels."""
    return Explorer(
        {
            "row": slider(ipywidgets.IntSlider, "row", value=2, min=1, max=HEIGHT),
            "column": slider(ipywidgets.IntSlider, "column", value=2, min=1, max=WIDTH),
            "picture": slider(ipywidgets.IntSlider, "picture", value=1, min=1, max=PICTURES),
            "heads": slider(ipywidgets.SelectionSlider, "weights of", options=HEADS, value=HEADS[0]),
        },
        pixels_picture,
        "sliders for row and column of a pixel, for the picture and for the head, above a symmetrical "
        "picture with noise, the weights that the pixel gives to all pixels, and the picture without noise "
        "as the network sees it. It answers while the notebook is running.",
        size=(7.0, 3.6),
    )


@cache
@torch.no_grad()
def seen() -> tuple[Pictures, Pictures, Pictures, Float[Tensor, "pictures heads pixels pixels"]]:
    """The clean pictures, the noisy ones, what the network makes of them, and its weights of attention."""
    rng = torch.Generator().manual_seed(11)
    clean = mirrors(PICTURES, rng)
    noisy = clean + torch.randn(clean.shape, generator=rng)
    with record_attention(trained_mirrors()) as maps:
        cleaned = trained_mirrors()(noisy)
    ((weights,),) = maps.values()
    return clean[:, 0], noisy[:, 0], cleaned[:, 0], weights


def pixels_picture(figure: Figure) -> Callable[..., str]:
    """Four pictures in two rows: clean and noisy, cleaned and the weights."""
    panels = figure.subplots(2, 2).flatten()
    figure.subplots_adjust(left=0.02, right=0.98, bottom=0.03, top=0.91, hspace=0.3, wspace=0.06)
    titles = ("symmetrical", "with noise", "without noise, by the network", "weights of the framed pixel")
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
        f"pixel in column {other}; the largest, {weight.max():.2f}, on row {place[0]}, column {place[1]}. "
        f"The pixel was {clean[column - 1]:.2f}, came as {noisy[column - 1]:.2f}, its mirror pixel as "
        f"{noisy[other - 1]:.2f}, and leaves the network as {cleaned[column - 1]:.2f}."
    )

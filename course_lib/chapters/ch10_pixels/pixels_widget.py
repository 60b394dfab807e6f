"""Pixel attention in a network that denoises symmetric images."""

from collections.abc import Callable
from functools import cache

import ipywidgets
import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.chapters.ch10_pixels.symmetry_denoiser import HEIGHT, WIDTH, mirrors, trained_mirrors
from course_lib.layers.hooks import record_attention
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.explorer import slider
from course_lib.widgets.heatmap import Place, Sets, image_of
from course_lib.widgets.map_explorer import MapExplorer

PICTURES = 6
HEADS = ("both heads", "head 1", "head 2")

Pictures = Float[Tensor, "pictures height width"]


def pixel_attention_explorer() -> MapExplorer:
    """Attention weights of one pixel of a noisy symmetric image on all pixels; a click chooses the pixel."""
    controls = {
        "row": slider(ipywidgets.IntSlider, "row", value=2, min=1, max=HEIGHT),
        "column": slider(ipywidgets.IntSlider, "column", value=2, min=1, max=WIDTH),
        "picture": slider(ipywidgets.IntSlider, "image", value=1, min=1, max=PICTURES),
        "heads": slider(ipywidgets.SelectionSlider, "weights of", options=HEADS, value=HEADS[0]),
    }
    return MapExplorer(
        controls,
        pixels_picture,
        "sliders for the row and column of a pixel, the image and the head, above a symmetric image, the "
        "image with noise, the image denoised by the network, and the attention weights of the pixel; a "
        "click chooses another one.",
        size=(7.0, 3.6),
        widths=(1, 1),
        shared=True,
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


def pixels_picture(maps: AttentionMap) -> Callable[..., str]:
    """Four images in two rows: clean and noisy, denoised and the weights; the chosen pixel is framed."""

    def update(row: int, column: int, picture: int, heads: str, selected: Place) -> str:
        clean, noisy, cleaned, weights = (part[picture - 1] for part in seen())
        chosen = weights.mean(0) if heads == HEADS[0] else weights[HEADS.index(heads) - 1]
        weight = chosen[(row - 1) * WIDTH + column - 1].view(HEIGHT, WIDTH)
        place = {"marked": Place(0, row - 1, column - 1), "row_sets": Sets("row", 1)}
        place["column_sets"] = Sets("column", 1)
        values = {"value_name": "value", "low": -3, "high": 3, "diverging": True} | place
        maps.show_maps(
            [
                image_of(clean, title="original", **values),
                image_of(noisy, title="with noise", **values),
                image_of(cleaned, title="denoised by the network", **values),
                image_of(weight, title="attention of the chosen pixel", **place),
            ]
        )
        return _in_words(row, column, heads, weight, *(part[row - 1] for part in (clean, noisy, cleaned)))

    return update


def _in_words(
    row: int, column: int, heads: str, weight: Tensor, clean: Tensor, noisy: Tensor, cleaned: Tensor
) -> str:
    other = WIDTH + 1 - column
    own, mirrored = (weight[row - 1, at - 1].item() for at in (column, other))
    place = [number + 1 for number in divmod(int(weight.argmax()), WIDTH)]
    return (
        f"Row {row}, column {column}, {heads}: weight {own:.2f} on itself, {mirrored:.2f} on its mirror "
        f"pixel in column {other}; largest weight {weight.max():.2f}, at row {place[0]}, column {place[1]}. "
        f"The pixel: {clean[column - 1]:.2f} in the original, {noisy[column - 1]:.2f} with noise (mirror "
        f"pixel {noisy[other - 1]:.2f}), {cleaned[column - 1]:.2f} denoised."
    )

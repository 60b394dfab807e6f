"""Patches: an image as the sequence of tokens that a vision Transformer reads."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import ipywidgets
import numpy as np
import sklearn
import torch
from jaxtyping import UInt8
from matplotlib.figure import Figure
from PIL import Image, ImageOps, UnidentifiedImageError
from torch import Tensor

from course_lib.chapters.ch08_images.digits_vit import digits
from course_lib.chapters.ch08_images.patch_picture import (
    CHANNELS,
    CUTS,
    RESHAPED,
    Gridded,
    OneToken,
    Picture,
    Tokens,
    cut_up,
    squares_of,
    tokens_across,
)
from course_lib.widgets.explorer import Explorer, choice, set_most, slider

MOST = 1024  # most patches: smaller ones would be invisible
SIDE = 32  # of a photograph, in pixels
LISTED = 16  # most values listed in the status line
PHOTOGRAPHS = {
    "a flower": ("flower.jpg", (180, 60, 520, 400)),
    "a pagoda": ("china.jpg", (0, 0, 427, 427)),
}


def patch_explorer(
    pixels: UInt8[Tensor, "images channels height width"] | str | Path | None = None,
) -> Explorer:
    """Image patches as tokens, by patch size and stride.

    pixels: square grayscale or color images, or the path of a picture of your own, such as "me.jpg", of which
    the middle is shown in 32 by 32 pixels; by default, two photographs and two digits.
    Raises ValueError for other images, and if their side length allows fewer than two patch sizes.
    Source: Dosovitskiy et al. 2021, section 3.1; Kak slide 98.
    """
    pictures = pictures_of(pixels)
    sides = {name: sizes(picture.shape[1]) for name, picture in pictures.items()}
    first = sides[next(iter(pictures))]
    patch = first[len(first) // 2]
    controls = {
        "image": slider(ipywidgets.Dropdown, "image", options=list(pictures)),
        "patch": slider(ipywidgets.SelectionSlider, "patch size", options=first, value=patch),
        "stride": slider(ipywidgets.Dropdown, "stride", options=[patch]),
        "token": slider(ipywidgets.IntSlider, "token", value=6, min=1, max=6),
        "cut": choice("cut into", CUTS),
    }
    keep_valid(controls, pictures)
    return Explorer(
        controls,
        lambda figure: patch_picture(figure, pictures),
        "sliders for the patch size and the token, menus of images, strides and ways to cut, above the image "
        "with its grid, the chosen token with its values, and the sequence of all tokens.",
        size=(7.0, 4.4),
    )


def pictures_of(
    pixels: UInt8[Tensor, "images channels height width"] | str | Path | None,
) -> dict[str, Picture]:
    """Pictures to choose from, by name: those given, or a picture of one's own before the examples."""
    if pixels is None:
        return examples()
    if isinstance(pixels, str | Path):
        return {"your picture": from_file(Path(pixels))} | examples()
    channels, height, width = pixels.shape[1:]
    if height != width or channels not in CHANNELS:
        raise ValueError(
            f"images of {height}×{width} pixels with {channels} channels: need square ones, 1 or 3 channels"
        )
    return {f"image {i + 1}": picture for i, picture in enumerate(pixels)}


def from_file(path: Path, box: tuple[int, int, int, int] | None = None) -> Picture:
    """A part of a picture (by default the largest square in its middle), in 32 by 32 pixels and in color.

    Raises ValueError for a file that is not a picture.
    """
    try:
        with Image.open(path) as photograph:
            whole = ImageOps.exif_transpose(photograph).convert("RGB")
    except UnidentifiedImageError:
        raise ValueError(f"{path} is not a picture: give a JPEG or PNG file, or a tensor of images") from None
    side = min(whole.size)
    left, top = ((length - side) // 2 for length in whole.size)
    square = whole.crop(box or (left, top, left + side, top + side))
    small = square.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    return torch.from_numpy(np.array(small)).permute(2, 0, 1)


@cache
def examples() -> dict[str, Picture]:
    """Two photographs from scikit-learn (authors: its datasets/images/README.txt) and two digits."""
    folder = Path(sklearn.__file__).parent / "datasets" / "images"
    found = {name: from_file(folder / file, box) for name, (file, box) in PHOTOGRAPHS.items()}
    test = digits().test
    for digit in (3, 8):
        found[f"a digit {digit}"] = test.pixels[test.labels == digit][0]
    return found


def sizes(side: int) -> list[int]:
    """Patch sizes that divide this side length into at most `MOST` patches.

    Raises ValueError if there are fewer than two.
    """
    found = [size for size in range(1, side + 1) if side % size == 0 and (side // size) ** 2 <= MOST]
    if len(found) < 2:
        raise ValueError(
            f"a side of {side} pixels allows only patch sizes {found} (at most {MOST} patches): need two"
        )
    return found


def strides(side: int, patch: int) -> list[int]:
    """Strides that reach the image's edge exactly: the patch size first, then smaller ones with overlap."""
    whole = [stride for stride in range(patch, 0, -1) if patch % stride == 0]
    return [stride for stride in whole if ((side - patch) // stride + 1) ** 2 <= MOST or stride == patch]


def keep_valid(controls: dict[str, ipywidgets.Widget], pictures: dict[str, Picture]) -> None:
    """Limit the options of each control to what the controls before it allow."""
    image, patch, stride, token, _ = controls.values()

    def new_image(change: dict | None = None) -> None:
        wanted, fitting = patch.value, sizes(pictures[image.value].shape[1])
        if list(patch.options) != fitting:
            patch.options = fitting
            patch.value = wanted if wanted in fitting else fitting[len(fitting) // 2]
        new_patch()

    def new_patch(change: dict | None = None) -> None:
        fitting = strides(pictures[image.value].shape[1], patch.value)
        if list(stride.options) != fitting:
            stride.options = fitting
        new_stride()

    def new_stride(change: dict | None = None) -> None:
        most = tokens_across(pictures[image.value].shape[1], patch.value, stride.value) ** 2
        token.value = min(token.value, most)
        set_most(token, most)

    for control, adapt in ((image, new_image), (patch, new_patch), (stride, new_stride)):
        control.observe(adapt, names="value")
    new_image()


def patch_picture(figure: Figure, pictures: dict[str, Picture]) -> Callable[..., str]:
    """The image and one token at the top, the whole sequence below."""
    grid, one, line = Gridded(figure), OneToken(figure), Tokens(figure)

    def update(image: str, patch: int, stride: int, token: int, cut: str) -> str:
        picture = pictures[image]
        channels, side, _ = picture.shape
        patch = min(patch, side)  # right after the image changes, the old patch size may still be set
        across = tokens_across(side, patch, stride)
        tokens, which = cut_up(picture, patch, stride, cut), min(token, across**2) - 1
        squares = squares_of(which, across**2, channels, cut)
        grid.draw(picture, patch, stride, [divmod(place, across) for _, place in squares])
        one.draw(tokens[which], which, across, [CHANNELS[channels][channel] for channel, _ in squares])
        line.draw(tokens, which)
        head = f"{image[0].upper()}{image[1:]}: {in_words(picture, patch, stride, across)}"
        return head + about(tokens[which], which, across, squares, cut)

    return update


def in_words(picture: Picture, patch: int, stride: int, across: int) -> str:
    """Status line, first part: number and length of the tokens, and number of attention pairs."""
    channels, side, _ = picture.shape
    held = (across * patch / side) ** 2
    shared = f" They overlap: each pixel is in {held:.1f} of them on average." if held > 1 else ""
    pairs = (across**2 + 1) ** 2
    return (
        f"{side}×{side} pixels, {channels} channel{'s' * (channels > 1)}; patches of {patch}×{patch} at "
        f"stride {stride}: {across} rows of {across}, {across**2} tokens of {channels}·{patch}·{patch} = "
        f"{channels * patch**2} values.{shared} With a class token, each head computes {pairs:,} weights. "
    )


def about(
    token: UInt8[Tensor, "channels patch patch"],
    which: int,
    across: int,
    squares: list[tuple[int, int]],
    cut: str,
) -> str:
    """Status line, second part: the contents of the chosen token."""
    row, column = divmod(squares[0][1], across)
    place = f"Token {which + 1} is the patch in row {row + 1}, column {column + 1}"
    if cut == RESHAPED and len(squares) > 1:
        parts = ", ".join(
            f"{CHANNELS[len(squares)][channel]} of patch {place + 1}" for channel, place in squares
        )
        place = f"Token {which + 1} consists of {parts}: not one patch with all its channels"
    elif cut == RESHAPED:
        place += "; with a single channel, the reshape is harmless"
    listed = f": {' '.join(map(str, token.flatten().tolist()))}" if token.numel() <= LISTED else ""
    return f"{place}{listed}."

"""Drawings of the patch explorer: the image with its grid, one token, and the token sequence."""

import math

import numpy as np
import torch
from jaxtyping import UInt8
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from torch import Tensor

Picture = UInt8[Tensor, "channels side side"]
WHOLE, RESHAPED = CUTS = ("whole patches", "a reshape without permute")
CHANNELS = {1: ("gray",), 3: ("red", "green", "blue")}
WIDE, HIGH = 6.45, 1.1  # size of the sequence, in inches


def tokens_across(side: int, patch: int, stride: int) -> int:
    return (side - patch) // stride + 1


def cut_up(
    picture: Picture, patch: int, stride: int, cut: str
) -> UInt8[Tensor, "tokens channels patch patch"]:
    """Tokens of an image: whole patches with all channels, or the result of a reshape without a permute.

    After that reshape of (channels, rows, columns, patch, patch), each token holds neighboring patches of a
    single channel.
    """
    squares = picture.unfold(1, patch, stride).unfold(2, patch, stride)
    if cut == WHOLE:
        squares = squares.permute(1, 2, 0, 3, 4)
    return squares.reshape(-1, len(picture), patch, patch)


def squares_of(token: int, tokens: int, channels: int, cut: str) -> list[tuple[int, int]]:
    """Channel and patch index of each square in a token."""
    if cut == WHOLE:
        return [(channel, token) for channel in range(channels)]
    return [divmod(token * channels + i, tokens) for i in range(channels)]


def colours(picture: UInt8[Tensor, "channels height width"]) -> UInt8[np.ndarray, "height width 3"]:
    return picture.expand(3, -1, -1).permute(1, 2, 0).numpy()


def empty(axes: Axes) -> Axes:
    axes.set(xticks=(), yticks=())
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    return axes


def still_image(axes: Axes, **look: object) -> AxesImage:
    blank = np.full((1, 1, 3), 255, dtype=np.uint8)
    return axes.imshow(blank, interpolation="nearest", aspect="auto", animated=True, **look)


def frame(axes: Axes) -> Rectangle:
    """Frame in yellow on black, visible on any image; `set_bounds` moves it."""
    on_black = withStroke(linewidth=5, foreground="black")
    look = {"fill": False, "edgecolor": "#ffe119", "linewidth": 2, "path_effects": [on_black]}
    return axes.add_patch(Rectangle((0, 0), 0, 0, zorder=5, animated=True, clip_on=False, **look))


class Gridded:
    """The image with grid lines between patches and frames around the squares of one token."""

    def __init__(self, figure: Figure):
        axes = empty(figure.add_axes((0.01, 0.37, 0.35, 0.557)))
        axes.set_title("the image and its grid")
        self.image = still_image(axes, extent=(0, 1, 1, 0))
        self.grid = LineCollection([], colors="white", animated=True)
        axes.add_collection(self.grid)
        self.frames = [frame(axes) for _ in range(3)]

    def draw(self, picture: Picture, patch: int, stride: int, places: list[tuple[int, int]]) -> None:
        side = picture.shape[1]
        self.image.set_data(colours(picture))
        begins = [at / side for at in range(stride, side - patch + 1, stride)]
        self.grid.set_segments([[(0, y), (1, y)] for y in begins] + [[(x, 0), (x, 1)] for x in begins])
        self.grid.set_linewidth(1.2 if len(begins) < 16 else 0.4)
        for frame, (row, column) in zip(self.frames, places + places[-1:] * 2, strict=False):
            frame.set_bounds(column * stride / side, row * stride / side, patch / side, patch / side)


class OneToken:
    """One token as a picture and as the vector that the model reads."""

    def __init__(self, figure: Figure):
        axes = empty(figure.add_axes((0.46, 0.63, 0.187, 0.297)))
        self.picture = still_image(axes)
        look = {"animated": True, "ha": "center", "va": "bottom", "size": rcParams["axes.titlesize"]}
        self.title = axes.text(0.5, 1.04, "", transform=axes.transAxes, **look)
        self.count = figure.text(0.83, 0.78, "", linespacing=1.6, **look | {"va": "center"})
        below = empty(figure.add_axes((0.46, 0.37, 0.53, 0.16)))
        self.vector = still_image(below, cmap="gray", vmin=0, vmax=255)
        self.order = below.text(0, 1.06, "", transform=below.transAxes, **look | {"ha": "left"})
        small = {"ha": "right", "va": "center", "size": rcParams["xtick.labelsize"], "animated": True}
        self.names = [below.text(-0.015, 0, "", transform=below.transAxes, **small) for _ in range(3)]

    def draw(
        self, token: UInt8[Tensor, "channels patch patch"], which: int, across: int, names: list[str]
    ) -> None:
        numbers, tokens = token.numel(), across**2
        self.picture.set_data(colours(token))
        self.vector.set_data(token.flatten(1).numpy())
        self.title.set_text(f"token {which + 1}")
        self.count.set_text(f"{across} · {across} = {tokens} token{'s' * (tokens > 1)}\nof {numbers} values")
        self.order.set_text("its values, from 0 (black) to 255 (white)")
        for i, text in enumerate(self.names):
            there = i < len(names)
            text.set(text=names[i] if there else "", y=1 - (i + 0.5) / len(names))


class Tokens:
    """All tokens as pictures, in lines like text, with one framed."""

    def __init__(self, figure: Figure):
        axes = empty(figure.add_axes((0.07, 0.03, WIDE / 7.0, HIGH / 4.4)))
        axes.set(xlim=(0, WIDE), ylim=(HIGH, 0))
        axes.set_title("the sequence of tokens, row by row", loc="left")
        self.image = still_image(axes)
        axes.set(xlim=(0, WIDE), ylim=(HIGH, 0))
        self.frame = frame(axes)
        small = {"ha": "right", "va": "center", "size": rcParams["xtick.labelsize"], "animated": True}
        self.numbers = [axes.text(-0.06, 0, "", **small) for _ in range(4)]

    def draw(self, tokens: UInt8[Tensor, "tokens channels patch patch"], which: int) -> None:
        count, patch = len(tokens), tokens.shape[-1]
        across = math.isqrt(count)
        line = min(count, across * round(math.sqrt(WIDE / HIGH)))  # each line holds several rows of the grid
        lines, gap = math.ceil(count / line), max(1, round(patch / 5))
        cell = min(WIDE / line, HIGH / lines)
        self.image.set_data(montage(tokens, line, gap, gap))
        share = patch / (patch + gap)
        self.image.set_extent((0, line * cell, lines * cell, 0))
        row, column = divmod(which, line)
        self.frame.set_bounds(column * cell, row * cell, share * cell, share * cell)
        for i, text in enumerate(self.numbers):
            there = i < lines <= len(self.numbers)
            text.set(text=str(i * line + 1) if there else "", y=(i + share / 2) * cell)


def montage(
    tokens: UInt8[Tensor, "tokens channels rows columns"], line: int, right: int, below: int
) -> UInt8[np.ndarray, "height width 4"]:
    """Tokens side by side, `line` per line; the gaps, `right` and `below` each, are transparent white."""
    count, _, rows, columns = tokens.shape
    lines = math.ceil(count / line)
    cells = torch.full((lines * line, 4, rows + below, columns + right), 255, dtype=torch.uint8)
    cells[:, 3] = 0
    cells[:count, :3, :rows, :columns] = tokens
    cells[:count, 3, :rows, :columns] = 255
    return cells.unflatten(0, (lines, line)).permute(0, 3, 1, 4, 2).flatten(0, 1).flatten(1, 2).numpy()

"""Drawings of the block explorer: the diagram of a block, and a tensor as a heatmap."""

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib.viz.style import PALETTE

COLOURS = {
    "input": "0.6", "norm": PALETTE[4], "self-attention": PALETTE[0], "cross-attention": PALETTE[1],
    "feed-forward": PALETTE[2], "residual": "0.6",
}  # fmt: skip
LARGEST = 2.5  # absolute value with the darkest color; larger ones are clipped
ROOM = 0.96  # fraction of the diagram height used by the boxes


def walk_picture(figure: Figure, most: int, columns: int, rows: int) -> Callable[..., None]:
    """Draw both halves. Returns a function that shows the step with a given index (from 0)."""
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.75))
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.02, top=0.98, wspace=0.04)
    for axes in (left, right):
        axes.set_axis_off()
    move_plan, move_tensor = plan(left, most), tensor(right, columns, rows)

    def move(steps: Sequence[Any], now: int, labels: Sequence[str], title: str) -> None:
        move_plan(steps, now)
        move_tensor(steps[now], labels, title)

    return move


def plan(axes: Axes, most: int) -> Callable[[Sequence[Any], int], None]:
    """Diagram: a box per step, top to bottom, and a line for each residual connection."""
    axes.set(xlim=(0, 1), ylim=(1, 0))
    boxes = [axes.add_patch(Rectangle((0, 0), 0, 0, animated=True)) for _ in range(most)]
    names = [axes.text(0.56, 0, "", ha="center", va="center", size=small(), animated=True) for _ in boxes]
    rounds = [axes.plot([], [], color="0.35", animated=True)[0] for _ in range(3)]

    def move(steps: Sequence[Any], now: int) -> None:
        height = ROOM / len(steps)
        for i, (box, name) in enumerate(zip(boxes, names, strict=True)):
            box.set_visible(i < len(steps))
            name.set_visible(i < len(steps))
            if i < len(steps):
                place_box(box, name, steps[i], (i + 0.5) * ROOM / len(steps) + 0.02, height, i - now)
        for line, (start, end) in zip(rounds, ways_round(steps), strict=False):
            ys = [(i + 0.5) * height + 0.02 for i in (start, start, end, end)]
            line.set_data([0.14, 0.05, 0.05, 0.14], ys)
        for i, line in enumerate(rounds):
            line.set_visible(i < len(ways_round(steps)))

    return move


def place_box(box: Rectangle, name: Any, step: Any, y: float, height: float, ahead: int) -> None:
    """Place and style a box. ahead: 0 for the current step, < 0 for past steps, > 0 for later ones."""
    strength = 0.75 if ahead == 0 else 0.3 if ahead < 0 else 0.08
    box.set_bounds(0.14, y - 0.42 * height, 0.84, 0.84 * height)
    box.set(facecolor=pale(COLOURS[step.part], strength), edgecolor="black" if ahead == 0 else "0.7")
    box.set_linewidth(2.0 if ahead == 0 else 0.8)
    name.set_position((0.56, y))
    name.set_text(step.name)
    name.set_fontweight("bold" if ahead == 0 else "normal")


def ways_round(steps: Sequence[Any]) -> list[tuple[int, int]]:
    """For each residual connection, the step where it starts and the step where it is added."""
    sums = [i for i, step in enumerate(steps) if step.part == "residual"]
    post = steps[-1].part == "norm"
    starts = [0] + [end + post for end in sums[:-1]]
    return list(zip(starts, sums, strict=True))


def tensor(axes: Axes, columns: int, rows: int) -> Callable[[Any, Sequence[str], str], None]:
    """Heatmap: a row per token, heads side by side; weights in blue, other values in red and blue."""
    look = {"animated": True, "interpolation": "nearest", "aspect": "auto", "origin": "upper"}
    image = axes.imshow(np.zeros((rows, columns, 4)), extent=(0, columns, rows, 0), **look)
    labels = [axes.text(-0.3, i + 0.5, "", ha="right", va="center", size=small(), animated=True)
              for i in range(rows)]  # fmt: skip
    head = axes.text(-6.2, -3.2, "", va="center", weight="bold", size=small(), animated=True)
    name, shape = (axes.text(-6.2, y, "", va="center", size=small(), animated=True) for y in (-2.1, -1.1))
    scale(axes, rows, columns)

    def move(step: Any, tokens: Sequence[str], title: str) -> None:
        picture = coloured(step)
        image.set_data(picture)
        image.set_extent((0, picture.shape[1], picture.shape[0], 0))
        for i, label in enumerate(labels):
            label.set_text(tokens[i] if i < len(tokens) else "")
        head.set_text(title)
        name.set_text(f"{step.part}: {step.name}")
        shape.set_text(f"({step.axes})\n= {tuple(step.value.shape)}")

    return move


def scale(axes: Axes, rows: int, columns: int) -> None:
    """Color scales below the tensor."""
    ramp = np.linspace(0, 1, 64)[None]
    for y, cmap, low, high in ((1.2, "RdBu", f"−{LARGEST}", f"{LARGEST}"), (2.6, "Blues", "0", "weight 1")):
        axes.imshow(mpl.colormaps[cmap](ramp), extent=(4, 12, rows + y + 0.8, rows + y), aspect="auto")
        axes.text(3.6, rows + y + 0.4, low, ha="right", va="center", size=small())
        axes.text(12.4, rows + y + 0.4, high, ha="left", va="center", size=small())
    axes.set(xlim=(-6.2, columns + 0.2), ylim=(rows + 4.6, -3.6))


def coloured(step: Any) -> np.ndarray:
    """Tensor as an image, one pixel per value: heads side by side, separated by white columns."""
    values = step.value[0].detach().float().numpy()
    heads = values if values.ndim == 3 else values[None]
    if step.name == "weights":
        painted = mpl.colormaps["Blues"](heads)
    else:
        painted = mpl.colormaps["RdBu"](heads / (2 * LARGEST) + 0.5)
    gap = np.zeros((heads.shape[1], 1, 4))
    return np.concatenate([part for one in painted for part in (gap, one)][1:], axis=1)


def pale(colour: str, strength: float) -> tuple[float, ...]:
    return tuple(1 - strength * (1 - c) for c in to_rgb(colour))


def small() -> float:
    return mpl.rcParams["xtick.labelsize"]

"""Figures of chapter 10: pixels as tokens, the layer, its cost, noise, errors with and without attention."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from torch import Tensor

from course_lib.viz.figures import picture, show
from course_lib.viz.style import PALETTE, style_context
from course_lib.viz.trends import courses, span

STYLES = (("s-", PALETTE[0]), ("o--", PALETTE[1]), ("^:", PALETTE[2]))
CLOSE = 1.2  # losses whose ratio is less end "close together"

diagram_flatten = picture(
    __file__,
    "flatten",
    "Show an image of two channels and 2 × 3 pixels as a sequence of six vectors of width 2.",
)
diagram_pixel_attention = picture(
    __file__,
    "pixel_attention",
    "Show the layer: GroupNorm, a convolution of width 1 to 3 C channels, attention, projection, skip.",
)
diagram_unet = picture(__file__, "unet", "Show a UNet of four levels with attention at the two coarse ones.")


@style_context()
def plot_pictures(
    rows: Mapping[str, Float[Tensor, "pictures 1 height width"]], titles: Sequence[str] = (), *, alt: str
) -> None:
    """Show gray images in rows. rows: by the name at the left. titles: above the columns."""
    columns = len(next(iter(rows.values())))
    side, tall = 5.6 / columns, next(iter(rows.values())).shape[-2] / next(iter(rows.values())).shape[-1]
    size = 6.4, len(rows) * (side * tall + 0.12) + 0.3 * bool(titles) + 0.1
    figure, panels = plt.subplots(len(rows), columns, figsize=size, squeeze=False)
    for line, (name, pictures) in zip(panels, rows.items(), strict=True):
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
        for axes, one in zip(line, pictures, strict=True):
            high = max(1.0, 3.0 * (pictures.shape[-2] != pictures.shape[-1]))  # random pixels go beyond ±1
            axes.imshow(one[0], cmap="gray", vmin=-high, vmax=high)
            axes.set(xticks=[], yticks=[])
    for axes, title in zip(panels[0], titles, strict=False):
        axes.set_title(title)
    show(figure, alt=alt)


@style_context()
def plot_pixel_cost(cost: Mapping[str, Mapping[int, tuple[float, float]]]) -> None:
    """Show memory and time over the side of the image. cost: by name and side: bytes, seconds."""
    figure, panels = plt.subplots(1, 2, figsize=(6.4, 3.1))
    for (name, found), (look, color) in zip(cost.items(), STYLES, strict=False):
        for axes, i, unit in zip(panels, (0, 1), (2**-20, 1000), strict=True):
            axes.plot(list(found), [one[i] * unit for one in found.values()], look, color=color, label=name)
    sides = list(next(iter(cost.values())))
    for axes, label in zip(panels, ("MiB kept for the gradient", "ms, forward pass"), strict=True):
        axes.set(xscale="log", yscale="log", xlabel="side of the image", ylabel=label)
        axes.set_xticks(sides, [f"{side}" for side in sides])
        axes.minorticks_off()
    panels[0].legend()
    show(
        figure,
        alt=f"Memory and time of pixel attention over the side of the image, {min(sides)} to {max(sides)}, "
        f"on logarithmic axes, for {' and '.join(cost)}. {_cost_in_words(cost)}",
    )


def _cost_in_words(cost: Mapping[str, Mapping[int, tuple[float, float]]]) -> str:
    """How much the cost grows. Of the times, which differ from machine to machine, only whether they do."""
    ends = {name: [found[side] for side in (min(found), max(found))] for name, found in cost.items()}
    memory, time = ({name: large[i] / small[i] for name, (small, large) in ends.items()} for i in (0, 1))
    sides = next(iter(cost.values()))
    steep = min(time.values()) > max(sides) / min(sides)  # faster than the side of the image
    if steep and memory.keys() == {"explicit", "SDPA"} and memory["explicit"] > memory["SDPA"]:
        return "Memory: the explicit formula is the steeper line. Time: both lines are steep."
    said = (
        f"{what}: {', '.join(f'{name} grows {times:.0f}-fold' for name, times in grown.items())}"
        for what, grown in (("Memory", memory), ("Time", time))
    )
    return ". ".join(said) + "."


@style_context()
def plot_digit_runs(curves: Mapping[str, Sequence[tuple[Sequence[int], Sequence[float]]]]) -> None:
    """Show the validation loss of several seeds. curves: by name, the steps and losses of each seed."""
    figure, axes = plt.subplots(figsize=(5.6, 3))
    for (name, seeds), (look, color) in zip(curves.items(), STYLES, strict=False):
        for i, (steps, losses) in enumerate(seeds):
            label = name if i == 0 else None
            axes.plot(steps, losses, look, color=color, label=label, linewidth=1.2, markersize=4)
    axes.set(xlabel="step", ylabel="loss on validation images", ylim=(0, None))
    axes.legend()
    seeds = span([len(several) for several in curves.values()])
    runs = {f"{name}, seed {i}": one[1] for name, several in curves.items() for i, one in enumerate(several)}
    ends = [losses[-1] for losses in runs.values()]
    fall = all(losses[-1] < losses[0] for losses in runs.values()) and max(ends) < CLOSE * min(ends)
    said = "all curves fall together and end close together." if fall else courses(runs, 2)
    show(
        figure,
        alt=f"Validation loss over the training steps, {seeds} seeds each {' and '.join(curves)}: {said}",
    )


@style_context()
def plot_column_errors(errors: Mapping[str, Sequence[Float[Tensor, " width"]]]) -> None:
    """Show the error of each column, one thin line per seed. errors: by name, one tensor per seed."""
    figure, axes = plt.subplots(figsize=(6.2, 3.5))
    for height, place, text in ((1 / 2, 0.535, "best from the pixel alone: 1/2"),
                                (1 / 3, 0.295, "best from the pixel and its mirror pixel: 1/3")):  # fmt: skip
        axes.axhline(height, color="0.5", linewidth=1)
        axes.text(1, place, text)
    for (name, seeds), (look, color) in zip(errors.items(), STYLES, strict=False):
        for i, error in enumerate(seeds):
            columns = range(1, len(error) + 1)
            label = name if i == 0 else None
            axes.plot(columns, error, look, color=color, label=label, linewidth=1.2, markersize=5)
    axes.set(xlabel="column", ylabel="mean squared error", xticks=columns, ylim=(0.27, 0.68))
    axes.legend(loc="upper center", ncols=2)
    show(
        figure,
        alt=f"Mean squared error by column for {' and '.join(errors)}, one line per seed, with lines at 1/2 "
        f"and 1/3. {_errors_in_words(errors)}",
    )


def _errors_in_words(errors: Mapping[str, Sequence[Float[Tensor, " width"]]]) -> str:
    """Where the errors are near 1/3 and near 1/2, if that is as expected; otherwise their ranges."""
    runs = {name: torch.stack(list(seeds)) for name, seeds in errors.items()}
    full = runs.get("attention to all pixels")
    edges_and_middle = [
        _near(error[:, [0, -1]], 1 / 2) and _near(error[:, error.shape[1] // 2 - 1 :][:, :2], 1 / 3)
        for error in runs.values()
        if error is not full
    ]
    if full is not None and _near(full, 1 / 3) and all(edges_and_middle):
        return (
            "With all pixels the error is near 1/3 in every column. The other lines are near 1/2 in the "
            "outer columns and near 1/3 only toward the middle."
        )
    return "; ".join(f"{name} from {e.min():.2f} to {e.max():.2f}" for name, e in runs.items()) + "."


def _near(errors: Float[Tensor, "seeds columns"], level: float) -> bool:
    return bool(((errors - level).abs() < 1 / 12).all())  # half the way from 1/3 to 1/2


@style_context()
def plot_reach(reaches: Mapping[str, Bool[Tensor, "height width"]], row: int, column: int) -> None:
    """Show on which pixels the output at one pixel (cross) can depend; a ring marks its mirror pixel.

    reaches: by name of the network, True for the pixels that it can use. row, column: counted from 0.
    """
    figure, panels = plt.subplots(len(reaches), 1, figsize=(5.6, 1.7 * len(reaches)), squeeze=False)
    said = []
    for axes, (name, reached) in zip(panels[:, 0], reaches.items(), strict=True):
        width = reached.shape[1]
        mirror = width - 1 - column
        _weight_map(axes, 0.4 * reached.float(), (row, column))
        axes.plot(mirror, row, "o", color=PALETTE[1], fillstyle="none", markersize=9, markeredgewidth=2)
        axes.set_title(f"{name}: {int(reached.sum())} of {reached.numel()} pixels")
        seen = "with" if reached[row, mirror] else "without"
        said.append(f"{name}: {int(reached.sum())} of {reached.numel()}, {seen} the mirror pixel")
    panels[-1, 0].set_xlabel("column")
    show(
        figure,
        alt=f"The pixels on which the output in row {row + 1}, column {column + 1} can depend, one map of "
        f"the image per network. {'; '.join(said)}.",
    )


@style_context()
def plot_pixel_weights(weights: Float[Tensor, "queries keys"], queries: Sequence[int], width: int) -> None:
    """Show where single pixels attend, one map of the image per query; a cross marks the query."""
    figure, panels = plt.subplots(len(queries), 1, figsize=(5.6, 1.6 * len(queries)), squeeze=False)
    for axes, query in zip(panels[:, 0], queries, strict=True):
        _weight_map(axes, weights[query].view(-1, width), divmod(query, width))
    panels[-1, 0].set_xlabel("column")
    figure.colorbar(panels[0, 0].images[0], ax=panels, label="attention weight", shrink=0.7)
    places = ", ".join(f"row {q // width + 1} column {q % width + 1}" for q in queries)
    show(
        figure,
        alt=f"Attention weights of {len(queries)} queries, marked by crosses ({places}), as maps of the "
        f"image of {len(weights) // width} by {width} pixels, darker for more weight.",
    )


def _weight_map(axes: Axes, weights: Float[Tensor, "height width"], query: tuple[int, int]) -> None:
    height, width = weights.shape
    axes.imshow(weights, cmap="Blues", vmin=0, vmax=1)
    axes.plot(query[1], query[0], "x", color=PALETTE[1], markersize=9, markeredgewidth=2.5)
    axes.set_xticks(range(width), [f"{i + 1}" for i in range(width)])
    axes.set_yticks(range(height), [f"{i + 1}" for i in range(height)])
    axes.set_ylabel("row")
    axes.grid(visible=False)

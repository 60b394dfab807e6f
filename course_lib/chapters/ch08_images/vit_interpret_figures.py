"""Figures of chapter 8b: class-token attention, rollout, occlusion, positions, and another image size."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from torch import Tensor

from course_lib.chapters.ch08_images.vit_figures import draw_bare
from course_lib.viz.figures import picture, show
from course_lib.viz.style import PALETTE, style_context
from course_lib.viz.trends import courses

STYLES = ("o-", "s--", "^:", "D-.")
NEAR = 0.1  # relative difference up to which a mean distance is "near" that of even attention


diagram_class_row = picture(
    __file__,
    "class_row",
    "Show how the row of the class token in an attention matrix becomes a map over the image.",
)
diagram_rollout = picture(
    __file__,
    "rollout",
    "Show two tokens over two layers, and the weights of all paths from the input to the output.",
)


@style_context()
def plot_looks(
    images: Float[Tensor, "images height width"],
    maps: Mapping[str, Float[Tensor, "images rows columns"]],
) -> None:
    """Show images, one per row, and beside each its maps, darker for more weight. maps: by title."""
    figure, panels = plt.subplots(
        len(images), 1 + len(maps), figsize=(1.3 * (1 + len(maps)), 1.25 * len(images) + 0.3), squeeze=False
    )
    for i, row in enumerate(panels):
        draw_bare(row[0], images[i], "" if i else "image", cmap="gray")
        for axes, (title, weights) in zip(row[1:], maps.items(), strict=True):
            look = {"cmap": "Blues", "vmin": 0, "vmax": float(weights[i].max())}
            draw_bare(axes, weights[i], "" if i else title, **look)
    show(
        figure,
        alt=f"{len(images)} images, and beside each, maps over its patches for {', '.join(maps)}. Darker "
        "patches have more weight.",
    )


@style_context()
def plot_images(images: Mapping[str, Float[Tensor, "height width"]]) -> None:
    """Show images side by side. images: by title."""
    figure, panels = plt.subplots(1, len(images), figsize=(1.55 * len(images), 1.9), squeeze=False)
    for axes, (title, image) in zip(panels[0], images.items(), strict=True):
        draw_bare(axes, image, title, cmap="gray", vmin=-1, vmax=1)
    show(figure, alt=f"One digit {len(images)} times: {', '.join(images)}.")


@style_context()
def plot_occlusion(runs: Mapping[str, Mapping[str, Sequence[Sequence[float]]]], start: float) -> None:
    """Show accuracy over the number of patches painted or removed: a line is the mean, a band all runs.

    runs: for each panel, by its title, the accuracies of each run at 1, 2, … patches, by the order of the
    patches. start: mean accuracy with none.
    """
    figure, panels = plt.subplots(1, len(runs), figsize=(6.4, 3.5), sharey=True, squeeze=False)
    curves: dict[str, list[float]] = {}
    for axes, (title, orders) in zip(panels[0], runs.items(), strict=True):
        for (name, several), style, color in zip(orders.items(), STYLES, PALETTE, strict=False):
            values = np.asarray(several)
            x = np.arange(values.shape[1] + 1)
            curves[f"{title}, {name}"] = [start, *values.mean(axis=0).tolist()]
            axes.plot(x, curves[f"{title}, {name}"], style, color=color, label=name)
            axes.fill_between(x[1:], values.min(axis=0), values.max(axis=0), color=color, alpha=0.2)
        axes.set(title=title, xlabel="patches per image", ylim=(0, 1.05), xticks=x)
    panels[0][0].set_ylabel("accuracy")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    names = ", ".join(next(iter(runs.values())))
    most, least = (
        [curve[-1] for name, curve in curves.items() if name.endswith(f", {order} attended")]
        for order in ("most", "least")
    )
    steep = most and least and max(most) < start - 0.3 and min(least) > start - 0.1
    said = (
        "The curve of the most attended patches falls steeply, and that of the least attended ones "
        "stays high."
    )
    show(
        figure,
        alt=f"Accuracy over the number of patches, for {' and '.join(runs)}, with one curve for each choice "
        f"of patches: {names}. {said if steep else courses(curves, 2)}",
    )


@style_context()
def plot_similarities(similar: Mapping[str, Float[Tensor, "rows columns rows columns"]]) -> None:
    """Show the cosine similarity of each position embedding to all others. similar: by title."""
    figure = plt.figure(figsize=(6.4, 3.4))
    parts = figure.subfigures(1, len(similar), width_ratios=[1.0] * (len(similar) - 1) + [1.3])
    itself: list[bool] = []
    for part, (title, maps) in zip(np.atleast_1d(parts), similar.items(), strict=True):
        rows, columns = maps.shape[:2]
        part.suptitle(title)
        for axes, one in zip(part.subplots(rows, columns).flat, maps.flatten(0, 1), strict=True):
            drawn = draw_bare(axes, one, cmap="RdBu_r", vmin=-1, vmax=1)
        itself += [bool(one[i] >= one.max() - 1e-5) for i, one in enumerate(maps.flatten(2).flatten(0, 1))]
    part.colorbar(drawn, ax=part.axes, label="cosine similarity", shrink=0.8)
    said = "Each position is" if all(itself) else f"{sum(itself)} of {len(itself)} positions are each"
    show(
        figure,
        alt=f"For {' and '.join(similar)}: one small map for each position, arranged like the positions in "
        f"the image. Red means similar, white unrelated, blue opposite. {said} most similar to "
        "itself.",
    )


@style_context()
def plot_distances(reach: Float[Tensor, "layers heads"], even: float) -> None:
    """Show how far away each head attends on average, against a head that attends evenly."""
    figure, axes = plt.subplots(figsize=(5.4, 3.0))
    layers = range(1, len(reach) + 1)
    for head, (marker, color) in enumerate(zip("os^D", PALETTE, strict=False)):
        x = [i + 0.08 * (head - 1.5) for i in layers]
        axes.plot(x, reach[:, head], marker, color=color, label=f"head {head + 1}")
    axes.axhline(even, color="0.4", linestyle="--", linewidth=1.2, label="evenly")
    axes.set(xticks=layers, xlabel="layer", ylabel="mean distance, pixels", ylim=(0, 1.3 * even))
    axes.legend(ncols=3, loc="lower center")
    near = (reach / even - 1).abs().max() < NEAR
    where = "near" if near else f"between {reach.min():.1f} and {reach.max():.1f} pixels, with"
    at = "" if near else f" at {even:.1f}"
    show(
        figure,
        alt=f"The mean distance at which each head attends, by layer. All of them lie {where} a dashed "
        f"line{at}, the distance of a head that attends evenly.",
    )


@style_context()
def plot_causes(accuracies: Mapping[str, Sequence[float]]) -> None:
    """Show accuracies as bars, with one dot per seed. accuracies: of all seeds, by condition."""
    figure, axes = plt.subplots(figsize=(6.2, 0.45 * len(accuracies) + 1.0))
    for y, several in enumerate(accuracies.values()):
        axes.barh(y, np.mean(several), color=PALETTE[0], alpha=0.45)
        axes.plot(several, [y] * len(several), "o", color="0.2", markersize=5)
    axes.set_yticks(range(len(accuracies)), list(accuracies))
    axes.invert_yaxis()
    axes.set(xlabel="accuracy (dots: seeds)", xlim=(0, 1.03))
    axes.grid(visible=False, axis="y")
    show(figure, alt=f"Bars of the accuracy, with one dot per seed, for {', '.join(accuracies)}.")

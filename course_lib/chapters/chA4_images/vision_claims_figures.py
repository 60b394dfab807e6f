"""Figures of appendix A4: which patch each pixel ends up in, changed digits, the price of deviations."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Num, UInt8
from torch import Tensor

from course_lib.viz.figures import show
from course_lib.viz.style import PALETTE, style_context

COLORS = ("red", "green", "blue")


@style_context()
def plot_patch_owners(owners: Mapping[str, Num[Tensor, "channels height width"]]) -> None:
    """Show, for each value of a small color image, the number of the patch that holds it.

    owners: one row of three panels for each way of cutting the image, by its name.
    """
    figure, panels = plt.subplots(len(owners), 3, figsize=(5.6, 2.1 * len(owners)), squeeze=False)
    said = []
    for row, (name, planes) in zip(panels, owners.items(), strict=True):
        last = float(planes.max())
        for axes, color, plane in zip(row, COLORS, planes.int().tolist(), strict=True):
            axes.imshow(plane, cmap="viridis", vmin=0, vmax=last)
            for (y, x), number in np.ndenumerate(np.array(plane)):
                ink = "white" if number <= last / 2 else "black"
                axes.text(x, y, str(number), color=ink, ha="center", va="center")
            axes.set(xticks=[], yticks=[], title=f"{name}: {color}")
            axes.grid(visible=False)
        held = (f"{color} {_listed(planes[i])}" for i, color in enumerate(COLORS))
        said.append(f"{name}: patches {', '.join(held)}")
    show(figure, alt=f"The patch number of each value, one panel per color channel. {'; '.join(said)}.")


def _listed(plane: Num[Tensor, "height width"]) -> str:
    """The patch numbers in a channel, in words."""
    *others, last = map(str, plane.int().unique().tolist())
    return f"{', '.join(others)} and {last}" if others else last


@style_context()
def plot_changed_images(
    rows: Mapping[str, UInt8[Tensor, "images channels height width"]], *, alt: str
) -> None:
    """Show a few color images, one row for each set, by its name."""
    most = max(map(len, rows.values()))
    figure, panels = plt.subplots(len(rows), most, figsize=(5.6, 1.05 * len(rows)), squeeze=False)
    for row, (name, images) in zip(panels, rows.items(), strict=True):
        for axes, image in zip(row, images, strict=True):
            axes.imshow(image.permute(1, 2, 0))
            axes.set(xticks=[], yticks=[])
            axes.grid(visible=False)
        row[0].set_ylabel(name)
    show(figure, alt=alt)


@style_context()
def plot_fixes(accuracies: Mapping[str, float]) -> None:
    """Show the test accuracy after one fix after the other, as bars. accuracies: in %, by the last fix."""
    names, values = list(accuracies), list(accuracies.values())
    figure, axes = plt.subplots(figsize=(6.4, 0.42 * len(names) + 0.7))
    axes.barh(range(len(names)), values, color=[PALETTE[1], *[PALETTE[0]] * (len(names) - 1)], height=0.6)
    for row, value in enumerate(values):
        axes.text(value + 0.5, row, f"{value:.1f}", va="center")
    axes.set(
        yticks=range(len(names)), yticklabels=names, xlabel="test accuracy in %", xlim=(0, max(values) + 8)
    )
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    bars = "; ".join(f"{name}: {value:.0f}" for name, value in accuracies.items())
    show(figure, alt=f"Bars of the test accuracy in percent, one fix more in each. {bars}.")

"""Figures and widgets for the notebooks: one style, alt text for every picture, comparable output."""

import base64
import html
import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn
from IPython.display import display
from ipywidgets import DOMWidget
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

CSS_DPI = 96  # a browser's pixels to the inch: points on the page are then points in the figure
SHARPNESS = 2  # picture pixels to a browser's pixel, for dense screens and projectors
PALETTE = seaborn.color_palette("colorblind").as_hex()
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
NO_GLYPH = r"Glyph \d+ |Matplotlib currently does not support"  # what matplotlib warns of


def style(projector: bool = False) -> None:
    """Set the course's matplotlib style; importing this module does it once.

    projector: letters of at least 16 pt and thicker lines, for the last row; otherwise at least 9 pt.
    """
    large, small, line = (18, 16, 3.5) if projector else (10, 9, 1.8)
    seaborn.set_theme(style="whitegrid", palette=PALETTE)
    plt.rcParams.update(dict.fromkeys(("font.size", "axes.labelsize"), large))
    plt.rcParams.update(dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), small))
    plt.rcParams.update({
        "axes.titlesize": large + 1, "figure.titlesize": large + 1, "legend.title_fontsize": large,
        "lines.linewidth": line, "lines.markersize": 3 * line, "grid.linewidth": line / 3,
        "grid.color": "0.9", "axes.edgecolor": "0.6", "axes.spines.top": False, "axes.spines.right": False,
        "axes.axisbelow": True, "legend.frameon": False, "font.family": "DejaVu Sans",
        "figure.figsize": (9, 6) if projector else (6, 3.6), "figure.facecolor": "white",
        "figure.constrained_layout.use": True, "savefig.bbox": None,
    })  # fmt: skip


@contextmanager
def any_script() -> Iterator[None]:
    """Within the block a character that the font lacks is drawn as a box, without a warning on the page."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", NO_GLYPH, UserWarning)
        yield


def png(fig: Figure, dpi: int = CSS_DPI) -> bytes:
    """The figure as a PNG on white; it stays open, so that a widget can draw on it again."""
    buffer = io.BytesIO()
    with any_script():
        fig.savefig(buffer, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


def show(fig: Figure, *, alt: str) -> None:
    """Put the figure into the notebook with its alt text, and close it.

    alt: what a reader who cannot see the picture needs to know: its kind, its axes, what it shows.
    Raises ValueError for an alt text without words.
    """
    alt = _one_line(alt, "show(fig, alt=…) needs an alt text: say what the picture shows")
    width = round(fig.get_figwidth() * CSS_DPI)  # from the size in inches: the same under every matplotlib
    picture = base64.b64encode(_fewer_colours(png(fig, CSS_DPI * SHARPNESS))).decode("ascii")
    plt.close(fig)
    image = (
        f'<img alt="{html.escape(alt)}" width="{width}" style="max-width:100%;background:white" '
        f'src="data:image/png;base64,{picture}">'
    )
    display({"text/html": image, "text/plain": alt}, raw=True)


def show_widget(box: DOMWidget, text: str) -> None:
    """Put the widget into the notebook; a page that draws none, as a saved one, has "Widget: " and `text`.

    A widget's own text names its parts in a way that differs between ipywidgets 7 and 8; `text` does not.
    Raises ValueError for a text without words.
    """
    text = _one_line(text, "show_widget(box, text) needs a text: say what the widget lets one change and see")
    view = {"version_major": 2, "version_minor": 0, "model_id": box.model_id}
    display({WIDGET_VIEW: view, "text/plain": f"Widget: {text}"}, raw=True)


def heatmap(
    weights: Float[Any, "queries keys"],
    *,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a matrix of weights in colours that run from 0 to 1, whatever the matrix holds.

    queries, keys: the labels of the rows and of the columns; without them, positions from 0.
    The numbers stand in the cells up to 8 × 8. Without `ax`, a new figure of fitting size: `ax.figure`.
    Raises ValueError where the labels and the matrix differ in length.
    """
    values = np.asarray(weights.detach().cpu() if hasattr(weights, "detach") else weights, dtype=float)
    rows = [str(i) for i in range(values.shape[0])] if queries is None else list(queries)
    columns = [str(i) for i in range(values.shape[1])] if keys is None else list(keys)
    if values.shape != (len(rows), len(columns)):
        raise ValueError(
            f"{len(rows)} queries and {len(columns)} keys do not label a matrix of {values.shape}"
        )
    small = max(values.shape) <= 8
    if ax is None:
        cell = 0.6 if small else 0.32
        _, ax = plt.subplots(figsize=(cell * len(columns) + 2.2, cell * len(rows) + 1.4))
    seaborn.heatmap(
        values, vmin=0, vmax=1, cmap="Blues", square=True, ax=ax, xticklabels=columns, yticklabels=rows,
        linewidths=0.5, linecolor="0.9", cbar_kws={"label": "weight", "shrink": 0.8},
    )  # fmt: skip
    ax.set(xlabel="keys", ylabel="queries", title=title)
    _turn_labels(ax, slanted=max(map(len, columns)) > 3)
    if small:
        _print_values(ax, values)
    return ax


def _turn_labels(ax: Axes, slanted: bool) -> None:
    plt.setp(ax.get_yticklabels(), rotation=0)
    plt.setp(ax.get_xticklabels(), rotation=45 if slanted else 0, ha="right" if slanted else "center",
             rotation_mode="anchor")  # fmt: skip


def _print_values(ax: Axes, values: np.ndarray) -> None:
    size = plt.rcParams["xtick.labelsize"]
    for (row, column), value in np.ndenumerate(values):
        colour = "white" if value > 0.715 else "black"  # there both stand out by 4.5 to 1
        ax.text(column + 0.5, row + 0.5, f"{value:.2f}", ha="center", va="center", size=size, color=colour)


def _one_line(text: str, complaint: str) -> str:
    line = " ".join(text.split()) if isinstance(text, str) else ""
    if not line:
        raise ValueError(complaint)
    return line


def _fewer_colours(picture: bytes) -> bytes:
    """The same PNG in at most 256 colours: a third of the size, so that a notebook stays below 1 MB."""
    buffer = io.BytesIO()
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(buffer, format="png", optimize=True)
    return min(buffer.getvalue(), picture, key=len)


style()

"""Figures and widgets for the notebooks: pictures that every page shows, with alt text, and heatmaps."""

import base64
import html
import io
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
from anywidget._util import get_repr_metadata  # there is no public way to ask for it
from IPython.display import display
from ipywidgets import DOMWidget
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from course_lib.viz.style import style_context

CSS_DPI = 96  # a browser's pixels to the inch: points on the page are then points in the figure
SHARPNESS = 2  # picture pixels to a browser's pixel, for dense screens and projectors
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
NO_GLYPH = r"Glyph \d+ |Matplotlib currently does not support"  # what matplotlib warns of


@contextmanager
def any_script() -> Iterator[None]:
    """Within the block a character that the font lacks is drawn as a box, without a warning on the page."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", NO_GLYPH, UserWarning)
        yield


def png(fig: Figure, dpi: int | float = CSS_DPI) -> bytes:
    """The figure as a PNG on white; it stays open, so that a widget can draw on it again."""
    buffer = io.BytesIO()
    with any_script():
        fig.savefig(buffer, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


def show(fig: Figure, *, alt: str) -> None:
    """Display the figure in the notebook with its alt text, and close it.

    alt: what a reader who cannot see the picture needs to know: its kind, its axes, what it shows.
    Raises ValueError for an alt text without words.
    """
    alt = _one_line(alt, "show(fig, alt=…) needs an alt text: say what the picture shows")
    picture = png(fig, CSS_DPI * SHARPNESS)
    plt.close(fig)
    _display({"text/plain": alt}, picture)


def picture(module: str, name: str, says: str) -> Callable[[], None]:
    """A function that displays a diagram that never changes, with its alt text.

    module: the `__file__` of a module; the folder `pictures` beside it has the diagram twice: `name.svg`, its
    source, whose `<desc>` is the alt text, and `name.png`, the same at two pixels to one of a browser.
    says: the docstring of the function.
    """
    file = Path(module).parent / "pictures" / name

    def diagram() -> None:
        alt = ElementTree.parse(file.with_suffix(".svg")).findtext("{*}desc", "")
        bundle = {"text/plain": _one_line(alt, f"{file}.svg needs a <desc>: say what the picture shows")}
        _display(bundle, file.with_suffix(".png").read_bytes())

    diagram.__doc__, diagram.__name__ = says, f"diagram_{name}"
    return diagram


def show_widget(box: DOMWidget, text: str, picture: bytes | None = None) -> None:
    """Display the widget in the notebook; a page that draws no widgets, such as GitHub's, shows the picture.

    text: what the widget lets one change and see. A widget's own text names its parts in a way that differs
    between ipywidgets 7 and 8; this one does not.
    picture: a PNG of the widget as it is now; its resolution (dpi) gives the width on the page.
    Raises ValueError for a text without words.
    """
    text = _one_line(text, "show_widget(box, text) needs a text: say what the widget lets one change and see")
    view = {"version_major": 2, "version_minor": 0, "model_id": box.model_id}
    bundle = {WIDGET_VIEW: view, "text/plain": f"Widget: {text}"}
    metadata = get_repr_metadata()  # where Colab finds anywidget; empty elsewhere
    if picture is None:
        display(bundle, raw=True, metadata=metadata)
    else:
        _display(bundle, picture, metadata)


def _display(
    bundle: dict[str, Any], picture: bytes, metadata: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Display a bundle with a picture, then its text/plain as alt text, for screen readers alone.

    The picture is `image/png`, since an HTML image with a data URI does not survive a page that sanitizes its
    HTML. Such a bundle has no place for an alt text that JupyterLab or nbconvert would read, so a second
    output names a picture without content: an `<abbr>` with a title. Of the ways tried (aria-label, hidden
    by CSS, <details>), it is the only one whose text stays in the accessibility tree in JupyterLab, trusted
    or not, and in nbconvert's pages, sanitized or not, while nothing of it is seen in any of them: every
    sanitizer keeps this element and its title, but may drop role, aria-label, style, and class. The hair
    space gives it a size, since a screen reader may skip what has none; without the style, a browser draws
    one dot below it.
    """
    small, width = _fewer_colours(picture)
    data = base64.b64encode(small).decode("ascii")
    display({**bundle, "image/png": data}, raw=True, metadata={**metadata, "image/png": {"width": width}})
    alt = html.escape(bundle["text/plain"])
    element = f'<abbr role="img" style="text-decoration: none" title="{alt}">&hairsp;</abbr>'
    display({"text/html": element}, raw=True)


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
    Up to 8 × 8, the cells show the numbers. Without `ax`, a new figure of fitting size: `ax.figure`.
    Raises ValueError where the labels and the matrix differ in length.
    """
    values = np.asarray(weights.detach().cpu() if hasattr(weights, "detach") else weights, dtype=float)
    rows = [str(i) for i in range(values.shape[0])] if queries is None else list(queries)
    columns = [str(i) for i in range(values.shape[1])] if keys is None else list(keys)
    if values.shape != (len(rows), len(columns)):
        raise ValueError(
            f"{len(rows)} queries and {len(columns)} keys do not label a matrix of {values.shape}"
        )
    with style_context() if ax is None else nullcontext():
        import seaborn  # takes most of a second: only where a heatmap is drawn

        small = max(values.shape) <= 8
        if ax is None:
            cell = 0.6 if small else 0.32
            _, ax = plt.subplots(figsize=(cell * len(columns) + 2.2, cell * len(rows) + 1.4))
        seaborn.heatmap(
            values, vmin=0, vmax=1, cmap="Blues", square=True, ax=ax, xticklabels=columns, yticklabels=rows,
            linewidths=0.5, linecolor="0.9", cbar_kws={"label": "weight", "shrink": 0.8},
        )  # fmt: skip
        ax.set(xlabel="keys", ylabel="queries", title=title)
        turned = {"rotation": 45, "ha": "right"} if max(map(len, columns)) > 3 else {"rotation": 0}
        plt.setp(ax.get_xticklabels(), **turned, rotation_mode="anchor")
        plt.setp(ax.get_yticklabels(), rotation=0)
        if small:
            _print_values(ax, values)
        return ax


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


def _fewer_colours(picture: bytes) -> tuple[bytes, int]:
    """The PNG in at most 256 colours, so that a notebook stays below 1 MB, and its width in CSS pixels."""
    image = Image.open(io.BytesIO(picture))
    dpi, buffer = image.info["dpi"], io.BytesIO()
    few = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(buffer, format="png", optimize=True, dpi=dpi)
    return min(buffer.getvalue(), picture, key=len), round(image.width * CSS_DPI / dpi[0])

"""The look of the course's figures: one palette, one set of matplotlib settings, in two sizes.

Importing this changes nothing. A notebook calls `use_style()` once, in its setup cell; what the library
draws by itself, such as the widgets, is drawn inside `style_context()` and looks the same without that call.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import matplotlib as mpl
from cycler import cycler

# Seaborn's "colorblind" palette, with three darker colors: on white, a line must stand out by 3 to 1.
# Copies of seaborn's values, as in its "whitegrid" style below: importing seaborn takes most of a second.
PALETTE = ["#0173b2", "#cc8405", "#029e73", "#d55e00", "#cc78bc", "#be885b", "#fbafe4", "#949494", "#ece133",
           "#4a9cca"]  # fmt: skip
WHITEGRID = {
    **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 1.25),
    **dict.fromkeys(("xtick.major.size", "ytick.major.size"), 6.0),
    **dict.fromkeys(("xtick.minor.size", "ytick.minor.size"), 4.0),
    **dict.fromkeys(("xtick.minor.width", "ytick.minor.width", "patch.linewidth"), 1.0),
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), ".15"),
    **dict.fromkeys(("xtick.bottom", "xtick.top", "ytick.left", "ytick.right"), False),
    "axes.grid": True, "axes.facecolor": "white", "grid.linestyle": "-", "lines.solid_capstyle": "round",
    "patch.edgecolor": "w", "patch.force_edgecolor": True,
}  # fmt: skip
# Settings of a machine and its windows. All others are set, for a user's own may need LaTeX.
THEIRS = (
    "animation", "backend", "date", "docstring", "figure.dpi", "figure.hooks", "figure.max", "figure.raise",
    "interactive", "keymap", "macosx", "pdf", "pgf", "ps", "savefig.directory", "svg", "timezone", "tk",
    "toolbar", "webagg",
)  # fmt: skip
PROJECTED_FONT_SIZE = 18  # in points; ordinary figures have 10


def use_style(projector: bool = False) -> None:
    """Set the course's matplotlib style for every figure made from now on, whatever was set before.

    projector: text of at least 16 pt and thicker lines, readable from the last row; otherwise at least 9 pt.
    """
    mpl.rcParams.update(_settings(projector))


@contextmanager
def style_context(projector: bool | None = None) -> Iterator[None]:
    """Within the block or the decorated function the course's style is set; afterwards, what was set before.

    projector: as in `use_style`; None keeps the size in force, so that `use_style(projector=True)` reaches
    the library's own figures too.
    """
    settings = _settings(is_projected() if projector is None else projector)
    now = dict.__getitem__  # matplotlib's own takes longer
    to_set = {name: value for name, value in settings.items() if now(mpl.rcParams, name) != value}
    if not to_set:
        yield  # saving and restoring everything would take milliseconds of every redraw
        return
    with mpl.rc_context(to_set):
        yield


def is_projected() -> bool:
    """Whether the settings in force are those for the projector: matplotlib's own are the only record."""
    return mpl.rcParams["font.size"] >= PROJECTED_FONT_SIZE


@cache
def _settings(projector: bool) -> Mapping[str, Any]:
    large, small, line = (PROJECTED_FONT_SIZE, 16, 3.5) if projector else (10, 9, 1.8)
    return dict(mpl.RcParams({
        **{name: value for name, value in mpl.rcParamsDefault.items() if not name.startswith(THEIRS)},
        **WHITEGRID,
        **dict.fromkeys(("font.size", "axes.labelsize", "legend.title_fontsize"), large),
        **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), small),
        **dict.fromkeys(("axes.titlesize", "figure.titlesize"), large + 1),
        "axes.prop_cycle": cycler(color=PALETTE),
        "lines.linewidth": line, "lines.markersize": 3 * line, "grid.linewidth": line / 3,
        "grid.color": "0.9", "axes.edgecolor": "0.6", "axes.spines.top": False, "axes.spines.right": False,
        "axes.axisbelow": True, "legend.frameon": False, "font.family": "DejaVu Sans",
        "figure.figsize": (9, 6) if projector else (6, 3.6), "figure.facecolor": "white",
        "figure.constrained_layout.use": True, "savefig.bbox": None,
    }))  # fmt: skip

"""The look of figures: legible, safe for the color-blind, and set only where it is asked for."""

import subprocess
import sys

import matplotlib as mpl
import pytest
import seaborn
from matplotlib.colors import to_rgb

from course_lib.chapters.ch00_why_attention import lookup_explorer
from course_lib.viz.style import PALETTE, WHITEGRID, is_projected, style_context, use_style

SIZES = ("font.size", "axes.labelsize", "axes.titlesize", "xtick.labelsize", "ytick.labelsize",
         "legend.fontsize", "legend.title_fontsize", "figure.titlesize")  # fmt: skip


@pytest.fixture(autouse=True)
def settings_of_matplotlib():
    with mpl.rc_context():
        yield


def test_style_is_legible_and_colour_blind_safe() -> None:
    use_style()
    assert min(mpl.rcParams[size] for size in SIZES) >= 9 and not is_projected()
    thin = mpl.rcParams["lines.linewidth"]
    use_style(projector=True)
    assert min(mpl.rcParams[size] for size in SIZES) >= 16 and is_projected()
    assert mpl.rcParams["lines.linewidth"] > 1.5 * thin


def test_palette_and_style_are_those_of_seaborn() -> None:
    theirs = seaborn.color_palette("colorblind").as_hex()
    assert {i for i, (our, their) in enumerate(zip(PALETTE, theirs, strict=True)) if our != their} == {
        1,
        5,
        9,
    }
    look = {**seaborn.plotting_context("notebook"), **seaborn.axes_style("whitegrid")}
    use_style()
    own = {"font.family", "font.sans-serif", "font.size", "grid.color", "grid.linewidth", "axes.edgecolor",
           "axes.labelsize", "axes.titlesize", "axes.spines.right", "axes.spines.top", "legend.fontsize",
           "legend.title_fontsize", "lines.linewidth", "lines.markersize", "xtick.labelsize",
           "ytick.labelsize", "image.cmap"}  # fmt: skip
    assert own < look.keys() and WHITEGRID.keys() < look.keys() - own
    assert {name: mpl.rcParams[name] for name in look.keys() - own} == {
        name: mpl.RcParams({name: look[name]})[name] for name in look.keys() - own
    }
    # A line must stand out from white by 3 to 1, which those three do not in seaborn's palette.
    assert all(contrast_with_white(theirs[i]) < 3 <= contrast_with_white(PALETTE[i]) for i in (1, 5, 9))


def contrast_with_white(color: str) -> float:
    """Contrast ratio as WCAG defines it."""
    channels = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    red, green, blue = channels
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)


@pytest.mark.parametrize("projector", [False, True])
def test_a_block_has_the_style_and_leaves_nothing_behind(projector: bool) -> None:
    before = dict(mpl.rcParams)
    with pytest.raises(KeyError), style_context(projector):
        inside = dict(mpl.rcParams)
        raise KeyError
    assert dict(mpl.rcParams) == before != inside
    use_style(projector)
    assert dict(mpl.rcParams) == inside


def test_a_block_keeps_the_size_in_force() -> None:
    for projector in (True, False):
        use_style(projector)
        with mpl.rc_context({"axes.grid": False}), style_context():
            assert is_projected() == projector and mpl.rcParams["axes.grid"]


def test_importing_the_library_sets_nothing() -> None:
    code = """import sys
import matplotlib.pyplot as plt
before = dict(plt.rcParams)
import course_lib.viz.figures, course_lib.chapters.gallery_page
from course_lib.widgets import *
assert "seaborn" not in sys.modules  # it takes most of a second: only a heatmap imports it
changed = [key for key, value in plt.rcParams.items() if before[key] != value]
assert not changed, changed
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "own",
    [
        {"text.usetex": True},  # needs LaTeX, which is not there
        {"path.sketch": (1, 100, 2), "font.weight": "bold", "lines.linestyle": "--", "axes.xmargin": 0.3},
        {"figure.autolayout": True, "xtick.direction": "in", "savefig.transparent": True, "savefig.dpi": 50},
        dict(mpl.style.library["seaborn-v0_8-talk"]),
    ],
    ids=lambda own: next(iter(own)),
)
def test_a_users_own_settings_change_no_widget_and_come_back(own) -> None:
    expected = lookup_explorer().snapshot()
    with mpl.rc_context(own):
        assert lookup_explorer().snapshot() == expected
        assert all(mpl.rcParams[name] == mpl.RcParams(own)[name] for name in own)
        use_style()
        assert not mpl.rcParams["text.usetex"] and mpl.rcParams["font.weight"] == "normal"


def test_what_belongs_to_the_machine_is_left_alone() -> None:
    with mpl.rc_context({"figure.dpi": 77, "timezone": "Asia/Tokyo", "keymap.save": ["q"]}):
        use_style()
        assert mpl.rcParams["figure.dpi"] == 77 and mpl.rcParams["timezone"] == "Asia/Tokyo"
        assert mpl.rcParams["keymap.save"] == ["q"]

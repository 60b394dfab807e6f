"""The look of figures: legible, safe for the color-blind, and set only where it is asked for."""

import subprocess
import sys

import matplotlib as mpl
import pytest
import seaborn

from course_lib.viz.style import PALETTE, is_projected, style_context, use_style

SIZES = ("font.size", "axes.labelsize", "axes.titlesize", "xtick.labelsize", "ytick.labelsize",
         "legend.fontsize", "legend.title_fontsize", "figure.titlesize")  # fmt: skip


@pytest.fixture(autouse=True)
def settings_of_matplotlib():
    with mpl.rc_context():
        yield


def test_style_is_legible_and_colour_blind_safe() -> None:
    use_style()
    assert min(mpl.rcParams[size] for size in SIZES) >= 9 and not is_projected()
    assert seaborn.color_palette().as_hex() == PALETTE
    thin = mpl.rcParams["lines.linewidth"]
    use_style(projector=True)
    assert min(mpl.rcParams[size] for size in SIZES) >= 16 and is_projected()
    assert mpl.rcParams["lines.linewidth"] > 1.5 * thin


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
    code = """import matplotlib.pyplot as plt
before = dict(plt.rcParams)
import course_lib.viz.course_map, course_lib.viz.figures, course_lib.widgets.gallery_page
from course_lib.widgets import *
changed = [key for key, value in plt.rcParams.items() if before[key] != value]
assert not changed, changed
"""
    subprocess.run([sys.executable, "-c", code], check=True)

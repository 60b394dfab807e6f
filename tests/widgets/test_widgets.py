"""Widgets: every control moves the picture and the text, and nothing is left behind."""

import html
import io
import math
import re
import subprocess
import sys
import warnings

import ipywidgets
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from helpers.explorers import WIDGETS, another_value
from matplotlib.figure import Figure
from PIL import Image

from course_lib import widgets
from course_lib.chapters import ch01_softmax as ch01
from course_lib.chapters import ch06_translation as ch06
from course_lib.chapters.ch01_softmax import softmax_widget as softmax
from course_lib.viz import figures as show
from course_lib.widgets import explorer, snapshot

HOSTILE = (
    "<b>x</b><script>alert(1)</script> & &lt;",
    "$x^2$ $\\frac{ \\n _ ^ %",
    "\u8336 \u5b57 \U0001f600 \u0633\u0644\u0627\u0645 \u05e9\u05dc\u05d5\u05dd \u0939\u093f",
    "a\x00b \x1b[31m \u202e \u200d \ue000",
    " " * 50,
    "word " * 3000,
    "half \ud83d of a character",
)


@pytest.fixture
def projecting():
    with mpl.rc_context():
        widgets.projector()
        yield


@pytest.mark.slow
@pytest.mark.parametrize("make", WIDGETS)
def test_each_control_moves_the_picture_and_the_text(make) -> None:
    """Moved back, the first one draws the same picture again; others may have taken a control along."""
    widget = make()
    for number, name in enumerate(list(widget.controls)):
        control = widget.controls[name]
        picture, text, first = widget.image.value, widget.text.value, control.value
        control.value = another_value(control)
        assert widget.image.value != picture, name
        assert widget.text.value != text, name
        if number == 0:
            control.value = first
            assert widget.image.value == picture
        widget = make()


@pytest.mark.parametrize("make", WIDGETS)
def test_as_it_is_made_it_is_labelled_and_leaves_nothing_behind(make) -> None:
    """A slider that begins where it ends cannot be drawn by a browser, not even while it is switched off."""
    settings, figures = dict(mpl.rcParams), plt.get_fignums()
    widget = make()
    widget.redraw()
    assert plt.get_fignums() == figures and dict(mpl.rcParams) == settings
    for name, control in widget.controls.items():
        assert "Slider" not in type(control).__name__ or control.style.description_width == "initial", name
        assert not hasattr(control, "min") or control.min < control.max, name
        assert len(getattr(control, "options", "ab")) > 1, name
    picture = Image.open(io.BytesIO(widget.image.value))
    assert picture.width == pytest.approx(int(widget.image.width) * explorer.SHARPNESS, abs=2)
    assert widget.image.layout.max_width == "100%"


@pytest.mark.slow
@pytest.mark.parametrize("make", WIDGETS)
def test_any_text_is_shown_as_text(make) -> None:
    """No markup, no formulas, no warnings; as the only words, and after those that are there."""
    widget = make()
    fields = [c for c in widget.controls.values() if isinstance(c, ipywidgets.Text | ipywidgets.Textarea)]
    for field in fields:
        first = field.value
        for text in (*HOSTILE, *(f"{first} {typed}" for typed in HOSTILE)):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                field.value = text
            widget.text.value.encode()  # as the message to the browser is
            assert ("lone surrogate, U+D83D" in widget.text.value) == ("\ud83d" in text), text
            assert "<b>" not in widget.text.value and "<script" not in widget.text.value, text
            shown = [t for t in widget.figure.findobj(mpl.text.Text) if t.get_text().count("$") > 1]
            assert not any(one.get_parse_math() for one in shown), text
        field.value = first


@pytest.mark.parametrize("make", WIDGETS)
def test_a_cell_that_ends_in_a_widget_shows_it_with_words(make, displayed) -> None:
    make()._ipython_display_()
    bundle, alt = displayed
    assert list(bundle) == [show.WIDGET_VIEW, "text/plain", "image/png", "metadata"]
    assert re.match(r"Widget: [^,.]{0,60}(slider|menu|box|field|button)", bundle["text/plain"])
    assert html.escape(bundle["text/plain"]) in alt["text/html"]
    assert len(bundle["image/png"]) < 100_000


def test_the_package_imports_a_widget_when_it_is_asked_for() -> None:
    code = """import sys
from course_lib import widgets
assert not {"torch", "matplotlib", "ipywidgets"} & set(sys.modules), "not lazy"
assert set(widgets.__all__) <= set(dir(widgets))
from course_lib.widgets import bmm_explorer
assert widgets.bmm_explorer is bmm_explorer and "course_lib.widgets.model_view" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="'course_lib.widgets' has no attribute 'softmaxx'"):
        _ = widgets.softmaxx


def test_a_widget_looks_the_same_whatever_style_is_set() -> None:
    """Also after a move, which makes new ticks and texts."""
    pictures = []
    for settings in ({}, {"font.size": 7, "xtick.labelsize": 5, "axes.facecolor": "black"}):
        with mpl.rc_context(settings):
            widget = ch06.schedule_explorer()
            control = next(iter(widget.controls.values()))
            control.value = another_value(control)
            pictures.append((widget.image.value, widget.snapshot()))
    assert pictures[0] == pictures[1]


def test_a_snapshot_has_the_settings_and_the_line_around_the_picture() -> None:
    widget = ch01.softmax_explorer()
    whole, picture = (Image.open(io.BytesIO(png)) for png in (widget.snapshot(), widget.image.value))
    assert whole.width == picture.width and whole.height > picture.height + 40
    assert round(whole.width * show.CSS_DPI / whole.info["dpi"][0]) == int(widget.image.width)
    settings = [snapshot.setting(control) for control in widget.controls.values()]
    assert "temperature: 1" in settings and any(one.endswith(": on") for one in settings)
    before, widget.controls["query"].value = widget.snapshot(), 3
    assert widget.snapshot() != before
    assert "…" in snapshot.setting(ipywidgets.Text("word " * 100, description="text"))
    first = ipywidgets.SelectionSlider(options=["mean", 1], value="mean", description="head")
    assert snapshot.setting(first) == "head: mean"


@pytest.mark.parametrize("make", WIDGETS)
def test_a_projected_widget_is_larger(make, projecting) -> None:
    widget = make()
    assert int(widget.image.width) == round(explorer.PROJECTED * 7 * show.CSS_DPI)
    assert "course-projected" in widget.box._dom_classes
    labels = widget.figure.findobj(mpl.text.Text)
    assert min(label.get_fontsize() for label in labels if label.get_text()) >= 16


def test_the_picture_equals_a_whole_drawing() -> None:
    """Drawing only what moves comes to the same as drawing everything."""
    widget = ch01.softmax_explorer()
    widget.controls["d"].value = 1024
    widget.controls["scaled"].value = False
    for artist in widget.figure.findobj(lambda artist: artist.get_animated()):
        artist.set_animated(False)
    mine = np.asarray(Image.open(io.BytesIO(widget.image.value)))
    whole = np.asarray(Image.open(io.BytesIO(explorer.Canvas(widget.figure).png())))
    assert (mine != whole).mean() < 0.003  # a bar may lie over the axis line instead of under it


def test_without_moving_parts_the_whole_figure_is_drawn_each_time() -> None:
    def picture(figure: Figure):
        axes = figure.subplots()

        def update(height):
            axes.clear()
            axes.plot([0, height])
            axes.set_title(f"up to {height} < 9")
            return f"up to {height} < 9"

        return update

    widget = widgets.Explorer(
        {"height": explorer.slider(ipywidgets.IntSlider, "height", value=1)}, picture, "A line."
    )
    before = widget.image.value
    widget.controls["height"].value = 5
    assert widget.image.value != before
    assert "up to 5 &lt; 9" in widget.text.value


def test_softmax_numbers() -> None:
    """The text says what was computed: with T = √d the unscaled weights are the scaled ones at T = 1."""
    widget = ch01.softmax_explorer()
    widget.controls["d"].value = 256
    scaled = widget.text.value
    weights = (softmax.dot_products(256, 1) / 16).softmax(dim=-1)
    assert f"largest weight {weights.max():.2f}, " in scaled
    assert f"entropy {torch.special.entr(weights).sum():.2f} of {math.log(8):.2f}" in scaled
    unscaled = softmax.softmax_picture(Figure(layout="none"))(temperature=16.0, d=256, query=1, scaled=False)
    assert f"largest weight {weights.max():.2f}, " in unscaled


def test_softmax_shows_the_scores_before_and_after_scaling_and_the_weights_from_0_to_1() -> None:
    figure = Figure(layout="none")
    softmax.softmax_picture(figure)(temperature=2.0, d=64, query=3, scaled=True)
    scores, weights, _ = figure.axes
    products = softmax.dot_products(64, 3)
    heights = torch.tensor([bar.get_height() for bar in scores.patches])
    assert torch.allclose(heights, torch.cat([products / 16, products]))
    drawn = torch.tensor([bar.get_height() for bar in weights.patches])
    assert torch.allclose(drawn, (products / 16).softmax(dim=-1))
    assert weights.get_yticks()[0] == 0 and weights.get_yticks()[-1] == 1


@pytest.mark.parametrize(
    ("largest", "gradient", "said"),
    [
        (0.99, 0.001, "almost no gradient"),
        (0.13, 0.33, "nearly uniform"),
        (0.9, 0.2, "most of"),
        (0.4, 0.4, "still attends"),
    ],
)
def test_the_softmax_text_says_what_is_seen(largest: float, gradient: float, said: str) -> None:
    assert said in softmax._verdict(largest, gradient)

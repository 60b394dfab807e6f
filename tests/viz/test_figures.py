"""Figures and widgets as they reach the notebook."""

import base64
import io
from collections.abc import Iterator

import ipywidgets
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from PIL import Image

from course_lib.viz import figures as module
from course_lib.viz.figures import heatmap, png, show, show_widget
from course_lib.viz.style import style_context


@pytest.fixture(autouse=True)
def course_style() -> Iterator[None]:
    with style_context():
        yield
    plt.close("all")


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """What was handed to the notebook: the representations of each output, and the width of a picture."""
    bundles: list[dict] = []

    def display(bundle: dict, raw: bool, metadata: dict | None = None) -> None:
        bundles.append({**bundle, **(metadata or {}).get("image/png", {})})

    monkeypatch.setattr(module, "display", display)
    return bundles


def a_figure(points: int = 50) -> plt.Figure:
    fig, ax = plt.subplots()
    ax.plot(np.sin(np.linspace(0, 6, points)))
    return fig


def image_in(bundle: dict) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(bundle["image/png"])))


def test_show_displays_a_picture_and_then_its_alt_text(displayed: list[dict]) -> None:
    fig = a_figure()
    show(fig, alt='A "sine",\n  x < 6 & y')
    picture, alt = displayed
    assert list(picture) == ["text/plain", "image/png", "width"]
    assert picture["text/plain"] == 'A "sine", x < 6 & y'
    name = 'title="A &quot;sine&quot;, x &lt; 6 &amp; y"'
    assert alt == {"text/html": f'<abbr role="img" style="text-decoration: none" {name}>&hairsp;</abbr>'}
    assert not plt.fignum_exists(fig.number)


def test_show_is_sharp_small_and_on_white(displayed: list[dict]) -> None:
    fig = a_figure()
    fig.patch.set_alpha(0)  # a transparent figure would vanish on a dark page
    show(fig, alt="A sine.")
    picture = image_in(displayed[0])
    assert picture.width == 2 * displayed[0]["width"] == 2 * round(96 * plt.rcParams["figure.figsize"][0])
    assert picture.convert("RGBA").getpixel((0, 0)) == (255, 255, 255, 255)
    assert len(displayed[0]["image/png"]) < 60_000


def test_width_is_the_figures_size_whatever_is_drawn(displayed: list[dict]) -> None:
    for label in ("y", "a long label " * 9):
        fig = a_figure()
        fig.axes[0].set(ylabel=label, title=label)
        show(fig, alt="A sine.")
    assert displayed[0]["width"] == displayed[2]["width"] == 576


@pytest.mark.parametrize("alt", ["", " \n\t"])
def test_words_are_required(alt: str, displayed: list[dict]) -> None:
    with pytest.raises(ValueError, match="needs an alt text"):
        show(a_figure(), alt=alt)
    with pytest.raises(ValueError, match="needs a text"):
        show_widget(ipywidgets.VBox([]), alt)
    assert displayed == []


def test_png_is_the_same_each_time_and_leaves_the_figure_open() -> None:
    fig = a_figure()
    first = png(fig)
    assert first == png(fig) and first.startswith(b"\x89PNG")
    assert b"atplotlib" not in first
    assert plt.fignum_exists(fig.number)
    assert Image.open(io.BytesIO(png(fig, dpi=192))).width == 2 * Image.open(io.BytesIO(first)).width


def test_widget_has_fixed_words(displayed: list[dict]) -> None:
    box = ipywidgets.VBox([ipywidgets.FloatSlider(description="T")])
    show_widget(box, "the temperature T; the weights\nas bars.")
    (bundle,) = displayed
    assert bundle["text/plain"] == "Widget: the temperature T; the weights as bars."
    assert bundle[module.WIDGET_VIEW]["model_id"] == box.model_id


def test_widget_brings_its_picture_and_alt_text(displayed: list[dict]) -> None:
    box = ipywidgets.VBox([])
    show_widget(box, "one & all.", png(a_figure(), dpi=144))
    bundle, alt = displayed
    assert bundle[module.WIDGET_VIEW]["model_id"] == box.model_id and bundle["width"] == 576
    assert image_in(bundle).width == 864
    assert 'title="Widget: one &amp; all."' in alt["text/html"]


def test_heatmap_keeps_its_scale_and_prints_small_matrices() -> None:
    weights = torch.full((2, 3), 0.1, requires_grad=True)
    ax = heatmap(weights, queries=["I", "am"], keys=["yo", "soy", "."], title="weights")
    assert ax.collections[0].get_clim() == (0, 1)
    assert [text.get_text() for text in ax.texts] == ["0.10"] * 6
    assert [label.get_text() for label in ax.get_xticklabels()] == ["yo", "soy", "."]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("keys", "queries", "weights")


def test_heatmap_of_a_large_matrix_has_no_numbers() -> None:
    assert len(heatmap(np.eye(8)).texts) == 64
    assert len(heatmap(np.eye(9)).texts) == 0


def test_heatmap_turns_long_labels_only() -> None:
    short = heatmap(np.eye(2), keys=["a", "to"])
    long = heatmap(np.eye(2), keys=["a", "house"])
    assert {label.get_rotation() for label in short.get_xticklabels()} == {0}
    assert {label.get_rotation() for label in long.get_xticklabels()} == {45}


def test_a_new_heatmap_has_the_style_of_the_course() -> None:
    with mpl.rc_context(mpl.rcParamsDefault):
        assert heatmap(np.eye(2)).xaxis.get_ticklabels()[0].get_fontsize() == 9


def test_heatmap_draws_into_given_axes() -> None:
    fig, (left, right) = plt.subplots(1, 2)
    assert heatmap(np.eye(3), ax=right) is right
    assert not left.collections and right.figure is fig


def test_heatmap_refuses_labels_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"3 queries and 2 keys do not label a matrix of \(2, 2\)"):
        heatmap(np.eye(2), queries=["a", "b", "c"])


def test_numbers_stand_out_from_their_cells() -> None:
    """At least 4.3 to 1 by the measure of the Web Content Accessibility Guidelines."""

    def luminance(colour: tuple) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for start in np.linspace(0, 0.93, 16):
        values = np.linspace(start, start + 0.06, 8)[None]
        ax = heatmap(values)
        ax.collections[0].update_scalarmappable()
        for text, cell in zip(ax.texts, ax.collections[0].get_facecolor(), strict=True):
            dark, light = sorted((luminance(text.get_color()), luminance(cell[:3])))
            assert (light + 0.05) / (dark + 0.05) > 4.3, text.get_text()
        plt.close(ax.figure)

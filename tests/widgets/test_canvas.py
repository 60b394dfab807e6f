"""The canvas draws quickly what matplotlib draws slowly, to the same pixels."""

import io

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from course_lib.widgets import canvas
from course_lib.widgets.canvas import Canvas, encoded

LOOKS = (
    {"ha": "left", "va": "top", "color": "0.2"},
    {"ha": "right", "va": "baseline", "rotation": 90, "size": 14},
    {"ha": "center", "va": "center", "weight": "bold", "linespacing": 1.9, "color": (0.1, 0.4, 0.9)},
    {"ha": "center", "va": "bottom", "alpha": 0.5},
)


def figure_with_texts(animated: bool) -> tuple[Figure, list]:
    """Texts of several looks on a coloured ground, at places between the pixels."""
    figure = Figure(figsize=(5, 3), layout="none", dpi=120)
    axes = figure.add_axes((0, 0, 1, 1), facecolor="#ffe9c9")
    axes.plot([0, 1], [0, 1], linewidth=9)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    texts = [
        axes.text(0.11 + 0.2003 * i, 0.3 + 0.1507 * i, "Add\n0.17", animated=animated, **look)
        for i, look in enumerate(LOOKS)
    ]
    return figure, texts


def pixels_of(drawing: Canvas) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(drawing.png()))).astype(int)


def test_the_png_is_read_back() -> None:
    pixels = np.random.default_rng(0).integers(256, size=(7, 5, 4), dtype=np.uint8)
    read = Image.open(io.BytesIO(encoded(pixels)))
    assert read.mode == "RGBA" and read.size == (5, 7)
    assert np.array_equal(np.asarray(read), pixels)


def test_copied_texts_are_the_drawn_ones() -> None:
    figure, texts = figure_with_texts(animated=True)
    drawing = Canvas(figure)
    first = pixels_of(drawing)
    assert len(drawing.stamps.known) == len(texts)
    assert np.array_equal(pixels_of(drawing), first)  # now each is a copy
    whole = pixels_of(Canvas(figure_with_texts(animated=False)[0]))
    assert (first != whole).any(axis=-1).mean() < 0.0005 and np.abs(first - whole).max() <= 40


def test_what_a_text_looks_like_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """After each change the copy is that of a new drawing."""
    figure, (text, *_) = figure_with_texts(animated=True)
    drawing = Canvas(figure)
    for change in (
        {"text": "other"}, {"color": "red"}, {"weight": "bold"}, {"size": 20}, {"rotation": 30},
        {"alpha": 0.3}, {"position": (0.2, 0.6)}, {"position": (0.2004, 0.6)}, {"ha": "right"},
        {"visible": False},
    ):  # fmt: skip
        before = pixels_of(drawing)
        text.set(**change)
        after = pixels_of(drawing)
        assert not np.array_equal(after, before), change
        assert np.array_equal(pixels_of(Canvas(figure)), after), change


def test_a_text_that_the_figure_cuts_is_not_kept() -> None:
    figure, (text, *_) = figure_with_texts(animated=True)
    drawing = Canvas(figure)
    text.set(position=(-0.02, 0.5))
    cut = pixels_of(drawing)
    text.set(position=(0.48, 0.5))  # the same place between the pixels, 300 pixels to the right
    whole = pixels_of(drawing)
    text.set(position=(-0.02, 0.5))
    assert np.array_equal(pixels_of(drawing), cut)
    assert (whole[:, 288:] != cut[:, 288:]).any()
    assert np.array_equal(pixels_of(Canvas(figure)), cut)
    text.set(position=(float("nan"), 0.5))
    pixels_of(drawing)


def test_photographs_are_a_layer_of_their_own() -> None:
    figure = Figure(figsize=(4, 2), layout="none", dpi=100, facecolor="white")
    left, right = figure.add_axes((0, 0, 0.5, 1)), figure.add_axes((0.5, 0, 0.5, 1))
    right.imshow([[0.2, 0.9]], aspect="auto", cmap="RdBu")  # numbers, which follow a dark page
    drawing = Canvas(figure)
    drawing.png()
    assert drawing.photos() == b""
    left.imshow([[100]], aspect="auto", cmap="gray", vmin=0, vmax=255)
    left.axhline(0, color="red", linewidth=8)
    whole = pixels_of(Canvas(figure))
    drawing = Canvas(figure)
    drawing.png()
    layer = np.asarray(Image.open(io.BytesIO(drawing.photos())))
    assert (layer[:, :198, 3] == 255).all() and (layer[:, 202:, 3] == 0).all()
    assert np.array_equal(layer[:, :198], whole[:, :198])  # with the line across it


def test_no_more_stamps_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canvas, "MOST_STAMPS", 3)
    figure, (text, *_) = figure_with_texts(animated=True)
    drawing = Canvas(figure)
    for word in "abc":
        text.set_text(word)
        pixels = pixels_of(drawing)
        assert len(drawing.stamps.known) <= 3
        assert np.array_equal(pixels, pixels_of(Canvas(figure)))

"""What can be read, heard and operated by everyone, as far as a computer can judge it.

Contrast is the ratio of WCAG 2.2 (4.5 to 1 for text). The alt texts of the notebooks' figures are checked by
the lint (tests/cli/test_lint.py), the keyboard and the pages as a whole in tests/browser.
"""

import ast
import itertools
import re
from collections.abc import Iterator

import ipywidgets
import matplotlib as mpl
import numpy as np
import pytest
from helpers.contrast import contrast
from helpers.explorers import WIDGETS, another_value
from helpers.solutions import NOTEBOOKS, plain
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from course_lib.cli import notebook_io
from course_lib.cli.environment import ROOT
from course_lib.viz.figures import heatmap
from course_lib.viz.style import PALETTE, style_context
from course_lib.widgets import markup
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.layout import STYLE, AccessibleNames

LIMIT = 4.5
GRAPHICS = 3.0  # for lines, where 4.5 is for letters
SOURCES = sorted(path for kind in ("*.py", "*.js") for path in (ROOT / "course_lib").rglob(kind))
WRITES_TEXT = {"text", "annotate", "title", "set_title", "set_xlabel", "set_ylabel", "suptitle", "supxlabel"}
PAGES = {"light": "#ffffff", "JupyterLab, dark": "#111111", "Colab, dark": "#383838"}


def test_the_contrast_is_that_of_the_standard():
    assert contrast("black", "white") == pytest.approx(21)
    assert contrast("#777777", "white") == pytest.approx(4.48, abs=0.01)  # WCAG's own example of a failure
    assert contrast("white", "#767676") == pytest.approx(4.54, abs=0.01)


# ---- letters in figures


def pixels(figure: Figure) -> np.ndarray:
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3] / 255.0


def faint(figure: Figure) -> list[str]:
    """The texts of a figure that do not stand out from what is behind them."""
    moving = figure.findobj(lambda artist: artist.get_animated())
    for artist in moving:  # or the drawing would leave them out
        artist.set_animated(False)
    pixels(figure)  # places what is laid out only while drawing
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    places = [text.get_window_extent().extents for text in texts]
    alphas = [text.get_alpha() for text in texts]
    for text in texts:
        text.set_alpha(0.0)  # its box stays
    behind = pixels(figure)
    for text, alpha in zip(texts, alphas, strict=True):
        text.set_alpha(alpha)
    for artist in moving:
        artist.set_animated(True)
    found = [text for text, place in zip(texts, places, strict=True) if hidden(text, behind, place)]
    return [f"{text.get_text()!r} in {text.get_color()}" for text in found]


def hidden(text: Text, behind: np.ndarray, place: np.ndarray) -> bool:
    """Whether the letters are too much like a tenth of what is behind them, or more."""
    left, low, right, high = (max(0, round(edge)) for edge in place)
    ground = behind[len(behind) - high : len(behind) - low, left:right].reshape(-1, 3)
    return len(ground) > 0 and np.quantile(contrast(to_rgb(text.get_color()), ground), 0.1) < LIMIT


def states(make) -> Iterator:
    """The widget as it begins, and with one control after the other moved."""
    widget = make()
    yield widget
    for control in widget.controls.values():
        if len(getattr(control, "options", "ab")) > 1:  # another control may have left it one choice
            control.value = another_value(control)
            yield widget


@pytest.mark.slow
@pytest.mark.parametrize("make", WIDGETS)
def test_letters_and_lines_of_a_widget_stand_out_on_light_and_dark_pages(make):
    """The picture is white on every page; words below it have the page's colours, or both have their own."""
    for widget in states(make):
        assert faint(widget.figure) == [] and faint_lines(widget.figure) == []
        assert unreadable(widget.text.value) == []
        assert '<div role="status"' in widget.text.value  # which a screen reader says when it changes


def test_letters_too_faint_are_found():
    figure = Figure()
    figure.text(0.5, 0.5, "grey", color="0.5")
    figure.text(0.2, 0.2, "black")
    assert faint(figure) == ["'grey' in 0.5"]


def test_numbers_on_a_heatmap_stand_out_at_every_weight():
    for low in np.arange(0.0, 1.0, 0.08):
        weights = np.minimum(low + np.arange(8).reshape(2, 4) / 100, 1.0)
        assert faint(heatmap(weights).figure) == []


@pytest.mark.parametrize(
    "key", [key for key in mpl.rcParams if re.search(r"text\.color|labelcolor|tick\.color", key)]
)
def test_the_colours_of_the_style_stand_out(key):
    with style_context():
        colour = mpl.rcParams[key]
    assert colour in ("inherit", "auto", "None", None) or contrast(colour, "white") >= LIMIT


def colours_of_letters(source: str) -> Iterator[str]:
    """The colours that code writes with, as far as they appear as constants or as PALETTE[number]."""
    for call in ast.walk(ast.parse(source)):
        name = getattr(getattr(call, "func", None), "attr", None)
        if isinstance(call, ast.Call) and name in WRITES_TEXT:
            for keyword in call.keywords:
                if keyword.arg in ("color", "c"):
                    yield from _constants(keyword.value)


def _constants(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "PALETTE":
        yield PALETTE[ast.literal_eval(node.slice)]


def test_figures_of_notebooks_write_in_colours_that_stand_out_from_white():
    cells = (cell for path in NOTEBOOKS for cell in notebook_io.Notebook.load(path).of_type("code"))
    for where, cell in cells:
        for colour in colours_of_letters(plain(cell.source)):
            on_dark = contrast(colour, "black") > 15  # as in a dark cell, checked where it is drawn
            assert on_dark or contrast(colour, "white") >= LIMIT, (where, colour)


def test_a_faint_colour_in_code_is_found():
    assert list(colours_of_letters("ax.text(0, 0, 'a', color=PALETTE[8])")) == [PALETTE[8]]
    assert contrast(PALETTE[8], "white") < LIMIT < contrast(PALETTE[0], "white")


# ---- letters beside figures


def declared(style: str) -> dict[str, str]:
    pairs = (part.partition(":") for part in style.split(";") if ":" in part)
    return {name.strip(): value.strip() for name, _, value in pairs}


def css(value: str):
    numbers = re.fullmatch(r"rgb\((\d+), (\d+), (\d+)\)", value)
    if numbers:
        return tuple(int(number) / 255 for number in numbers.groups())
    return to_rgb(value)


def unreadable(html: str) -> list[str]:
    """The styles whose letters could vanish in a light or in a dark page.

    What sets no colour has the page's own. What sets one colour must set both.
    """
    found = []
    for style in re.findall(r'style="([^"]*)"', html):
        rules = declared(style)
        letters, ground = rules.get("color"), rules.get("background", rules.get("background-color"))
        if letters and ground:
            fine = contrast(css(letters), css(ground)) >= LIMIT
        elif letters:
            fine = all(contrast(css(letters), page) >= LIMIT for page in PAGES.values())
        else:
            fine = not ground
        found += [] if fine else [style]
    return found


@pytest.mark.parametrize("probability", [0.0, 0.3, 0.5, 0.8, 1.0])
def test_shaded_words_can_be_read(probability):
    assert unreadable(markup.shaded("word", probability, framed=True)) == []


def test_words_that_a_page_could_swallow_are_found():
    assert unreadable('<b style="color: #777">a</b>') and unreadable('<b style="background: #fff">a</b>')
    assert unreadable('<b style="color: #888; background: white">a</b>')
    fine = '<b style="font-weight: bold">a</b><i style="color: #000; background: rgb(130, 190, 235)">'
    assert not unreadable(fine)


# ---- controls, colours and motion


def below(widget: ipywidgets.Widget) -> Iterator[ipywidgets.Widget]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from below(child)


def told_apart(one: Line2D, other: Line2D) -> bool:
    """Whether two curves differ in more than their colour, or not even in that."""
    looks = [(line.get_linestyle(), str(line.get_marker()), line.get_linewidth()) for line in (one, other)]
    return to_rgb(one.get_color()) == to_rgb(other.get_color()) or looks[0] != looks[1]


def faint_lines(figure: Figure) -> list[str]:
    """The curves and marks of a figure that stand out from white by less than WCAG asks of graphics."""
    lines = (line for axes in figure.axes for line in axes.lines)
    found = []
    for line in (one for one in lines if one.get_visible() and one.get_linewidth()):
        alpha = 1.0 if line.get_alpha() is None else line.get_alpha()
        seen = [alpha * channel + 1 - alpha for channel in to_rgb(line.get_color())]
        if len(line.get_xdata()) and contrast(np.array(seen), "white") < GRAPHICS:
            found.append(f"{line.get_label()} in {line.get_color()}")
    return found


def test_a_faint_line_is_found():
    axes = Figure().subplots()
    axes.plot([0, 1], [0, 1], color="black", alpha=0.3, label="pale")
    axes.plot([0, 1], [1, 0], color="black", label="dark")
    assert faint_lines(axes.figure) == ["pale in black"]


@pytest.mark.parametrize("make", WIDGETS)
def test_controls_have_labels_pictures_have_words_and_curves_differ_in_more_than_colour(make):
    widget = make()
    for control in below(widget.box):
        if isinstance(control, AttentionMap):
            assert all(one.title for one in control.heatmaps), "its only name for a screen reader"
        elif not isinstance(control, ipywidgets.Box | ipywidgets.HTML | ipywidgets.Image | AccessibleNames):
            assert re.search(r"\w|√", control.description), control
            assert control.layout.display != "none" and control.layout.visibility != "hidden"
            assert getattr(control.style, "description_width", "") in ("initial", "", None)
    words = re.sub(r"<[^>]*>", " ", widget.text.value)
    assert len(words.split()) >= 5 and len(widget.summary.split()) >= 5
    for axes in widget.figure.axes:
        curves = [line for line in axes.lines if len(line.get_xdata()) > 2]
        assert all(told_apart(*pair) for pair in itertools.combinations(curves, 2))


MOTION = re.compile(
    r"matplotlib\.animation|FuncAnimation|ArtistAnimation|ipywidgets\.Play\b|@keyframes|setInterval"
    r"|requestAnimationFrame|<marquee|<blink|image/gif|transition\s*:"
)


TIMERS = {  # scripts that may call setInterval, and one that moves what a click has changed
    "model_explorer.js": "its button Play, which also stops",
    "accessible_names.js": "waits for controls to appear; draws nothing",
}


def test_nothing_moves_by_itself():
    for path in SOURCES:
        found = set(MOTION.findall(path.read_text(encoding="utf-8")))
        assert found <= ({"setInterval", "requestAnimationFrame"} if path.name in TIMERS else set()), path
    for path in NOTEBOOKS:
        for cell in notebook_io.read(path).cells:
            shown = [str(output.get("data", {}).get("text/html", "")) for output in cell.get("outputs", [])]
            assert not MOTION.search("\n".join([cell.source, *shown])), path


def test_the_layout_changes_places_and_sizes_but_no_colours():
    properties = re.findall(r"[{;]\s*([\w-]+):", STYLE)
    assert len(properties) > 20
    assert not [name for name in properties if "color" in name or "background" in name]

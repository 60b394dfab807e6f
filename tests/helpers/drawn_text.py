"""The words on a figure, and whether a page shows them legibly."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import matplotlib.pyplot as plt
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from course_lib.viz import figures
from course_lib.viz.style import use_style

Draw = Callable[[str], tuple[Figure, str]]
PAGE = 620  # pixels of a notebook's page


@contextmanager
def drawing(cases: Mapping[str, tuple[Callable[[], object], str]]) -> Iterator[Draw]:
    """A function that draws one of the cases, by its name, and returns it with its alt text, not displayed.

    cases: by name, a function that draws and what its alt text says.
    """
    drawn: list[Figure] = []
    shown: list[tuple[Figure, str]] = []

    def figure_and_alt(name: str) -> tuple[Figure, str]:
        cases[name][0]()
        FigureCanvasAgg(shown[-1][0]).draw()  # `show` has closed the figure
        return shown[-1]

    with pytest.MonkeyPatch.context() as patch, plt.rc_context():
        patch.setattr(figures, "png", lambda figure, dpi: drawn.append(figure))
        patch.setattr(figures, "_display", lambda bundle, _: shown.append((drawn[-1], bundle["text/plain"])))
        use_style()
        yield figure_and_alt
    plt.close("all")


def figure_tests(
    cases: Mapping[str, tuple[Callable[[], object], str]], *, widest: int = PAGE
) -> tuple[Callable[[], Iterator[Draw]], Callable[[str, Draw], None]]:
    """The fixture `draw` for these cases, and a test: each is legible, and its alt text has the facts."""

    @pytest.fixture
    def draw() -> Iterator[Draw]:
        with drawing(cases) as by_name:
            yield by_name

    @pytest.mark.parametrize("name", cases)
    def test(name: str, draw: Draw) -> None:
        figure, alt = draw(name)
        assert re.search(cases[name][1], alt, re.DOTALL), alt
        assert_legible(figure, widest)

    return draw, test


def undrawn(figure: Figure) -> Iterator[Text]:
    """Labels that exist but are not drawn: those of hidden axes, and of ticks beyond the ends of an axis."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not axes.axison or not low <= tick.get_loc() <= high:
                    yield from (tick.label1, tick.label2)


def texts(figure: Figure) -> list[Text]:
    """All texts of the figure that are drawn and not empty, placed as they will be drawn."""
    figure.canvas.draw()
    drawn = set(figure.findobj(Text)) - set(undrawn(figure))
    return [text for text in figure.findobj(Text) if text in drawn and text.get_visible() and text.get_text()]


def assert_legible(figure: Figure, widest: int = PAGE) -> None:
    """On a page, the words have at least 9 pt, do not overlap, and none is cut off."""
    found = texts(figure)
    assert figure.get_figwidth() * 96 <= widest and min(text.get_fontsize() for text in found) >= 9
    extents = [text.get_window_extent() for text in found]
    for (one, a), (other, b) in itertools.combinations(zip(found, extents, strict=True), 2):
        assert not a.overlaps(b), (one.get_text(), other.get_text())
    assert all(figure.bbox.x0 <= e.x0 and e.x1 <= figure.bbox.x1 for e in extents)
    assert all(figure.bbox.y0 <= e.y0 and e.y1 <= figure.bbox.y1 for e in extents)

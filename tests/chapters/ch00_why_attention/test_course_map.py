"""The map of the course: every chapter is on it, has a notebook, and nothing overlaps."""

import itertools
import re

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text

from course_lib.chapters.ch00_why_attention.course_map import (
    BOXES,
    CHAPTERS,
    FRAMES,
    MAP_IN_WORDS,
    course_map,
)
from course_lib.cli.environment import ROOT
from course_lib.viz.style import PALETTE, use_style


@pytest.fixture(autouse=True)
def course_style():
    with plt.rc_context():
        yield
    plt.close("all")


def box_patches(figure: plt.Figure) -> list[FancyBboxPatch]:
    return [patch for patch in figure.axes[0].patches if isinstance(patch, FancyBboxPatch)]


def test_every_chapter_has_its_place_on_the_map_and_in_its_words() -> None:
    assert {box.chapter for box in BOXES} == set(CHAPTERS)
    assert {int(number) for number in re.findall(r"\((?:chapter )?(\d+)\)", MAP_IN_WORDS)} == set(CHAPTERS)


def test_every_chapter_has_a_notebook() -> None:
    written = {int(path.name[:2]) for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")}
    assert written - {11} == set(CHAPTERS)  # the project brings no new part of a model


@pytest.mark.parametrize("here", CHAPTERS)
def test_the_parts_of_a_chapter_are_framed(here: int) -> None:
    for box, patch in zip(BOXES, box_patches(course_map(here)), strict=True):
        framed = to_hex(patch.get_edgecolor()) == PALETTE[1].lower()
        assert framed == (box.chapter == here)


def test_a_chapter_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="here=11 is not a chapter: they run from 0 to 10"):
        course_map(11)


@pytest.mark.parametrize("projector", [False, True])
def test_words_are_legible_and_lie_within_their_boxes(projector: bool) -> None:
    use_style(projector=projector)
    figure = course_map()
    figure.canvas.draw()
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= (16 if projector else 9)
    for box, patch in zip(BOXES, box_patches(figure), strict=True):
        (word,) = [
            t for t in texts if t.get_text() == box.text and patch.get_window_extent().overlaps(extent(t))
        ][:1]
        outer, inner = patch.get_window_extent(), extent(word)
        assert outer.x0 < inner.x0 and inner.x1 < outer.x1
        assert outer.y0 < inner.y0 and inner.y1 < outer.y1


def extent(text: Text):
    return text.get_window_extent()


def test_no_two_words_and_no_two_boxes_overlap() -> None:
    figure = course_map()
    figure.canvas.draw()
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    for one, other in itertools.combinations(texts, 2):
        assert not extent(one).overlaps(extent(other)), (one.get_text(), other.get_text())
    parts = [
        p.get_window_extent() for b, p in zip(BOXES, box_patches(figure), strict=True) if b not in FRAMES
    ]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(parts, 2))
    everything = figure.bbox
    assert all(everything.x0 <= extent(t).x0 and extent(t).x1 <= everything.x1 for t in texts)

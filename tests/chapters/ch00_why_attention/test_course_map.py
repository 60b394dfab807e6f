"""The map of the course: every chapter is on it, has a notebook, and nothing overlaps."""

import itertools
import re

import matplotlib.pyplot as plt
import pytest
from helpers.drawn_text import assert_legible, texts
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch

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


def test_every_chapter_has_its_place_on_the_map_and_in_its_words_and_a_notebook() -> None:
    assert {box.chapter for box in BOXES} == set(CHAPTERS)
    assert {int(number) for number in re.findall(r"\((?:chapter )?(\d+)\)", MAP_IN_WORDS)} == set(CHAPTERS)
    written = {int(path.name[:2]) for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")}
    assert written - {11} == set(CHAPTERS)  # the project brings no new part of a model


@pytest.mark.parametrize("here", [0, 5])
def test_the_parts_of_a_chapter_are_framed(here: int) -> None:
    for box, patch in zip(BOXES, box_patches(course_map(here)), strict=True):
        assert (to_hex(patch.get_edgecolor()) == PALETTE[1].lower()) == (box.chapter == here)


def test_a_chapter_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="here=11 .* from 0 to 10"):
        course_map(11)


@pytest.mark.parametrize("projector", [False, True])
def test_words_are_legible_within_boxes_that_do_not_overlap(projector: bool) -> None:
    use_style(projector=projector)
    figure = course_map()
    assert_legible(figure, widest=1210 if projector else 680)
    found = texts(figure)
    assert min(text.get_fontsize() for text in found) >= (16 if projector else 9)
    places = [patch.get_window_extent() for patch in box_patches(figure)]
    for box, outer in zip(BOXES, places, strict=True):
        inside = [text for text in found if outer.overlaps(text.get_window_extent())]
        inner = next(text for text in inside if text.get_text() == box.text).get_window_extent()
        assert outer.x0 < inner.x0 and inner.x1 < outer.x1
        assert outer.y0 < inner.y0 and inner.y1 < outer.y1
    parts = [place for box, place in zip(BOXES, places, strict=True) if box not in FRAMES]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(parts, 2))

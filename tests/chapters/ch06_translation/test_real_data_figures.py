"""The figures of chapter 6d: legible words that do not overlap, the right numbers, and alt text."""

import itertools
from collections.abc import Callable

import pytest
from helpers.drawn_text import Draw, figure_tests

from course_lib.chapters.ch06_translation import real_data_figures as figures
from course_lib.chapters.ch06_translation import real_words

WORDS = real_words.stored()
CURVES = {f"{n:,} pairs": ([200, 400, 600], [5.0, 4.0 + n / 1000, 4.5]) for n in (250, 1000)}
TRIES = [
    figures.Tried(*row)
    for row in (
        ("all pairs", "as in the preset", 32.4),
        ("all pairs", "Muon", 33.7),
        ("few pairs", "as in the preset", 20.1),
        ("few pairs", "R-Drop", 3.2),
    )
]
STEPS = [("", list("␣come")), ("c + o", ["␣", "co", "m", "e"])]

DRAWN: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "ranks": (lambda: figures.plot_ranks(WORDS.counts), "from 13,335.* fall to 1 at rank 20,000"),
    "merges": (lambda: figures.diagram_merges(STEPS), r"c \+ o: ␣ co m e"),
    "lengths": (lambda: figures.plot_lengths(WORDS.lengths, WORDS.words, WORDS.characters), "30 without any"),
    "losses": (lambda: figures.plot_held_out_losses(CURVES, alt="Two curves."), "Two curves"),
    "pairs": (
        lambda: figures.plot_by_pairs([250, 1000, 90_000], [99.0, 50.0, 16.0], [2.0, 5.0, 15.0]),
        "99.0 with 250, .* On held-out sentences: 2.0, 5.0, 15.0",
    ),
    "tries": (lambda: figures.plot_tries(TRIES, 2.0), "±2.0 .* few pairs: as in the preset 20.1, R-Drop 3.2"),
}


draw, test_each_figure = figure_tests(DRAWN)


def test_the_gray_band_has_the_width_of_chance(draw: Draw) -> None:
    figure, _ = draw("tries")
    for axes, first in zip(figure.axes, (32.4, 20.1), strict=True):
        (band,) = axes.patches
        assert band.get_x() == pytest.approx(first - 2) and band.get_width() == pytest.approx(4)
        assert list(itertools.chain(*(line.get_xdata() for line in axes.lines)))[0] == first

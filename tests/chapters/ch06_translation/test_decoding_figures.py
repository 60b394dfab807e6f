"""The figures of chapter 6b: legible words that do not overlap, the right numbers, and alt text."""

import re
from collections.abc import Callable, Iterator

import pytest
import torch
from helpers.drawn_text import Draw, assert_legible, drawing

from course_lib import viz
from course_lib.chapters.ch06_translation import decoding_figures as drawn

TEXTS = {("es", "frío", "EOS"): 0.2, ("hace", "frío", "EOS"): 0.36, ("es", "un", "frío", "EOS"): 0.15,
         ("hace", "un", "frío", "EOS"): 0.04, ("es", "fría", "EOS"): 0.15, ("frío", "EOS"): 0.1}  # fmt: skip
TRUNCATED = {"all": torch.tensor([0.5, 0.3, 0.2]), "top-k, k = 2": torch.tensor([0.625, 0.375, 0.0])}
COST = {"with cache": [1.0, 2.0], "without": [1.0, 5.0]}
FIGURES: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "cache": (drawn.diagram_cache, "10 in all.* 4 in all"),
    "tree": (
        lambda: drawn.plot_search_tree(TEXTS, ("es", "frío", "EOS"), ("hace", "frío", "EOS")),
        "6 texts.*es frío EOS, with probability 0.20.*hace frío EOS, with 0.36",
    ),
    "cost": (lambda: drawn.plot_decoding_cost((5, 10), COST, COST), "counted and measured"),
    "truncation": (lambda: viz.plot_truncation(("a", "b", "c"), TRUNCATED), "k = 2: 0.62, 0.38, 0.00"),
    "speculative": (drawn.diagram_speculative, "one after them.*first two agree, the third does not"),
}


@pytest.fixture
def draw() -> Iterator[Draw]:
    with drawing(FIGURES, drawn) as by_name:
        yield by_name


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_legible_and_its_alt_text_has_the_numbers(name: str, draw: Draw) -> None:
    figure, alt = draw(name)
    assert re.search(FIGURES[name][1], alt)
    assert_legible(figure)


def test_the_tokens_of_the_tree_have_their_conditional_probabilities(draw: Draw) -> None:
    words = [text.get_text() for text in draw("tree")[0].axes[0].texts]
    assert {"es 0.50", "hace 0.40", "frío 0.10", "frío 0.90", "un 0.30", "EOS 1.00", "= 0.36"} <= set(words)

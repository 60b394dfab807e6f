"""The diagrams of attention: legible at the width of a page, nothing cut off, numbers that the code gives."""

from collections.abc import Callable

import matplotlib.pyplot as plt
import pytest
import torch
from helpers.drawn_text import assert_legible, texts
from matplotlib.figure import Figure

from course_lib.chapters.ch03_heads import attention_diagrams as diagrams

DRAWN = (diagrams.qkv_figure, diagrams.heads_figure, diagrams.split_heads_figure)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("draw", DRAWN)
def test_words_are_legible_on_a_page_and_do_not_overlap(draw: Callable[[], Figure]) -> None:
    assert_legible(draw())


@pytest.mark.parametrize("name", ["diagram_qkv", "diagram_heads", "diagram_split_heads"])
def test_a_diagram_is_shown_with_its_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr(diagrams, "show", lambda figure, alt: shown.append((figure, alt)))
    getattr(diagrams, name)()
    ((figure, alt),) = shown
    assert isinstance(figure, Figure) and len(alt.split()) > 20


def test_the_weights_of_the_example_are_the_softmax_of_its_scores() -> None:
    words = {text.get_text() for text in texts(diagrams.qkv_figure())}
    weights = torch.tensor([2.0, 0.0, 0.0]).softmax(dim=0)
    assert {f"{weight:.2f} × v" for weight in weights} <= words
    assert any(f"{weights @ torch.tensor([6.0, 0.0, 2.0]):.2f}" in word for word in words)


def test_the_heads_of_the_split_are_those_of_the_code() -> None:
    figure = diagrams.split_heads_figure()
    numbers = [int(text.get_text()) for text in texts(figure) if text.get_text().isdigit()]
    whole = torch.arange(12).view(3, 4)
    heads = whole.unflatten(-1, (2, 2)).transpose(0, 1)
    rows = [part.flip(0).flatten().tolist() for part in (whole, *heads, whole)]  # drawn from the bottom up
    assert numbers == [number for part in rows for number in part]

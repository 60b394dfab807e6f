"""The diagram of masks: legible, and the numbers are those of the library."""

import math

import matplotlib.pyplot as plt
import pytest
import torch
from helpers.drawn_text import assert_legible, texts
from matplotlib.figure import Figure

from course_lib.chapters.ch02_masks import mask_diagrams as diagrams
from course_lib.layers import causal_mask, masked_softmax, padding_mask


@pytest.fixture
def figure():
    yield diagrams.masks_figure()
    plt.close("all")


def test_words_are_legible_on_a_page_and_do_not_overlap(figure: Figure) -> None:
    assert_legible(figure)


def test_it_is_shown_with_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr(diagrams, "show", lambda figure, alt: shown.append((figure, alt)))
    diagrams.diagram_masks()
    ((figure, alt),) = shown
    plt.close(figure)
    assert isinstance(figure, Figure) and len(alt.split()) > 20


def test_the_tables_are_the_masks_of_the_library(figure: Figure) -> None:
    ids = torch.tensor([[int(token != "PAD") for token in diagrams.TOKENS]])
    padding = padding_mask(ids, pad=0)[0, 0].expand(4, 4)
    expected = [
        table.int().flatten().tolist() for table in (padding, causal_mask(4), padding & causal_mask(4))
    ]
    numbers = [text.get_text() for text in texts(figure) if text.get_text() in ("0", "1")]
    assert numbers[:48] == [str(number) for table in expected for number in table]


def test_the_weights_of_the_row_are_the_masked_softmax_of_its_scores() -> None:
    numbers = {"0": 0.0, "log 2": math.log(2), "log 5": math.log(5), "−∞": -math.inf}
    scores, masked = (
        torch.tensor([[numbers[cell] for cell in row]]) for row in (diagrams.SCORES, diagrams.MASKED)
    )
    visible = diagrams.masks()[2][[diagrams.QUERY]]
    assert torch.equal(masked, scores.masked_fill(~visible, -math.inf))
    weights = [int(a) / int(b or 1) for a, _, b in (text.partition("/") for text in diagrams.WEIGHTS)]
    assert torch.allclose(masked_softmax(scores, visible), torch.tensor([weights]))

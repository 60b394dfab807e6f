"""The figures of chapter 6: legible, and they show the shift, the losses and the weights they are given."""

import matplotlib.pyplot as plt
import pytest
import torch
import torch.nn.functional as F
from helpers.drawn_text import assert_legible
from matplotlib.figure import Figure

from course_lib.chapters.ch06_translation import translation_figures as figures

LOSSES = {"with the shift": [8.0, 6.0] * 10 + [3.0] * 20, "without": [8.0, 2.0] * 10 + [0.5] * 20}
WEIGHTS = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]])


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch):
    """Collects figures with their alt texts instead of displaying them."""
    found: list[tuple[Figure, str]] = []
    monkeypatch.setattr(figures, "show", lambda figure, alt: found.append((figure, alt)))
    yield found
    plt.close("all")


def test_losses_are_averaged(shown: list) -> None:
    figures.plot_losses(LOSSES, mean_of=20, alt="Both fall.")
    ((figure, alt),) = shown
    assert [list(line.get_ydata()) for line in figure.axes[0].lines] == [[7.0, 3.0], [5.0, 0.5]]
    assert [list(line.get_xdata()) for line in figure.axes[0].lines] == [[20, 40]] * 2
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == list(LOSSES)
    assert alt == "Both fall."


def test_cross_attention_has_a_row_for_each_predicted_token(shown: list) -> None:
    figures.plot_cross_attention(WEIGHTS, ["el", "gato"], ["the", "big", "cat"], alt="Two rows.")
    ((figure, alt),) = shown
    axes = figure.axes[0]
    assert (axes.get_ylabel(), axes.get_xlabel(), alt) == ("predicts", "attends to", "Two rows.")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["el", "gato"]


def test_the_smoothed_targets_drawn_are_those_of_cross_entropy(shown: list) -> None:
    figures.plot_label_smoothing(("b", "a"), ("a", "b", "c", "d"), epsilon=0.2)
    ((figure, alt),) = shown
    assert_legible(figure)
    assert "ε = 0.2: 0.85 at the label and 0.05 at each other" in alt
    one_hot, drawn = (torch.tensor(axes.collections[0].get_array()) for axes in figure.axes)
    logits, labels = torch.randn(2, 4, generator=torch.Generator().manual_seed(0)), torch.tensor([1, 0])
    assert torch.equal(one_hot.argmax(dim=1), labels) and one_hot.sum() == 2
    expected = F.cross_entropy(logits, labels, label_smoothing=0.2)
    assert torch.isclose(-(drawn * logits.log_softmax(dim=-1)).sum(dim=1).mean(), expected)


def test_a_label_comes_from_the_vocabulary() -> None:
    with pytest.raises(ValueError, match="x"):
        figures.plot_label_smoothing(("x",), ("a", "b"))

"""The diagrams of blocks: legible at the width of a page, nothing cut off, the order that the code has."""

import matplotlib.pyplot as plt
import pytest
from helpers.drawn_text import assert_legible, texts
from helpers.norms import norms
from matplotlib.figure import Figure

from course_lib.chapters.ch05_blocks import block_diagrams as diagrams
from course_lib.layers import DecoderBlock, EncoderBlock

NAMES = ("block", "norm_placements", "decoder_block", "norm_axes")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def stacked(figure: Figure, left: float = 0) -> list[str]:
    """The words right of `left`, from the bottom up."""
    found = [text for text in texts(figure) if text.get_position()[0] >= left]
    return [text.get_text() for text in sorted(found, key=lambda text: text.get_position()[1])]


@pytest.mark.parametrize("name", NAMES)
def test_words_are_legible_on_a_page_and_do_not_overlap(name: str) -> None:
    assert_legible(getattr(diagrams, f"{name}_figure")())


@pytest.mark.parametrize("name", NAMES)
def test_a_diagram_is_shown_with_its_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr(diagrams, "show", lambda figure, alt: shown.append((figure, alt)))
    getattr(diagrams, f"diagram_{name}")()
    ((figure, alt),) = shown
    assert isinstance(figure, Figure) and len(alt.split()) > 20


def test_each_sublayer_ends_in_a_sum_with_a_norm_before_it() -> None:
    for figure, block in (
        (diagrams.block_figure(), EncoderBlock(4, 1, 8)),
        (diagrams.decoder_block_figure(), DecoderBlock(4, 1, 8)),
    ):
        words = [
            word for word in stacked(figure) if word in "+norm" or word.endswith(("attention", "forward"))
        ]
        assert len(words) == 3 * len(norms(block))
        assert words[0::3] == ["norm"] * (len(words) // 3) and words[2::3] == ["+"] * (len(words) // 3)


def test_post_norm_has_its_norms_after_the_sums() -> None:
    figure = diagrams.norm_placements_figure()
    kinds = {"norm", "+", "self-attention", "feed-forward", "final norm, once"}
    pre = [word for word in stacked(figure, left=32) if word in kinds]
    everything = [word for word in stacked(figure) if word in kinds]
    assert pre == ["norm", "self-attention", "+", "norm", "feed-forward", "+", "final norm, once"]
    assert everything.count("norm") == 4 and everything.count("+") == 4


def test_the_groups_are_tokens_in_layer_norm_and_features_in_batch_norm() -> None:
    numbers = [text for text in texts(diagrams.norm_axes_figure()) if text.get_text().isdigit()]
    rows = [[int(text.get_text()) for text in numbers[i : i + 4]] for i in range(0, 48, 4)]
    assert rows[:6] == [[token] * 4 for token in range(1, 7)] and rows[6:] == [[1, 2, 3, 4]] * 6

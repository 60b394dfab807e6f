"""The mask explorer: its masks and weights against their definitions, and what its text says."""

import numpy as np
import pytest
import torch

from course_lib.chapters.ch02_masks import mask_explorer
from course_lib.chapters.ch02_masks.masks_widget import (
    AFTER,
    FINITE,
    INFINITE,
    KINDS,
    TOKENS,
    chosen_mask,
    example_scores,
    hide,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("valid_len", range(TOKENS + 1))
def test_masks_are_those_of_the_definition(kind: str, valid_len: int) -> None:
    i, j = torch.arange(TOKENS)[:, None], torch.arange(TOKENS)
    padding, time = kind in ("padding", "both"), kind in ("causal", "both")
    expected = ((j < valid_len) | (not padding)) & ((j <= i) | (not time))
    assert torch.equal(chosen_mask(kind, valid_len), expected)


def test_the_three_ways_agree_only_where_nothing_is_hidden() -> None:
    scores = example_scores()
    everything, both = chosen_mask("none", 3), chosen_mask("both", 3)
    assert torch.allclose(hide(scores, everything, AFTER), hide(scores, everything, INFINITE))
    assert torch.allclose(hide(scores, both, FINITE), hide(scores, both, INFINITE))  # no row is empty
    assert not torch.allclose(hide(scores, both, AFTER), hide(scores, both, INFINITE), atol=0.01)


@pytest.mark.parametrize(("way", "total"), [(INFINITE, 0.0), (FINITE, 1.0), (AFTER, 0.0)])
def test_rows_that_may_look_nowhere(way: str, total: float) -> None:
    weights = hide(example_scores(), chosen_mask("padding", 0), way)
    assert torch.allclose(weights.sum(-1), torch.full((TOKENS,), total))


@pytest.mark.parametrize(
    ("kind", "valid_len", "way", "said"),
    [
        ("none", 3, INFINITE, "No mask: 25 of 25 pairs are unmasked. Nothing is masked"),
        ("causal", 3, INFINITE, "Causal mask: 15 of 25 pairs are unmasked. A masked key gets the score -∞ "),
        ("both", 3, INFINITE, "Padding and causal mask, valid length 3: 12 of 25"),
        ("both", 3, FINITE, "A masked key gets the score -1e6 and the weight 0"),
        ("padding", 0, INFINITE, "5 queries cannot attend to any key: all their weights are 0"),
        ("padding", 0, FINITE, "equally low scores get equal weights, 0.20"),
        ("both", 3, AFTER, "leak information"),
    ],
)  # fmt: skip
def test_the_text_says_what_is_seen(kind: str, valid_len: int, way: str, said: str) -> None:
    widget = mask_explorer()
    for name, value in {"kind": kind, "valid_len": valid_len, "way": way}.items():
        widget.controls[name].value = value
    assert said in widget.text.value


def test_one_query_is_not_called_queries() -> None:
    widget = mask_explorer()
    widget.controls["kind"].value = "none"
    for key in range(TOKENS):
        widget.maps.press(2, key)
    assert "1 query cannot attend to any key" in widget.line


def test_the_tables_hold_scores_masked_scores_weights_and_sums() -> None:
    widget = mask_explorer()
    scores, mask = example_scores(), chosen_mask("both", 3)
    weights = hide(scores, mask, INFINITE)
    raw, masked, table, sums = widget.maps.heatmaps
    assert np.allclose(raw.weights, scores) and raw.masked is None
    assert (masked.masked == ~mask.numpy()).all() and masked.text(0, 4) == "-∞"
    assert np.allclose(table.weights, weights) and table.text(0, 0) == "1.00" and table.text(0, 4) == "0"
    assert np.allclose(sums.weights[:, 0], weights.sum(-1))


def test_a_press_masks_a_cell_and_another_one_unmasks_it() -> None:
    widget = mask_explorer()
    widget.maps.press(4, 0, map=1)
    assert "12 of 25" not in widget.text.value and "1 cell changed by hand: 11 of 25" in widget.text.value
    assert widget.maps.heatmaps[1].masked[4, 0] and widget.maps.heatmaps[2].weights[4, 0] == 0
    widget.maps.press(0, 4)
    assert "2 cells changed by hand: 12 of 25" in widget.text.value
    assert widget.maps.heatmaps[2].weights[0, 4] > 0
    widget.maps.press(0, 4)
    widget.maps.press(4, 0)
    assert "by hand" not in widget.text.value and "12 of 25" in widget.text.value


def test_another_mask_forgets_what_was_changed_by_hand_and_the_sums_cannot_be_masked() -> None:
    widget = mask_explorer()
    for name, value in (("kind", "causal"), ("valid_len", 1)):
        widget.maps.press(4, 0, map=2)
        assert "by hand" in widget.line
        widget.controls[name].value = value
        assert "by hand" not in widget.line
    widget.maps.press(2, 0, map=3)
    assert "by hand" not in widget.line

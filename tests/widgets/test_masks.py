"""The mask explorer: its masks and weights against their definitions, and what its text says."""

import pytest
import torch

from course_lib.widgets import mask_explorer
from course_lib.widgets.masks import (
    AFTER,
    FINITE,
    INFINITE,
    KINDS,
    TOKENS,
    WAYS,
    chosen_mask,
    example_scores,
    hide,
    verdict,
    weight_cells,
)

LENGTHS = range(TOKENS + 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("valid_len", LENGTHS)
def test_masks_are_those_of_the_definition(kind: str, valid_len: int) -> None:
    for i, j in torch.cartesian_prod(torch.arange(TOKENS), torch.arange(TOKENS)).tolist():
        open_by_padding = kind not in ("padding", "both") or j < valid_len
        open_by_time = kind not in ("causal", "both") or j <= i
        assert chosen_mask(kind, valid_len)[i, j] == (open_by_padding and open_by_time)


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
    mask = torch.ones(TOKENS, TOKENS, dtype=torch.bool)
    mask[2] = False
    assert "1 query cannot attend to any key" in verdict(
        mask, hide(example_scores(), mask, INFINITE), INFINITE
    )


def test_every_choice_can_be_drawn() -> None:
    widget = mask_explorer()
    pictures = set()
    for way in WAYS:
        widget.controls["way"].value = way
        for valid_len in LENGTHS:
            widget.controls["valid_len"].value = valid_len
            pictures.add(widget.image.value)
    assert len(pictures) == len(WAYS) * len(LENGTHS)


def test_the_cells_hold_the_weights() -> None:
    colours, texts = weight_cells(torch.tensor([[0.0, 1.0], [0.25, 0.75]]))
    assert texts == [["0", "1.00"], ["0.25", "0.75"]]
    assert colours[0, 0, :3].min() > 0.95 and colours[0, 1, :3].max() < 0.5  # white at 0, dark at 1

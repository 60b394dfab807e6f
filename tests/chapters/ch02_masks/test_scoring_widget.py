"""The scoring explorer: both planes hold the scores that the library gives, and the text is true."""

import math

import numpy as np
import pytest
import torch

from course_lib.chapters.ch02_masks import scoring_explorer
from course_lib.chapters.ch02_masks import scoring_widget as scoring

KEYS = scoring.plane()
QUERIES = [torch.tensor(q) for q in ([1.0, 0.5], [-1.5, 0.25], [0.0, 0.0])]


@pytest.fixture
def explorer():
    return scoring_explorer()


@pytest.mark.parametrize("hidden", scoring.HIDDEN)
@pytest.mark.parametrize("scale", scoring.SCALES)
def test_additive_scores_are_those_of_larger_matrices(hidden: int, scale: float) -> None:
    layer = scoring.scorer(hidden)
    w_q, w_k, w_v = (scale * layer.w_q.weight, scale * layer.w_k.weight, layer.w_v.weight[0])
    for q in QUERIES:
        right = torch.tanh(KEYS @ w_k.T + w_q @ q) @ w_v
        assert torch.allclose(scoring.additive(q, KEYS, hidden, scale), right, atol=1e-5)
        assert right.abs().max() <= scoring.bound(hidden) + 1e-5


def test_dot_products_grow_with_the_key_and_additive_scores_do_not() -> None:
    for q in QUERIES:
        far = 1000 * KEYS
        near = scoring.dot_products(q, KEYS, True)
        assert torch.allclose(scoring.dot_products(q, far, True), 1000 * near, atol=1e-2)
        assert torch.allclose(scoring.dot_products(q, KEYS, False), math.sqrt(2) * near)
        assert near.abs().max() * math.sqrt(2) <= scoring.DOTS
        assert scoring.additive(q, far, 8, 1.0).abs().max() <= scoring.bound(8) + 1e-5


def test_a_wider_layer_begins_with_the_units_of_a_narrower_one() -> None:
    narrow, wide = scoring.scorer(4), scoring.scorer(16)
    assert torch.equal(wide.w_q.weight[:4], narrow.w_q.weight)
    assert torch.allclose(wide.w_v.weight[:, :4] * 2, narrow.w_v.weight)


def test_building_it_leaves_the_random_numbers_alone() -> None:
    scoring.scorer.cache_clear()
    state = torch.get_rng_state()
    scoring_explorer()
    assert torch.equal(torch.get_rng_state(), state)


def test_with_one_hidden_unit_the_keys_keep_their_order(explorer) -> None:
    """As the text says; and with more units it is not so."""

    def orders(hidden: int) -> list[list[int]]:
        some = KEYS[:: len(KEYS) // 20]
        return [scoring.additive(q, some, hidden, 0.25).argsort().tolist() for q in QUERIES]

    first, *others = orders(1)
    assert all(other == first for other in others)
    explorer.controls["hidden"].value = 1
    assert "the ranking of the keys never changes" in explorer.line
    first, *others = orders(4)
    assert any(other != first for other in others)


def test_the_planes_lie_the_right_way_round(explorer) -> None:
    """The key in the upper right corner ends the first row, and in the lower right corner, the last one."""
    side = len(scoring.AXIS)
    assert KEYS[side - 1].tolist() == [2, 2] and KEYS[-1].tolist() == [2, -2] and KEYS[0].tolist() == [-2, 2]
    explorer.controls["q1"].value, explorer.controls["q2"].value = 1.5, 0.0
    heatmap = explorer.maps.heatmaps[1]
    assert (heatmap.rows[0], heatmap.columns[0]) == ("2", "−2")
    values = heatmap.weights
    assert values[0, 0] == values[-1, 0] < 0 < values[0, -1] == values[-1, -1]
    assert values[0, -1] == pytest.approx(2 * 1.5 / math.sqrt(2))


def test_a_click_in_a_plane_moves_the_query_and_frames_it(explorer) -> None:
    for index in (0, 1):
        explorer.maps.select(map=index, row=2, column=3 + index)
        assert explorer.controls["q1"].value == -1.25 + 0.25 * index
        assert explorer.controls["q2"].value == 1.5
        place = explorer.maps.framed(1 - index)
        assert (place.row, place.column) == (2, 3 + index)
    before = explorer.line
    explorer.maps.select(map=scoring.RAY, row=1, column=1)  # the numbers on the right move nothing
    assert explorer.line == before


def test_the_numbers_on_the_right_are_the_scores_along_the_query(explorer) -> None:
    heatmap = explorer.maps.heatmaps[scoring.RAY]
    q = QUERIES[0]
    keys = torch.linspace(0, 3, 7)[:, None] * q / q.norm()
    both = scoring.additive(q, keys, 8, 1.0), scoring.dot_products(q, keys, True)
    assert heatmap.weights == pytest.approx(torch.stack(both, dim=-1).numpy())
    assert heatmap.rows == ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"]


def test_the_text_gives_the_ends_the_best_key_and_the_bound(explorer) -> None:
    explorer.controls["scaled"].value = False
    text = explorer.line
    scores = scoring.additive(QUERIES[0], KEYS, 8, 1.0)
    best = scoring.point(KEYS[scores.argmax()])
    assert (
        f"from {scores.min():.2f} to {scores.max():.2f}, highest at the key {best};".replace("-", "−") in text
    )
    assert f"Σ|w_v| = {scoring.bound(8):.2f}." in text
    assert "not divided by √2: from −3.00 to 3.00, highest at the key (2.00, 2.00)." in text
    assert "doubles from 1.68 to 3.35" in text  # |q| = √1.25, times 1.5 and 3


def test_the_text_for_the_query_0(explorer) -> None:
    explorer.controls["q1"].value = explorer.controls["q2"].value = 0.0
    assert "Dot product, divided by √2: 0 everywhere." in explorer.line
    assert "depend on the key alone" in explorer.line
    assert scoring.additive(QUERIES[2], KEYS, 8, 1.0).std() > 0.05
    assert np.isfinite(explorer.maps.heatmaps[scoring.RAY].weights).all()

"""The shapes explorer: the numbers are those of `torch.bmm`, and no index leaves its axis."""

import html
import re

import numpy as np
import pytest
import torch

from course_lib.widgets import bmm_explorer, shapes
from course_lib.widgets.heatmap import Place

SIZES = {"n": 2, "a": 3, "b": 4, "c": 5}


@pytest.fixture
def explorer():
    return bmm_explorer()


def text_of(explorer) -> str:
    return html.unescape(explorer.text.value)


def value_of(text: str) -> float:
    """The number that the text says is marked, with at most one decimal and a real minus sign."""
    return float(re.search(r" = (−?\d+(?:\.\d)?)\. ", text)[1].replace("−", "-"))


def sum_of(text: str) -> float:
    """What the sum spelled out in the text comes to."""
    spelled = re.search(r"\] = (.+?) = ", text)[1]
    return eval(spelled.replace("·", "*").replace("−", "-"))


@pytest.mark.parametrize(
    ("product", "meaning"),
    [
        ("any two", "b is summed over"),
        ("Q·Kᵀ", "c counts keys"),
        ("weights·V", "The keys are summed over"),
    ],
)
def test_numbers_across_the_product_are_those_of_bmm(explorer, product: str, meaning: str) -> None:
    explorer.controls["product"].value = product
    left, right = shapes.factors(product, **SIZES)
    result = torch.bmm(left, right)
    for place in ((0, 0, 0), (0, 1, 2), (0, 2, 4), (1, 1, 1), (1, 2, 3)):
        for name, value in zip(shapes.INDEX, place, strict=True):
            explorer.controls[name].value = value
        text = text_of(explorer)
        right_one = result[place].item()
        assert value_of(text) == pytest.approx(right_one, abs=1e-5)
        assert sum_of(text) == pytest.approx(right_one, abs=1e-5)
        assert f"[{', '.join(map(str, place))}] = " in text and meaning in text


def test_numbers_are_short() -> None:
    assert [shapes.plain(value) for value in (-2.0, 0.30000001, 10.0)] == ["−2", "0.3", "10"]


def test_the_text_names_the_shapes_and_counts(explorer) -> None:
    assert "(2, 3, 4)·(2, 4, 5) → (2, 3, 5). scores[" in text_of(explorer)
    assert "Total: 2·3·5 = 30 entries of 4 products each, 120 multiplications." in text_of(explorer)


def test_the_axes_and_the_sliders_get_their_names(explorer) -> None:
    def names() -> set[str]:
        shown = explorer.maps.heatmaps
        return {name for one in shown for name in (one.title, one.row_name, one.column_name)}

    labels = [explorer.controls[size].description for size in "nabc"]
    assert labels == ["n: batch", "a: queries", "b: d_head", "c: keys"]
    assert {"queries", "d_head", "keys", "Q (2, 3, 4)", "Kᵀ (2, 4, 5)", "scores (2, 3, 5)"} <= names()
    explorer.controls["product"].value = "weights·V"
    assert {"queries", "keys", "d_value", "V (2, 4, 5)"} <= names() and "d_head" not in names()
    assert explorer.controls["b"].description == "b: keys"
    explorer.controls["product"].value = "any two"
    assert [explorer.controls[size].description for size in "nabc"] == list("nabc")


def test_the_index_sliders_follow_the_sizes(explorer) -> None:
    for name, size in shapes.INDEX.items():
        control, index = explorer.controls[size], explorer.controls[name]
        control.value = control.max
        assert index.max == control.max - 1
        index.value = index.max
        control.value = control.min
        assert index.max == index.value == control.min - 1
        assert index.min < index.max  # a slider without any room fails in the browser
        assert f"{index.value}" in text_of(explorer)


def test_weights_sum_to_1_and_none_is_0() -> None:
    for b in range(shapes.LEAST, shapes.MOST["b"] + 1):
        weights, _ = shapes.factors("weights·V", 4, 5, b, 3)
        assert weights.shape == (4, 5, b) and (weights > 0.05).all()
        assert torch.allclose(weights.sum(dim=-1), torch.ones(4, 5))


@pytest.mark.parametrize("product", ["any two", "Q·Kᵀ"])
def test_numbers_stay_while_a_matrix_grows(product: str) -> None:
    small, large = shapes.factors(product, 2, 3, 4, 5), shapes.factors(product, 4, 5, 5, 5)
    assert torch.equal(large[0][:2, :3, :4], small[0]) and torch.equal(large[1][:2, :4, :5], small[1])


def test_the_matrices_are_the_chosen_ones_of_their_stacks(explorer) -> None:
    explorer.controls["element"].value = 0
    left, right = shapes.factors("Q·Kᵀ", **SIZES)
    shown = explorer.maps.heatmaps
    for one, matrix in zip(shown, (left[0], right[0], left[0] @ right[0]), strict=True):
        assert np.array_equal(one.weights, matrix) and one.sheets == 2


def test_the_row_the_column_and_the_entry_are_marked(explorer) -> None:
    explorer.controls["row"].value, explorer.controls["column"].value = 2, 3
    assert [explorer.maps.framed(i)[1:] for i in range(3)] == [(2, None), (None, 3), (2, 3)]


@pytest.mark.parametrize(
    ("place", "entry"),
    [
        (Place(2, 2, 4), (2, 4)),  # an entry of the result
        (Place(0, 0, 3), (0, 1)),  # a number of Q: its row
        (Place(1, 3, 0), (1, 0)),  # a number of Kᵀ: its column
        (Place(2, 0, None), (0, 1)),  # a row label of the result
        (Place(), (1, 1)),
    ],
)
def test_a_click_chooses_the_entry(explorer, place: Place, entry: tuple[int, int]) -> None:
    explorer.maps.select(place.row, place.column, place.map)
    assert (explorer.controls["row"].value, explorer.controls["column"].value) == entry
    assert f"scores[1, {entry[0]}, {entry[1]}] = " in text_of(explorer)
    assert explorer.maps.framed(2)[1:] == entry

"""The shapes explorer: the numbers are those of `torch.bmm`, and no index leaves its axis."""

import html
import re

import pytest
import torch
from matplotlib.figure import Figure

from course_lib.widgets import bmm_explorer, shapes
from course_lib.widgets.matrix_stack import BACK, Stack, plain

SIZES = {"n": 2, "a": 3, "b": 4, "c": 5}


@pytest.fixture
def explorer():
    return bmm_explorer()


def text_of(explorer) -> str:
    return html.unescape(explorer.text.value)


def value_of(text: str) -> float:
    """The number that the text says is marked."""
    return float(re.search(r" = (\S+?)\. ", text)[1].replace("−", "-"))


def sum_of(text: str) -> float:
    """What the sum spelled out in the text comes to."""
    spelled = re.search(r"\] = (.+?) = ", text)[1]
    return eval(spelled.replace("·", "*").replace("−", "-"))


@pytest.mark.parametrize("product", shapes.PRODUCTS)
def test_every_number_is_that_of_bmm(explorer, product: str) -> None:
    explorer.controls["product"].value = product
    left, right = shapes.factors(product, **SIZES)
    result = torch.bmm(left, right)
    for place in torch.cartesian_prod(torch.arange(2), torch.arange(3), torch.arange(5)):
        for name, value in zip(shapes.INDEX, place.tolist(), strict=True):
            explorer.controls[name].value = value
        text = text_of(explorer)
        right_one = result[tuple(place)].item()
        assert value_of(text) == pytest.approx(right_one, abs=1e-5)
        assert sum_of(text) == pytest.approx(right_one, abs=1e-5)
        assert f"[{', '.join(map(str, place.tolist()))}] = " in text


def test_the_text_names_the_shapes_and_counts(explorer) -> None:
    assert "(2, 3, 4)·(2, 4, 5) → (2, 3, 5). scores[" in text_of(explorer)
    assert "Total: 2·3·5 = 30 entries of 4 products each, 120 multiplications." in text_of(explorer)


@pytest.mark.parametrize(
    ("product", "said"),
    [
        ("any two", "b is summed over"),
        ("Q·Kᵀ", "c counts keys"),
        ("weights·V", "The keys are summed over"),
    ],
)
def test_the_text_says_what_the_product_is_in_attention(explorer, product: str, said: str) -> None:
    explorer.controls["product"].value = product
    assert said in text_of(explorer)


def test_the_axes_and_the_sliders_get_their_names(explorer) -> None:
    def names() -> set[str]:
        return {text.get_text() for text in explorer.figure.axes[0].texts}

    labels = [explorer.controls[size].description for size in "nabc"]
    assert labels == ["n: batch", "a: queries", "b: d_head", "c: keys"]
    assert {"queries", "d_head", "keys", "Q\n(2, 3, 4)", "Kᵀ\n(2, 4, 5)", "scores\n(2, 3, 5)"} <= names()
    explorer.controls["product"].value = "weights·V"
    assert {"queries", "keys", "d_value", "V\n(2, 4, 5)"} <= names() and "d_head" not in names()
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


def test_the_largest_stacks_stay_inside_the_picture() -> None:
    n, b, c = (shapes.MOST[name] for name in "nbc")
    left, _, right = shapes.starts(n, b, c)
    assert left >= 0.9 and right + c + BACK * (n - 1) <= shapes.WIDTH


@pytest.mark.parametrize("mark", [(1, None), (None, 2), (1, 2)])
def test_the_marked_row_column_or_number_is_tinted_and_framed(mark) -> None:
    stack = Stack(Figure().subplots(), "red", 12)
    stack.draw(torch.arange(24.0).reshape(2, 3, 4), 1, mark, x=1.0)
    paths, tints = stack.boxes.get_paths(), stack.boxes.get_facecolors()[:, :3]
    assert len(paths) == 1 + 12 + 1  # the other sheet, the numbers, the frame
    red = (tints[1:13] - torch.tensor(stack.tint).numpy()).__abs__().max(axis=1) < 1e-6
    row, column = mark
    right = [row in (None, i) and column in (None, j) for i in range(3) for j in range(4)]
    assert red.tolist() == right
    frame = paths[-1].get_extents()
    inside = [frame.contains(*number.get_position()) for number in stack.numbers]
    assert inside == right
    assert [number.get_text() for number in stack.numbers] == [str(12 + i) for i in range(12)]


@pytest.mark.parametrize(("value", "text"), [(-2.0, "−2"), (0.30000001, "0.3"), (1.25, "1.2"), (10.0, "10")])
def test_numbers_are_short(value: float, text: str) -> None:
    assert plain(value) == text

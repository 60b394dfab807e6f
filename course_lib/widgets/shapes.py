"""Batched matrix product: matching shapes, and the row and column behind each entry of the result."""

from collections.abc import Callable
from dataclasses import dataclass

import ipywidgets
import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.explorer import slider
from course_lib.widgets.heatmap import Heatmap, Place, Sets
from course_lib.widgets.map_explorer import MapExplorer

MOST = {"n": 4, "a": 5, "b": 5, "c": 5}
LEAST = 2  # a slider needs two values, and an index runs from 0 to size - 1
INDEX = {"element": "n", "row": "a", "column": "c"}
LARGEST = 20.0  # number that gets the strongest color
SIZE = (7.0, 2.9)


@dataclass(frozen=True)
class Product:
    """Names of the two factors and the result, and of the axes n, a, b, c."""

    names: tuple[str, str, str]
    axes: tuple[str, str, str, str]

    @property
    def sides(self) -> list[tuple[str, str]]:
        """Names of the row and column axes of the two factors and the result."""
        _, a, b, c = self.axes
        return [(a, b), (b, c), (a, c)]


PRODUCTS = {
    "any two": Product(("A", "B", "product"), ("n", "a", "b", "c")),
    "Q·Kᵀ": Product(("Q", "Kᵀ", "scores"), ("batch", "queries", "d_head", "keys")),
    "weights·V": Product(("weights", "V", "output"), ("batch", "queries", "keys", "d_value")),
}


def bmm_explorer() -> MapExplorer:
    """Batched matrix product (n, a, b)·(n, b, c) → (n, a, c); a click on an entry spells it out."""
    controls = {"product": slider(ipywidgets.Dropdown, "product", options=list(PRODUCTS), value="Q·Kᵀ")}
    for name, value in {"n": 2, "a": 3, "b": 4, "c": 5}.items():
        controls[name] = slider(ipywidgets.IntSlider, name, value=value, min=LEAST, max=MOST[name])
    for name, size in INDEX.items():
        controls[name] = slider(ipywidgets.IntSlider, name, value=1, max=controls[size].value - 1)
    connect(controls)
    return MapExplorer(
        controls,
        bmm_picture,
        "sliders for the four sizes of a batched matrix product and for an entry of its result, and a menu "
        "of products, above the stacks of matrices with the row and the column that produce this entry; a "
        "click chooses another one.",
        size=SIZE,
    )


def connect(controls: dict[str, ipywidgets.Widget]) -> None:
    """Limit each index to the size of its axis, and label the size sliders with the axis names."""

    def follow(index: ipywidgets.Widget) -> Callable[[dict], None]:
        return lambda change: setattr(index, "max", change["new"] - 1)

    def rename(product: str) -> None:
        for size, axis in zip("nabc", PRODUCTS[product].axes, strict=True):
            controls[size].description = size if size == axis else f"{size}: {axis}"

    for name, size in INDEX.items():
        controls[size].observe(follow(controls[name]), names="value")
    controls["product"].observe(lambda change: rename(change["new"]), names="value")
    rename(controls["product"].value)


def factors(
    product: str, n: int, a: int, b: int, c: int
) -> tuple[Float[Tensor, "{n} {a} {b}"], Float[Tensor, "{n} {b} {c}"]]:
    """Two batches of small integers; attention weights are multiples of 0.1 whose rows sum to 1.

    Integers keep their values when a matrix grows.
    """
    generator = torch.Generator().manual_seed(5)
    whole = torch.randint(-2, 4, (2, MOST["n"], 5, 5), generator=generator).float()
    if product != "weights·V":
        return whole[0, :n, :a, :b], whole[1, :n, :b, :c]
    values = torch.randint(0, 10, (MOST["n"], 5, 5), generator=generator).float()
    # cut ten tenths at b - 1 of the nine gaps between them, so that no weight is 0
    places = torch.rand(MOST["n"], MOST["a"], 9, generator=generator)[:n, :a].argsort(dim=-1)
    cuts = places[..., : b - 1].sort(dim=-1).values + 1
    begin = torch.zeros(n, a, 1, dtype=cuts.dtype)
    return torch.diff(cuts, prepend=begin, append=begin + 10) / 10, values[:n, :b, :c]


def bmm_picture(maps: AttentionMap) -> Callable[..., str]:
    """Three stacks of matrices side by side, with a row, a column and the resulting entry marked."""

    def update(
        product: str, n: int, a: int, b: int, c: int, element: int, row: int, column: int, selected: Place
    ) -> str:
        left, right = factors(product, n, a, b, c)
        marks = Place(row=row), Place(column=column), Place(row=row, column=column)
        matrices = left, right, torch.bmm(left, right)
        parts = zip(PRODUCTS[product].names, PRODUCTS[product].sides, matrices, marks, strict=True)
        maps.show_maps([stack(*part, element) for part in parts], widths=[b + 1, c + 1, c + 1])
        return said(product, left, right, (element, row, column))

    return update


def stack(
    name: str, sides: tuple[str, str], matrices: Float[Tensor, "n rows columns"], mark: Place, element: int
) -> Heatmap:
    """One matrix of a batch, in front of the others."""
    whole = torch.equal(matrices, matrices.round())
    n, rows, columns = matrices.shape
    return Heatmap(
        weights=matrices[element],
        rows=[str(i) for i in range(rows)],
        columns=[str(i) for i in range(columns)],
        title=f"{name} {(n, rows, columns)}",
        row_name=sides[0],
        column_name=sides[1],
        value_name="is",
        low=-LARGEST,
        high=LARGEST,
        diverging=True,
        numbers=True,
        digits=0 if whole else 1,
        marked=mark,
        sheets=n,
        row_sets=None if mark.row is None else Sets("row", 0),
        column_sets=None if mark.column is None else Sets("column", 0),
    )


def spelled(row: list[float], column: list[float]) -> str:
    """Sum of products as text, such as 2·3 + 1·(−2)."""

    def factor(value: float) -> str:
        return f"({plain(value)})" if value < 0 else plain(value)

    return " + ".join(f"{factor(x)}·{factor(y)}" for x, y in zip(row, column, strict=True))


def said(
    product: str,
    left: Float[Tensor, "n a b"],
    right: Float[Tensor, "n b c"],
    place: tuple[int, int, int],
) -> str:
    """Status line: shapes, the marked entry as a sum of products, its meaning, and the cost."""
    (n, a, b), c, (element, i, j) = left.shape, right.shape[2], place
    row, column, result = left[element, i], right[element, :, j], PRODUCTS[product].names[2]
    return (
        f"({n}, {a}, {b})·({n}, {b}, {c}) → ({n}, {a}, {c}). {result}[{element}, {i}, {j}] "
        f"= {spelled(row.tolist(), column.tolist())} = {plain((row @ column).item())}. "
        f"{meaning(product, i, j, column)} "
        f"Total: {n}·{a}·{c} = {n * a * c} entries of {b} products each, {n * a * b * c} multiplications."
    )


def meaning(product: str, i: int, j: int, column: Float[Tensor, " b"]) -> str:
    """Meaning of entry (i, j) of the result."""
    if product == "Q·Kᵀ":
        return (
            f"It is the score of query {i} for key {j}, since column {j} of Kᵀ is key {j}: c counts keys. "
            "d_head is summed over and disappears."
        )
    if product == "weights·V":
        return (
            f"It is feature {j} of the output for query {i}. The weights sum to 1, so the value lies "
            f"between {plain(column.min().item())} and {plain(column.max().item())}, the minimum and maximum "
            f"of column {j} of V. The keys are summed over and disappear."
        )
    return f"Row {i} of A times column {j} of B; b is summed over and disappears."


def plain(value: float) -> str:
    """Number with at most one decimal and a real minus sign."""
    return f"{round(value, 1):g}".replace("-", "−")

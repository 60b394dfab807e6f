"""Heatmap as data, to be drawn in the browser or as a static picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import UInt8

LETTERS = 10  # longest label in a static picture


class Place(NamedTuple):
    """What is selected: a row, a column or, with both, a cell of one of the maps."""

    map: int = 0
    row: int | None = None
    column: int | None = None


class Sets(NamedTuple):
    """Control that a row or column sets when it is selected, and the control's value for the first one."""

    control: str
    first: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Heatmap:
    """Matrix of weights with a label for each row and column.

    weights: a number for each cell, as a tensor or array; NaN leaves the cell empty.
    row_name, column_name, value_name: names of a row, a column and a number, such as "query".
    low, high: values at the ends of the colors. diverging: colors with a neutral middle.
    masked: True where a cell is gray and shows `masked_text` in place of its number.
    numbers: whether the cells show their numbers, with this many digits after the point.
    texts: what the cells show in place of their numbers. descriptions: what is said of a cell that is pointed
    at or selected, in place of its value.
    proportion: height of a cell over its width, where there is room.
    picture: an RGB or RGBA image behind all cells, in place of their colors; it sets their proportion.
    marked: place to frame instead of the user's selection. sheets: number of matrices in the stack that has
    this one on top.
    row_sets, column_sets: the control that a selected row or column sets.
    Raises ValueError if the labels or the mask do not fit the weights.
    """

    weights: Any
    rows: Sequence[str]
    columns: Sequence[str]
    title: str = ""
    row_name: str = "query"
    column_name: str = "key"
    value_name: str = "weight"
    low: float | int = 0.0
    high: float | int = 1.0
    diverging: bool = False
    masked: Any = None
    masked_text: str = ""
    numbers: bool = False
    digits: int = 2
    texts: Sequence[Sequence[str]] | None = None
    descriptions: Sequence[Sequence[str]] | None = None
    proportion: float = 1.0
    picture: UInt8[np.ndarray, "height width _"] | None = None
    marked: Place | None = None
    sheets: int = 1
    row_sets: Sets | None = None
    column_sets: Sets | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", np.asarray(self.weights, dtype=np.float32))
        object.__setattr__(self, "rows", [label(row) for row in self.rows])
        object.__setattr__(self, "columns", [label(column) for column in self.columns])
        labels = (len(self.rows), len(self.columns))
        if self.weights.shape != labels:
            raise ValueError(f"weights of shape {self.weights.shape} do not fit {labels} labels")
        if self.masked is not None:
            object.__setattr__(self, "masked", np.asarray(self.masked, dtype=bool))
            if self.masked.shape != labels:
                raise ValueError(f"masked of shape {self.masked.shape} does not fit {labels} labels")
        if self.picture is not None:
            height, width = (size / count for size, count in zip(self.picture.shape, labels, strict=False))
            object.__setattr__(self, "proportion", height / width)

    def state(self) -> dict[str, Any]:
        """Data for the browser: names as in js/attention_map.js, arrays as bytes."""
        return {
            "weights": self.weights.tobytes(),
            "masked": None if self.masked is None else self.masked.astype(np.uint8).tobytes(),
            "maskedText": self.masked_text,
            "rows": self.rows,
            "columns": self.columns,
            "title": self.title,
            "rowName": self.row_name,
            "columnName": self.column_name,
            "valueName": self.value_name,
            "low": self.low,
            "high": self.high,
            "diverging": self.diverging,
            "numbers": self.numbers,
            "digits": self.digits,
            "texts": flat(self.texts),
            "descriptions": flat(self.descriptions),
            "picture": None if self.picture is None else rgba(self.picture),
            "proportion": self.proportion,
            "marked": self.marked and {"row": self.marked.row, "column": self.marked.column},
            "sheets": self.sheets,
        }

    def text(self, row: int, column: int) -> str:
        """Text of a cell, shown if there is room for it."""
        if self.masked is not None and self.masked[row, column] and self.masked_text:
            return self.masked_text
        if self.texts is not None:
            return self.texts[row][column]
        value = float(self.weights[row, column])
        return "" if np.isnan(value) else written(value, self.digits)


def written(value: float | int, digits: int) -> str:
    """Number with a minus sign; an exact zero is short, as in js/attention_map.js."""
    return "0" if value == 0 else f"{value:.{digits}f}".replace("-", "−")


def image_of(weights: Any, **more: Any) -> Heatmap:
    """An image, or weights on its patches, in numbered rows and columns. more: fields of `Heatmap`."""
    rows, columns = ([str(i + 1) for i in range(size)] for size in np.shape(weights))
    return Heatmap(weights=weights, rows=rows, columns=columns, row_name="row", column_name="column", **more)


def list_of(numbers: Any, names: Sequence[str], **more: Any) -> Heatmap:
    """A number for each name, below each other: a map with a single column. more: fields of `Heatmap`."""
    column = np.asarray(numbers, dtype=np.float32)[:, None]
    return Heatmap(weights=column, rows=names, columns=[""], column_name="", numbers=True, **more)


def flat(texts: Sequence[Sequence[str]] | None) -> list[str] | None:
    """Texts of the cells, row by row."""
    return None if texts is None else [text for row in texts for text in row]


def rgba(picture: UInt8[np.ndarray, "height width _"]) -> dict[str, Any]:
    """Bytes and width of an image, opaque unless it says otherwise, as a canvas takes them."""
    opaque = np.full(picture.shape[:2], 255, dtype=np.uint8)
    return {"bytes": np.dstack([picture, opaque])[..., :4].tobytes(), "width": picture.shape[1]}


def label(token: str) -> str:
    """Token on one line: spaces at its ends show as ␣, a line break as ↵, a tab as →."""
    shown = token.replace("\n", "↵").replace("\t", "→")
    inner = shown.strip(" ")
    before = len(shown) - len(shown.lstrip(" "))
    return "␣" * before + inner + "␣" * (len(shown) - before - len(inner))


def shortened(text: str, letters: int = LETTERS) -> str:
    """Label for a static picture, cut to this many characters."""
    return text if len(text) <= letters else text[: letters - 1] + "…"

"""Heatmap as data: what an attention map shows, in a browser or in a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

LETTERS = 10  # most letters of a label in a picture


class Place(NamedTuple):
    """What is selected: a row, a column or, with both, a cell of one of the maps."""

    map: int = 0
    row: int | None = None
    column: int | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Heatmap:
    """Matrix of weights with a label for each row and column.

    weights: a number for each cell, as a tensor or array; NaN leaves the cell empty.
    row_name, column_name, value_name: what a row, a column and a number is called.
    low, high: values at the ends of the colors. diverging: colors with a neutral middle.
    masked: True where a cell is gray and shows `masked_text` in place of its number.
    numbers: whether the cells show their numbers, with this many digits after the point.
    texts: what the cells show in place of their numbers.
    marked: what is framed in place of what the user selects. sheets: so many matrices lie in the stack
    of which this is the one on top.
    Raises ValueError where the labels or the mask do not fit the weights.
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
    marked: Place | None = None
    sheets: int = 1

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

    def state(self) -> dict[str, Any]:
        """What the browser gets: names as in js/attention_map.js, arrays as bytes."""
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
            "texts": None if self.texts is None else [text for row in self.texts for text in row],
            "marked": None if self.marked is None else {"row": self.marked.row, "column": self.marked.column},
            "sheets": self.sheets,
        }

    def text(self, row: int, column: int) -> str:
        """What a cell shows where it has room for a number."""
        if self.masked is not None and self.masked[row, column] and self.masked_text:
            return self.masked_text
        if self.texts is not None:
            return self.texts[row][column]
        value = float(self.weights[row, column])
        if np.isnan(value):
            return ""
        return "0" if value == 0 else f"{value:.{self.digits}f}".replace("-", "−")


def label(token: str) -> str:
    """Token on one line: spaces at its ends show as ␣, a line break as ↵, a tab as →."""
    shown = token.replace("\n", "↵").replace("\t", "→")
    inner = shown.strip(" ")
    before = len(shown) - len(shown.lstrip(" "))
    return "␣" * before + inner + "␣" * (len(shown) - before - len(inner))


def shortened(text: str, letters: int = LETTERS) -> str:
    """Label for a picture, where nothing shows the rest of a long one."""
    return text if len(text) <= letters else text[: letters - 1] + "…"

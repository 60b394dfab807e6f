"""Drawing of a batch of matrices: sheets behind each other, one of them with its entries."""

from jaxtyping import Float
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from torch import Tensor

BACK = 0.3  # offset between sheets, in cells
Mark = tuple[int | None, int | None]  # row and column; None: all of them


class Stack:
    """Stack of matrices, one of which shows its entries; a cell has side 1, and y points down.

    colour: color of the mark. most: largest number of entries of a matrix.
    """

    def __init__(self, axes: Axes, colour: str, most: int):
        small, look = {"size": rcParams["xtick.labelsize"]}, {"animated": True, "ha": "center"}
        self.edge = colour
        self.tint = tuple(1 - 0.4 * (1 - part) for part in to_rgb(colour))
        self.boxes = axes.add_collection(PolyCollection([], animated=True))
        self.numbers = [axes.text(0, 0, "", va="center", **small, **look) for _ in range(most)]
        self.title = axes.text(0, 0, "", va="bottom", linespacing=1.2, **look)
        self.rows = axes.text(0, 0, "", va="center", rotation=90, **small, **look)
        self.columns = axes.text(0, 0, "", va="top", **small, **look)

    def draw(self, matrices: Float[Tensor, "n rows columns"], element: int, mark: Mark, x: float) -> None:
        """Draw the front sheet at x, write entries on the sheet `element`, mark its row, column or entry."""
        (n, rows, columns), (row, column) = matrices.shape, mark
        self.x, corners = x, [(x + BACK * i, -rows / 2 - BACK * i) for i in range(n)]
        left, top = corners[element]
        sheets = [box(*corners[i], columns, rows) for i in reversed(range(n)) if i != element]
        cells = [(i, j) for i in range(rows) for j in range(columns)]
        squares = [box(left + j, top + i, 1, 1) for i, j in cells]
        marked = [row in (None, i) and column in (None, j) for i, j in cells]
        wide, high = columns if column is None else 1, rows if row is None else 1
        frame = box(left + (column or 0), top + (row or 0), wide, high)
        self.boxes.set_verts([*sheets, *squares, frame])
        self.boxes.set(
            facecolor=["0.95"] * len(sheets) + [self.tint if yes else "white" for yes in marked] + ["none"],
            edgecolor=["0.6"] * len(sheets) + ["0.8"] * len(cells) + [self.edge],
            linewidth=[1] * (len(sheets) + len(cells)) + [1.4 * rcParams["lines.linewidth"]],
        )
        self.write(matrices[element].tolist(), left, top)

    def write(self, matrix: list[list[float]], left: float, top: float) -> None:
        """Write the entries into the cells."""
        places = [(i, j, value) for i, row in enumerate(matrix) for j, value in enumerate(row)]
        for number in self.numbers[len(places) :]:
            number.set_text("")
        for number, (i, j, value) in zip(self.numbers, places, strict=False):
            number.set(x=left + j + 0.5, y=top + i + 0.52, text=plain(value))

    def label(self, name: str, shape: tuple[int, ...], sides: tuple[str, str]) -> None:
        """Label the stack: name and shape above, row axis on the left, column axis below."""
        n, rows, columns = shape
        back, middle = BACK * (n - 1), self.x + columns / 2
        self.title.set(x=middle + back / 2, y=-rows / 2 - back - 0.15, text=f"{name}\n{shape}")
        self.rows.set(x=self.x - 0.5, y=0, text=sides[0])
        self.columns.set(x=middle, y=rows / 2 + 0.15, text=sides[1])


def box(x: float, y: float, width: int, height: int) -> list[tuple[float, float]]:
    """Corners of a rectangle."""
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def plain(value: float) -> str:
    """Number with at most one decimal and a real minus sign."""
    return f"{round(value, 1):g}".replace("-", "−")

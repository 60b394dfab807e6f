"""Diagrams of attention: queries, keys and values; heads side by side; splitting into heads."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.viz.diagrams import KEY, LINE, PALE, QUERY, VALUE, Point, arrow, box, canvas, rounded
from course_lib.viz.figures import show
from course_lib.viz.style import PALETTE, style_context

HEAD_COLORS = PALETTE[0], PALETTE[1]

QKV_IN_WORDS = """Diagram of one attention head. Three tokens, 6, minus and 2, are each projected to a query
q, a key k and a value v. The query of the minus sign is compared with every key, which gives the scores 2,
0 and 0; softmax turns them into the weights 0.79, 0.11 and 0.11. The result is the average of the values
with these weights."""
HEADS_IN_WORDS = """Diagram of multi-head attention. The tokens x go into two heads side by side. Each head
has its own W_Q, W_K, W_V and its own attention pattern, one below the diagonal and one above it. The
results of the heads are concatenated, and the output projection W_O mixes them."""
SPLIT_HEADS_IN_WORDS = """Diagram of splitting. A matrix of 3 tokens by 4 columns holds the numbers 0 to 11,
row by row. Its first two columns become head 0 (0 1, 4 5, 8 9), its last two become head 1 (2 3, 6 7, 10
11). After attention, merging puts them side by side again."""


def diagram_qkv() -> None:
    """Show one head at work: project to queries, keys and values; score, softmax, average."""
    show(qkv_figure(), alt=QKV_IN_WORDS)


def diagram_heads() -> None:
    """Show multi-head attention: two heads side by side, concatenated and mixed by the output projection."""
    show(heads_figure(), alt=HEADS_IN_WORDS)


def diagram_split_heads() -> None:
    """Show how Q, K or V of shape (tokens, d_model) is split into heads and merged again."""
    show(split_heads_figure(), alt=SPLIT_HEADS_IN_WORDS)


@style_context()
def qkv_figure() -> Figure:
    """Draw the diagram of `diagram_qkv`."""
    figure, axes = canvas(62, 45)
    for y, step in (
        (4, "tokens x"), (13, "project with\n$W_Q$, $W_K$, $W_V$"),
        (23, "scores\n$q \\cdot k\\,/\\sqrt{d_{head}}$"),
        (32, "weights\n(softmax)"), (41, "output"),
    ):  # fmt: skip
        axes.text(0.5, y, step, ha="left", va="center")
    columns = (21, 36, 51)
    for x, token, score, weight in zip(columns, "6−2", "200", ("0.79", "0.11", "0.11"), strict=True):
        box(axes, (x, 4), token, 10)
        asks = token == "−"
        for shift, name, color in ((-4, "q", QUERY), (0, "k", KEY), (4, "v", VALUE)):
            arrow(axes, (x + shift / 2, 6), (x + shift, 11))
            box(axes, (x + shift, 13), name, 3.4, PALE if name == "q" and not asks else color)
        box(axes, (x - 1, 23), score, 6)
        arrow(axes, (x, 15), (x - 0.5, 21), KEY)
        arrow(axes, (columns[1] - 4, 15), (x - 2, 21), QUERY)
        box(axes, (x, 32), f"{weight} × v", 10)
        arrow(axes, (x - 1, 25), (x - 1, 30))
        arrow(axes, (x + 4, 15), (x + 4, 30), VALUE)
        arrow(axes, (x, 34), (columns[1] + (x - columns[1]) / 4, 39))
    box(axes, (columns[1], 41), "average of the values: 4.93", 28)
    return figure


@style_context()
def heads_figure() -> Figure:
    """Draw the diagram of `diagram_heads`."""
    figure, axes = canvas(62, 45)
    box(axes, (31, 3), "tokens x   (tokens, d_model)", 30)
    for head, (x, shift) in enumerate(((16, -1), (46, 1))):
        color = HEAD_COLORS[head]
        arrow(axes, (31 + (x - 31) / 3, 5), (x, 9))
        axes.add_patch(rounded((x, 18), 26, 18, color))
        axes.text(x, 25, f"head {head}", ha="center", va="center", weight="bold", color=color)
        axes.text(x + 6.5, 22, "pattern", ha="center", va="center")
        axes.text(x - 11.5, 20.5, "its own\n$W_Q$, $W_K$, $W_V$", ha="left", va="center")
        axes.text(x - 11.5, 13, "d_model\n→ d_head", ha="left", va="center")
        _pattern(axes, (x + 2, 11.5), 3, shift, color)
        arrow(axes, (x, 27), (31 + (x - 31) / 3, 31.5))
    for left, head in ((19, 0), (31, 1)):
        axes.add_patch(plt.Rectangle((left, 31.5), 12, 4, facecolor=HEAD_COLORS[head], alpha=0.35))
        axes.text(left + 6, 33.5, f"head {head}", ha="center", va="center")
    axes.text(45, 33.5, "concatenate", ha="left", va="center")
    arrow(axes, (31, 35.5), (31, 39.5))
    box(axes, (31, 41.5), "output projection $W_O$", 24)
    return figure


@style_context()
def split_heads_figure() -> Figure:
    """Draw the diagram of `diagram_split_heads`."""
    figure, axes = canvas(62, 31)
    whole = [[(number, number // 2 % 2) for number in range(4 * row, 4 * row + 4)] for row in range(3)]
    _matrix(axes, (1, 11), whole, "Q, K or V\n(tokens, d_model)")
    for head, y in ((0, 18), (1, 2)):
        part = [[cell for cell in row if cell[1] == head] for row in whole]
        _matrix(axes, (27, y), part, f"head {head}: (tokens, d_head)")
        arrow(axes, (14.5, 15.5), (26, y + 4.5))
        arrow(axes, (34, y + 4.5), (46, 15.5))
    _matrix(axes, (47, 11), whole, "merged\n(tokens, d_model)")
    for x, word in ((15.5, "split"), (45.5, "merge")):
        axes.text(x, 24.5, word, ha="center", va="center", weight="bold")
    return figure


def _pattern(axes: Axes, corner: Point, side: float | int, shift: int, color: str) -> None:
    """A 3 × 3 attention pattern with its weight at offset `shift` from the diagonal."""
    for row in range(3):
        for column in range(3):
            place = corner[0] + side * column, corner[1] + side * (2 - row)
            weight = 0.8 if column == row + shift else 0.1
            square = {"facecolor": color, "edgecolor": LINE, "linewidth": 0.5}
            axes.add_patch(plt.Rectangle(place, side, side, alpha=weight, **square))


def _matrix(axes: Axes, corner: Point, rows: Sequence[Sequence[tuple[int, int]]], title: str) -> None:
    """A matrix of numbers, each colored by its head."""
    for y, row in enumerate(reversed(rows)):
        for x, (number, head) in enumerate(row):
            place = corner[0] + 3.3 * x, corner[1] + 3 * y
            axes.add_patch(plt.Rectangle(place, 3.3, 3, facecolor=HEAD_COLORS[head], alpha=0.35))
            axes.text(place[0] + 1.65, place[1] + 1.5, str(number), ha="center", va="center")
    middle = corner[0] + 3.3 * len(rows[0]) / 2
    axes.text(middle, corner[1] - 0.7 if "\n" in title else corner[1] + 9.6, title, ha="center",
              va="top" if "\n" in title else "bottom")  # fmt: skip

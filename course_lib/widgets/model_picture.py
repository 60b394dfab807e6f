"""Static picture of the model explorer, for pages that draw no widgets."""

import textwrap
from collections.abc import Sequence
from typing import TypeAlias

from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from torch import Tensor

from course_lib.text.tokenizers import Vocabulary
from course_lib.viz import figures
from course_lib.viz.style import PALETTE, style_context
from course_lib.widgets.heatmap import shortened
from course_lib.widgets.model_tour import Step
from course_lib.widgets.model_trace import BlockTrace, Trace
from course_lib.widgets.token_words import shown

WIDTH, HEIGHT = 11.0, 5.2  # inches
ENCODER, DECODER, NEXT = PALETTE[0], PALETTE[4], PALETTE[3]
BARS = 6
LINE, LETTERS = 0.205, 150  # of the tour below the picture: inches and letters to the line
AT_WORK = "In a running notebook, the tour opens these parts one by one:"
AT_REST = "Run the notebook up to this cell to open the boxes and to type your own sentence."
Point: TypeAlias = tuple[float, float]


def picture(
    trace: Trace, tokenizer: Vocabulary, sentence: str, step: int, tour: Sequence[Step] = ()
) -> bytes:
    """A PNG of the whole model at one step: tokens, a head of each block, and the next token.

    tour: steps that are numbered in the picture and written below it.
    """
    with style_context(projector=False):
        rows = 2 if trace.encoder else 1
        height = HEIGHT if trace.encoder else HEIGHT * 0.6
        words = (
            [AT_WORK, *(f"{i}  {one['text']}" for i, one in enumerate(tour, start=1))] if tour else [AT_REST]
        )
        lines = [line for one in words for line in textwrap.wrap(one, LETTERS)]
        below = LINE * (0.5 + len(lines))
        whole = Figure(figsize=(WIDTH, height + below), layout="none")
        figure, foot = whole.subfigures(2, 1, height_ratios=(height, below))
        figure.text(0.02, 1 - 0.22 / height, f"“{shortened(sentence, 90)}”", fontsize=12, va="center")
        columns = max(1 + len(trace.encoder), 2 + len(trace.decoder))
        grid = Grid(figure, rows, columns)
        read = trace.prompt + step
        if trace.encoder:
            grid.words(0, 0, "Source tokens", trace.source, ENCODER)
            for i, block in enumerate(trace.encoder):
                grid.block(0, i + 1, block, len(trace.source), ENCODER)
        last = rows - 1
        grid.words(last, 0, "Tokens so far", trace.target[:read], DECODER)
        for i, block in enumerate(trace.decoder):
            grid.block(last, i + 1, block, read, DECODER)
        grid.next_token(last, columns - 1, trace.logits[step], tokenizer)
        if trace.encoder:
            for i in range(len(trace.decoder)):
                grid.across(columns - 1, i + 1)
        if tour:
            grid.number_steps(columns - 1)
        foot.text(0.02, 1, "\n".join(lines), va="top", fontsize=10, linespacing=1.45)
        return figures.png(whole, figures.CSS_DPI * 1.5)


class Grid:
    """Boxes in rows and columns, with arrows between them."""

    def __init__(self, figure: SubFigure, rows: int, columns: int):
        self.figure, self.rows, self.columns = figure, rows, columns
        self.axes = figure.add_axes((0, 0, 1, 1), zorder=-1)
        self.axes.set_axis_off()
        self.axes.set(xlim=(0, 1), ylim=(0, 1))

    def place(self, row: int, column: int) -> tuple[float, float, float, float]:
        """Left, bottom, width and height of a box."""
        across, up = 1 / self.columns, 0.9 / self.rows
        return column * across + 0.02, 0.92 - (row + 1) * up + 0.05, across - 0.04, up - 0.09

    def box(self, row: int, column: int, title: str, color: str) -> tuple[float, float, float, float]:
        """Draw a box with a title and an arrow from the box before it; returns its place."""
        left, bottom, width, height = self.place(row, column)
        look = {"boxstyle": "round,pad=0,rounding_size=0.008", "facecolor": "white", "edgecolor": color}
        self.axes.add_patch(FancyBboxPatch((left, bottom), width, height, linewidth=1.5, **look))
        self.axes.text(left + 0.01, bottom + height - 0.04, title, weight="bold", va="center", color="black")
        if column:
            middle = bottom + height / 2
            self.arrow((left - 0.04, middle), (left, middle), "0.35")
        return left, bottom, width, height

    def arrow(self, start: Point, end: Point, color: str, style: str = "-") -> None:
        look = {"arrowstyle": "-|>", "mutation_scale": 10, "color": color, "shrinkA": 0, "shrinkB": 0}
        self.axes.add_patch(FancyArrowPatch(start, end, linestyle=style, **look))

    def across(self, start: int, end: int) -> None:
        """An arrow from the last box of the first row to a box below: keys and values."""
        left, bottom, width, _ = self.place(0, start)
        below = self.place(1, end)
        self.arrow((left + width / 2, bottom), (below[0] + below[2] / 2, below[1] + below[3]), ENCODER, "--")

    def number_steps(self, last: int) -> None:
        """The numbers of the tour at what its steps open; the last one is about all boxes."""
        left, bottom, width, height = self.place(0, 1)
        map_left, map_top = left + 0.01, bottom + height - 0.13
        spots = (
            (0.012, 0.958), self.place(0, 0), (left, bottom), (map_left, map_top),
            (map_left + 0.06, map_top - 0.08), (left + width + 0.02, bottom + height / 2),
            self.place(self.rows - 1, last),
        )  # fmt: skip
        look = {"boxstyle": "circle,pad=0.25", "facecolor": NEXT, "edgecolor": "white"}
        for i, spot in enumerate(spots, start=1):
            x, y = spot[:2]
            y += spot[3] if len(spot) == 4 else height if spot == (left, bottom) else 0
            self.figure.text(x, y, str(i), ha="center", va="center", color="white", weight="bold",
                             fontsize=9, bbox=look, zorder=6)  # fmt: skip

    def words(self, row: int, column: int, title: str, tokens: list[str], color: str) -> None:
        """A box with tokens, as many as fit."""
        left, bottom, width, height = self.box(row, column, title, color)
        lines = wrapped([token.removeprefix("▁") for token in tokens], 22)[:7]
        self.axes.text(left + 0.01, bottom + height - 0.09, "\n".join(lines), va="top", linespacing=1.4)

    def block(self, row: int, column: int, block: BlockTrace, tokens: int, color: str) -> None:
        """A box with the first head of each attention layer."""
        left, bottom, width, height = self.box(row, column, block.name, color)
        count = len(block.attentions)
        for i, attention in enumerate(block.attentions):
            room = (width - 0.02) / count
            where = (left + 0.01 + i * room, bottom + 0.03, room - 0.01, height - 0.16)
            axes = self.figure.add_axes(where)
            keys = tokens if attention.name == "Self-attention" else attention.weights.shape[2]
            weights = attention.weights[0, :tokens, :keys].numpy()
            axes.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
            axes.set_title(attention.name, fontsize=9, pad=3)
            bare(axes)

    def next_token(self, row: int, column: int, logits: Float[Tensor, " vocab"], words: Vocabulary) -> None:
        """A box with the most likely next tokens."""
        left, bottom, width, height = self.box(row, column, "Next token", NEXT)
        p, ids = logits.softmax(-1).topk(BARS)
        axes = self.figure.add_axes((left + 0.4 * width, bottom + 0.03, 0.55 * width, height - 0.12))
        axes.barh(range(BARS), p.tolist(), color=NEXT)
        names = [shown(words, i).removeprefix("▁") for i in ids.tolist()]
        axes.set(xlim=(0, 1), ylim=(BARS - 0.4, -0.6), yticks=range(BARS), xticks=[])
        axes.set_yticklabels(names)
        axes.grid(False)
        for side in axes.spines.values():
            side.set_visible(False)


def bare(axes: Axes) -> None:
    """Axes without ticks and grid."""
    axes.set(xticks=[], yticks=[])
    axes.grid(False)


def wrapped(words: list[str], width: int) -> list[str]:
    """The words in lines of at most `width` letters."""
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) + 2 > width:
            lines.append("")
        lines[-1] += ("  " if lines[-1] else "") + shortened(word, width)
    return lines

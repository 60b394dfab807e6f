"""The map of the course: an encoder-decoder Transformer with each chapter at the part it builds."""

from dataclasses import dataclass

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

from course_lib.viz.diagrams import MIDDLE, Number, Point, canvas
from course_lib.viz.style import PALETTE, style_context

CHAPTERS = range(11)
WIDTH, HEIGHT = 70, 104  # of the map in its own units; a unit is a tenth of an inch at 10 pt
LINE = "0.35"
LOOK = {
    "arrowstyle": "-|>",
    "color": LINE,
    "linewidth": 1.3,
    "shrinkA": 0,
    "shrinkB": 0,
    "mutation_scale": 11,
}

MAP_IN_WORDS = """Map of the course: an encoder-decoder Transformer. Both columns begin with tokens
turned into vectors (chapter 6) and positions (4). The encoder block has self-attention (3) and
feed-forward (5), the decoder block masked self-attention (2), cross-attention (3), fed by the encoder,
and feed-forward (5); each part has a residual connection and LayerNorm (5). Above the decoder come
linear and softmax (1), and training, decoding and BLEU (6). Inside every attention: scores (1), divided
by √d (1), mask (2), softmax (1), average of the values (0), several heads (3). From the same parts: GPT
(7), vision Transformer (8), text classifier (9), attention between pixels (10)."""


@dataclass(frozen=True)
class Box:
    """A part of the model and the chapter that builds it; x and y are its lower left corner."""

    text: str
    chapter: int
    x: Number
    y: Number
    width: Number = 23
    height: Number = 5


FRAMES = (  # what belongs together, behind the boxes
    Box("encoder block", 5, 3, 58, 29, 21.5),
    Box("decoder block", 5, 38, 58, 29, 29),
)
ENCODER = (
    Box("tokens to vectors", 6, 6, 43),
    Box("add positions", 4, 6, 50.5),
    Box("self-attention", 3, 6, 61),
    Box("feed-forward", 5, 6, 69.5),
)
DECODER = (
    Box("tokens to vectors", 6, 41, 43),
    Box("add positions", 4, 41, 50.5),
    Box("masked self-attention", 2, 41, 61),
    Box("cross-attention", 3, 41, 69),
    Box("feed-forward", 5, 41, 77),
    Box("linear, softmax", 1, 41, 90.5),
)
INSIDE = (
    Box("scores\nq · k", 1, 3, 26, 10.4, 6.5),
    Box("divide\nby √d", 1, 16.4, 26, 10.4, 6.5),
    Box("mask", 2, 29.8, 26, 10.4, 6.5),
    Box("softmax", 1, 43.2, 26, 10.4, 6.5),
    Box("average\nof values", 0, 56.6, 26, 10.4, 6.5),
)
OTHERS = (
    Box("several heads, side by side", 3, 3, 18.2, 64, 4),
    Box("train it, let it write,\nscore it with BLEU", 6, 6, 90, 23, 6.5),
    Box("GPT:\ndecoder\nalone", 7, 3, 3, 14, 8.5),
    Box("images:\nencoder\nalone", 8, 19.7, 3, 14, 8.5),
    Box("classifying\ntext", 9, 36.4, 3, 14, 8.5),
    Box("attention\nbetween\npixels", 10, 53, 3, 14, 8.5),
)
BOXES = (*FRAMES, *ENCODER, *DECODER, *INSIDE, *OTHERS)


@style_context()
def course_map(here: int | None = None) -> Figure:
    """Draw the map: each part bears the number of its chapter.

    here: a chapter whose parts are framed in orange.
    Raises ValueError for a chapter that does not exist.
    """
    if here is not None and here not in CHAPTERS:
        raise ValueError(f"here={here} is not a chapter: they run from {CHAPTERS[0]} to {CHAPTERS[-1]}")
    figure, axes = canvas(WIDTH, HEIGHT)
    _draw_arrows(axes)
    for box in BOXES:
        _draw_box(axes, box, here, frame=box in FRAMES)
    _draw_words(axes)
    return figure


def _draw_box(axes: Axes, box: Box, here: int | None, frame: bool) -> None:
    marked = here == box.chapter
    axes.add_patch(FancyBboxPatch(
        (box.x, box.y), box.width, box.height, boxstyle="round,pad=0,rounding_size=0.9",
        facecolor="0.97" if frame else "white",
        edgecolor=PALETTE[1] if marked else LINE,
        linewidth=3 if marked else 1.3,
    ))  # fmt: skip
    if frame:
        _draw_frame_words(axes, box)
    else:
        axes.text(box.x + box.width / 2, box.y + box.height / 2, box.text, **MIDDLE, linespacing=1.15)
    _draw_disc(axes, box.x, box.y + box.height, box.chapter)


def _draw_frame_words(axes: Axes, frame: Box) -> None:
    """The block's name on one side of the arrow that leaves it, what surrounds each part on the other."""
    y = frame.y + frame.height - 2.4
    axes.text(frame.x + 2, y, frame.text, ha="left", va="center", weight="bold")
    small = plt.rcParams["xtick.labelsize"]
    axes.text(frame.x + frame.width - 1, y, "residual,\nLayerNorm", ha="right", va="center", size=small,
              linespacing=1.05)  # fmt: skip


def _draw_disc(axes: Axes, x: Number, y: Number, chapter: int | str) -> None:
    axes.add_patch(Circle((x, y), 1.55, facecolor=PALETTE[0], edgecolor="white", zorder=3))
    small = plt.rcParams["xtick.labelsize"]
    axes.text(x, y, str(chapter), size=small, color="white", weight="bold", zorder=4,
              ha="center", va="center_baseline")  # fmt: skip


def _draw_arrows(axes: Axes) -> None:
    for column in (ENCODER, DECODER):
        x = column[0].x + column[0].width / 2
        _arrow(axes, (x, column[0].y - 2), (x, column[0].y))
        for below, above in zip(column, column[1:], strict=False):
            _arrow(axes, (x, below.y + below.height), (x, above.y))
    top, out = ENCODER[-1], DECODER[-1]
    _arrow(axes, (52.5, out.y + out.height), (52.5, out.y + out.height + 2.5))
    turn, goal = 35, DECODER[3]
    x, end = top.x + top.width / 2, goal.y + goal.height / 2
    axes.plot([x, x, turn, turn], [top.y + top.height, 82, 82, end], color=LINE, linewidth=1.3, zorder=1.5)
    _arrow(axes, (turn, end), (goal.x, end))
    for left, right in zip(INSIDE, INSIDE[1:], strict=False):
        middle = left.y + left.height / 2
        _arrow(axes, (left.x + left.width, middle), (right.x, middle))


def _arrow(axes: Axes, start: Point, end: Point) -> None:
    axes.annotate("", end, start, arrowprops=LOOK, zorder=1.5)


def _draw_words(axes: Axes) -> None:
    axes.text(17.5, 39.7, "English sentence", **MIDDLE, style="italic")
    axes.text(52.5, 39.7, "Spanish so far", **MIDDLE, style="italic")
    axes.text(52.5, 99.5, "the next Spanish token", **MIDDLE, style="italic")
    axes.text(17.5, 83.5, "keys and values", ha="center", va="bottom", size=plt.rcParams["xtick.labelsize"])
    for y, words in ((35.4, "Inside every attention"), (14, "From the same parts")):
        axes.text(3, y, words, ha="left", va="center", weight="bold")
    _draw_disc(axes, 56.5, 14, "n")
    axes.text(67, 14, "chapter n", ha="right", va="center")

"""Byte-pair encoding at work: a typed text in tokens, with as many merges as the slider says."""

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle

import ipywidgets
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib.chapters.ch06_translation.real_words import stored
from course_lib.text.bpe import FIRST, ByteBPE
from course_lib.widgets.explorer import Explorer, slider

TEXT = "Mañana comeré unas manzanas, ¡buenísimas! 🍎"
MERGES = (0, 20, 50, 100, 200, 500, 1000, 2000, 3000)
COLORS = ("#cfe5f5", "#fbe3c0", "#d3eedd", "#f3d9e6")
WIDTH = 0.602  # of a monospaced letter, in font sizes
LINE = 2.0  # spacing of the lines, in font sizes
SIDE = 0.02  # margin, as a fraction of the figure


def subword_explorer(text: str = TEXT) -> Explorer:
    """A text in tokens of byte-level BPE, by the first merges learned from real sentence pairs."""
    return Explorer(
        {
            "text": ipywidgets.Text(
                value=text, description="text", continuous_update=False, layout={"width": "34em"}
            ),
            "merges": slider(ipywidgets.SelectionSlider, "merges", options=MERGES),
        },
        subword_picture,
        "a text field, and a slider for the number of merges, above the tokens of the text as colored boxes.",
        size=(7.0, 1.7),
    )


def subword_picture(figure: Figure) -> Callable[..., str]:
    """The tokens of the text as boxes, line by line."""
    axes = figure.add_axes((SIDE, 0.02, 1 - 2 * SIDE, 0.96))
    axes.set_axis_off()
    boxes = TokenBoxes(axes)

    def update(text: str, merges: int) -> str:
        tokenizer = ByteBPE(stored().merges[:merges])
        pieces = [tokenizer.pieces[i - FIRST] for i in tokenizer.encode(text)]
        left_out = boxes.draw([label(piece) for piece in pieces])
        more = f" The last {left_out} tokens do not fit into the picture." if left_out else ""
        tokens = "1 token" if len(pieces) == 1 else f"{len(pieces)} tokens"
        return (
            f"{merges} merges, a vocabulary of {256 + merges}: {len(text)} characters are "
            f"{len(text.encode())} bytes and {tokens}.{more}"
        )

    return update


def label(piece: bytes) -> str:
    """A token as text, with a space as ␣; a part of a character as hexadecimal bytes."""
    try:
        return piece.decode().replace(" ", "␣").replace("\n", "↵").replace("\t", "→")
    except UnicodeDecodeError:
        return piece.hex(" ").upper()


class TokenBoxes:
    """Labels in colored boxes, from left to right, in as many lines as there is room for."""

    def __init__(self, axes: Axes):
        size = rcParams["xtick.labelsize"] + 1
        place, figure = axes.get_position(), axes.figure
        self.columns = int(place.width * figure.get_figwidth() * 72 / (WIDTH * size))
        self.rows = int(place.height * figure.get_figheight() * 72 / (LINE * size))
        axes.set(xlim=(0, self.columns), ylim=(self.rows, 0))
        look = {"ha": "center", "va": "center", "family": "DejaVu Sans Mono", "parse_math": False}
        look |= {"size": size, "animated": True, "color": "black"}
        most = self.rows * self.columns // 3
        self.boxes = [Rectangle((0, 0), 0, 0.8, linewidth=0, animated=True) for _ in range(most)]
        for box in self.boxes:
            axes.add_patch(box)
        self.texts = [axes.text(0, 0, "", **look) for _ in range(most)]

    def draw(self, labels: Sequence[str]) -> int:
        """Show these labels; returns how many do not fit."""
        shown = 0
        artists = zip(self.boxes, self.texts, cycle(COLORS), strict=False)
        for (box, text, color), (name, row, column, width) in zip(
            artists, self._places(labels), strict=False
        ):
            box.set(xy=(column, row + 0.1), width=width, facecolor=color)
            text.set(text=name, position=(column + width / 2, row + 0.5))
            shown += 1
        for box, text in zip(self.boxes[shown:], self.texts[shown:], strict=True):
            box.set_width(0)
            text.set_text("")
        return len(labels) - shown

    def _places(self, labels: Sequence[str]) -> Iterator[tuple[str, int, float, float]]:
        """Label, row, column and width of each label that fits; a label too long for a line is cut."""
        row, column = 0, 0.0
        for one in labels:
            name = one if len(one) < self.columns else one[: self.columns - 2] + "…"
            width = len(name) + 0.6
            if column + width > self.columns:
                row, column = row + 1, 0.0
            if row == self.rows:
                return
            yield name, row, column, width
            column += width + 0.4

"""Heatmap of weights with token labels for rows and columns, fast to redraw."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor

from course_lib.viz.style import PALETTE

LETTERS = 10  # most letters shown of a token
LINE = 1.25  # line spacing, in font sizes


def name(token: str, letters: int = LETTERS) -> str:
    """Token as a label: one line, truncated if long; a space shows as ␣, a line break as ↵, a tab as →."""
    shown = token.replace(" ", "␣").replace("\n", "↵").replace("\t", "→")
    return shown if len(shown) <= letters else shown[: letters - 1] + "…"


class Names:
    """Token labels, evenly spaced along one side of the axes; if there are too many, every k-th one.

    below: rotated, under the axes; otherwise to their left. A `$` in a token is a dollar sign.
    """

    def __init__(self, axes: Axes, below: bool = False):
        self.below = below
        size = rcParams["xtick.labelsize"]
        place, figure = axes.get_position(), axes.figure
        inches = (
            figure.get_figwidth() * place.width if below else figure.get_figheight() * place.height
        )  # the position of the axes must already be final
        look = {"ha": "center", "va": "top", "rotation": 90} if below else {"ha": "right", "va": "center"}
        look |= {"size": size, "parse_math": False, "animated": True, "transform": axes.transAxes}
        room = max(1, int(inches * 72 / (LINE * size)))
        self.texts = [axes.text(0, 0, "", **look) for _ in range(room)]

    def set(self, tokens: Sequence[str]) -> None:
        """Show only these tokens, from top to bottom or from left to right."""
        self.clear()
        every = math.ceil(len(tokens) / len(self.texts)) or 1
        for text, i in zip(self.texts, range(0, len(tokens), every), strict=False):
            along = (i + 0.5) / len(tokens)
            text.set(text=name(tokens[i]), position=(along, -0.02) if self.below else (-0.02, 1 - along))

    def clear(self) -> None:
        for text in self.texts:
            text.set_text("")


class TokenMap:
    """Heatmap of weights from 0 (white) to 1 (dark), one row per query token; one row is framed."""

    def __init__(self, axes: Axes):
        self.image = axes.imshow(
            [[0.0]], vmin=0, vmax=1, cmap="Blues", aspect="auto", extent=(0, 1, 1, 0),
            interpolation="nearest", animated=True,
        )  # fmt: skip
        self.frame = Rectangle((0, 0), 1, 0, fill=False, edgecolor=PALETTE[1], linewidth=2, animated=True)
        self.frame.set_clip_on(False)
        axes.add_patch(self.frame)
        axes.set(xticks=(), yticks=())
        axes.grid(visible=False)
        self.title = axes.text(
            0.5, 1.02, "", ha="center", va="bottom", size=rcParams["axes.titlesize"], animated=True,
            transform=axes.transAxes,
        )  # fmt: skip
        self.rows, self.columns = Names(axes), Names(axes, below=True)

    def draw(
        self,
        weights: Float[Tensor, "rows columns"],
        rows: Sequence[str],
        columns: Sequence[str],
        framed: int,
        title: str,
    ) -> None:
        """Show these weights; `framed` is the index of the framed row."""
        self.image.set_data(np.asarray(weights))
        self.frame.set(y=framed / len(rows), height=1 / len(rows))
        self.rows.set(rows)
        self.columns.set(columns)
        self.title.set_text(title)

    def clear(self) -> None:
        """Clear the heatmap and its labels."""
        self.image.set_data([[0.0]])
        self.frame.set_height(0)
        self.rows.clear()
        self.columns.clear()
        self.title.set_text("")

"""Labels of tokens along the side of a figure, fast to redraw."""

import math
from collections.abc import Sequence

from matplotlib import rcParams
from matplotlib.axes import Axes

from course_lib.widgets.heatmap import label, shortened

LINE = 1.25  # line spacing, in font sizes


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
            text.set(
                text=shortened(label(tokens[i])),
                position=(along, -0.02) if self.below else (-0.02, 1 - along),
            )

    def clear(self) -> None:
        for text in self.texts:
            text.set_text("")

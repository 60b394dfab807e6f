"""Bars for the likeliest next tokens: their probabilities before and after the sampling settings."""

from jaxtyping import Float
from matplotlib import rcParams
from matplotlib.axes import Axes
from torch import Tensor

from course_lib.text.tokenizers import Vocabulary
from course_lib.viz.style import PALETTE
from course_lib.widgets.token_map import Names
from course_lib.widgets.token_words import shown

MOST = 10  # tokens shown


class NextTokens:
    """Model probabilities as outlines, sampling probabilities as bars."""

    def __init__(self, axes: Axes, tokens: Vocabulary):
        self.tokens, self.rows = tokens, min(MOST, len(tokens))
        axes.set(xlim=(0, 1), ylim=(self.rows - 0.5, -0.5), xticks=(0, 0.25, 0.5, 0.75, 1), yticks=())
        axes.set_xlabel("probability of the next token")
        zeros, small = [0.0] * self.rows, rcParams["xtick.labelsize"]
        self.kept = axes.barh(range(self.rows), zeros, height=0.7, color=PALETTE[9])
        self.own = axes.barh(range(self.rows), zeros, height=0.7, fill=False, edgecolor="0.1")
        self.cut = axes.barh(range(self.rows), zeros, height=0.7, color="0.93", hatch="////", edgecolor="0.4")
        parts, labels = [self.kept, self.own, self.cut], ["sampling", "model", "cut off"]
        axes.legend(parts, labels, ncols=3, loc="lower left", bbox_to_anchor=(-0.02, 0.98))
        self.bars = (*self.kept, *self.own, *self.cut)
        for bar in self.bars:
            bar.set_animated(True)
        self.texts = [
            axes.text(1.03, row, "", va="center", animated=True, size=small) for row in range(self.rows)
        ]
        self.names = Names(axes)

    def draw(self, own: Float[Tensor, " vocab"], kept: Float[Tensor, " vocab"], written: int) -> None:
        """Show the likeliest tokens, with an arrow at the generated one."""
        best = own.topk(self.rows).indices.tolist()
        if written not in best:
            best[-1] = written
        for row, i in enumerate(best):
            p, q = own[i].item(), kept[i].item()
            self.kept[row].set_width(q)
            self.own[row].set_width(p if q else 0.0)
            self.cut[row].set_width(0.0 if q else p)
            arrow = "  ← chosen" if i == written else ""
            text = f"{q:.2f} (model {p:.2f}){arrow}" if q else f"cut off (model {p:.2f})"
            self.texts[row].set(text=text, weight="bold" if arrow else "normal")
        self.names.set([shown(self.tokens, i) for i in best])

    def clear(self) -> None:
        for bar in self.bars:
            bar.set_width(0.0)
        for text in self.texts:
            text.set_text("")
        self.names.clear()

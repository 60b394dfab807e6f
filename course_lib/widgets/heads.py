"""Attention pattern of each head of a small layer, for any sentence and number of heads."""

from collections.abc import Callable

import ipywidgets
import torch
from jaxtyping import Float
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from torch import Tensor

from course_lib.widgets.explorer import Explorer, slider
from course_lib.widgets.head_task_model import D_MODEL, ERRANDS, WORDS, look, right_words

MOST = 8  # heads: more panels would be too small to read
HEADS = tuple(heads for heads in range(1, MOST + 1) if D_MODEL % heads == 0)
SENTENCE = "your cat is a lovely cat"
HINT = "rows: queries; columns: keys (white: weight 0, dark: 1)"
WIDTH, HEIGHT = 7.0, 4.6  # inches, as are the margins and gaps below
LEFT, TOP, BELOW, TITLE, GAP = 0.85, 0.3, 0.85, 0.26, 0.1
LETTERS = 8  # most letters shown of a word
SHARE = 0.6  # mean weight on the target words from which a head is named after a task


def heads_explorer() -> Explorer:
    """Attention patterns of all heads for a typed sentence and a number of heads.

    Each number of heads has its own layer, trained to retrieve four things for every word:
    the word before, the word after, the first word, the longest word.
    """
    controls = {
        "heads": slider(ipywidgets.SelectionSlider, "heads", options=HEADS, value=4),
        "sentence": ipywidgets.Text(
            value=SENTENCE, description="sentence", continuous_update=False, layout={"width": "28em"}
        ),
    }
    for heads in HEADS:
        look(heads, SENTENCE.split())  # loads now, so moving a control does not wait
    return Explorer(
        controls,
        heads_picture,
        "a slider for the number of heads and a field to type a sentence, above the attention map of each "
        "head, words by words. It responds while the notebook is running.",
        size=(WIDTH, HEIGHT),
    )


class Panel:
    """Attention map of one head, with a title."""

    def __init__(self, axes: Axes):
        self.image = axes.imshow([[0.0]], vmin=0, vmax=1, cmap="Blues", aspect="auto", animated=True)
        self.frame = Rectangle((0, 0), 1, 1, fill=False, edgecolor="0.6", animated=True)
        axes.add_patch(self.frame)
        self.title = label(axes, ha="center", va="bottom")

    def draw(
        self, weights: Float[Tensor, "words words"], title: str, x: float, y: float, side: float
    ) -> None:
        self.image.set_data(weights.numpy())
        self.image.set(extent=(x, x + side, y + side, y), visible=True)
        self.frame.set(xy=(x, y), width=side, height=side, visible=True)
        self.title.set(text=title, x=x + side / 2, y=y - 0.03)

    def hide(self) -> None:
        self.image.set_visible(False)
        self.frame.set_visible(False)
        self.title.set_text("")


class Panels:
    """Attention maps of all heads on axes measured in inches, with words to the left and below."""

    def __init__(self, axes: Axes):
        self.panels = [Panel(axes) for _ in range(MOST)]
        self.rows = [label(axes, ha="right", va="center") for _ in range(2 * WORDS)]
        self.columns = [label(axes, ha="center", va="top", rotation=90) for _ in range(4 * WORDS)]
        axes.text(0.05, 0.08, HINT, size=rcParams["xtick.labelsize"], va="top")
        axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0), autoscale_on=False)
        axes.set_axis_off()

    def draw(self, maps: Float[Tensor, "heads words words"], words: list[str], titles: list[str]) -> None:
        """Show only these maps."""
        self.clear()
        across = columns_of(len(maps))
        down = -(-len(maps) // across)
        side = min((WIDTH - LEFT - GAP * across) / across, (HEIGHT - TOP - BELOW - TITLE * down) / down)
        start = LEFT + (WIDTH - LEFT - across * (side + GAP)) / 2
        for head, weights in enumerate(maps):
            row, column = divmod(head, across)
            x, y = start + column * (side + GAP), TOP + TITLE + row * (side + TITLE)
            self.panels[head].draw(weights, f"{head + 1}: {titles[head]}", x, y, side)
            if column == 0:
                self._words(self.rows[row * WORDS :], words, x - 0.06, y, side, upright=False)
            if row == down - 1:
                self._words(self.columns[column * WORDS :], words, x, y + side + 0.06, side, upright=True)

    def _words(
        self, texts: list[Text], words: list[str], x: float, y: float, side: float, upright: bool
    ) -> None:
        step = side / len(words)
        for i, (text, word) in enumerate(zip(texts, words, strict=False)):
            middle = step * (i + 0.5)
            place = {"x": x + middle, "y": y} if upright else {"x": x, "y": y + middle}
            text.set(text=word if len(word) <= LETTERS else word[: LETTERS - 1] + "…", **place)

    def clear(self) -> None:
        for panel in self.panels:
            panel.hide()
        for text in (*self.rows, *self.columns):
            text.set_text("")


def label(axes: Axes, **look: object) -> Text:
    """Empty animated text; a `$` in a sentence is a dollar sign, not the start of a formula."""
    return axes.text(0, 0, "", size=rcParams["xtick.labelsize"], parse_math=False, animated=True, **look)


def columns_of(heads: int) -> int:
    """Panels per row: up to three heads share one row, more use two."""
    return heads if heads <= 3 else -(-heads // 2)


def heads_picture(figure: Figure) -> Callable[..., str]:
    """Attention map of each head; titles and status line name the task it performs."""
    panels = Panels(figure.add_axes((0, 0, 1, 1)))

    def update(heads: int, sentence: str) -> str:
        words = sentence.split()
        if len(words) < 2:
            panels.clear()
            return f"{len(words)} word{'' if words else 's'}: type at least two."
        kept = words[:WORDS]
        maps, brought = look(heads, kept)
        habits = [habit(weights, [len(word) for word in kept]) for weights in maps]
        panels.draw(maps, kept, [name.removeprefix("the ") for name, _ in habits])
        left_out = f"Only the first {WORDS} of {len(words)} words are used. " if len(words) > WORDS else ""
        return left_out + in_words(habits, brought)

    return update


def habit(weights: Float[Tensor, "words words"], lengths: list[int]) -> tuple[str, float]:
    """Task that a head's weights match best ("mixed" if none), and the mean weight on its target words."""
    right = right_words(torch.tensor(lengths, dtype=torch.float))
    on_target = torch.where(right > 0, weights, 0.0).sum(dim=-1).mean(dim=-1)
    best = int(on_target.argmax())
    return (ERRANDS[best] if on_target[best] >= SHARE else "mixed"), on_target[best].item()


def in_words(habits: list[tuple[str, float]], brought: Float[Tensor, " errands"]) -> str:
    """Status line: what each head attends to, and the score of each task."""
    heads = len(habits)
    each = "; ".join(
        f"head {i} " + ("attends to several words" if name == "mixed" else f"attends to {name} ({share:.2f})")
        for i, (name, share) in enumerate(habits, start=1)
    )
    done = ", ".join(f"{name} {share:.0%}" for name, share in zip(ERRANDS, brought.tolist(), strict=True))
    numbers = f"{heads} head{'s' if heads > 1 else ''} of width {D_MODEL // heads}"
    return f"{numbers}: {each}. Retrieved: {done}."

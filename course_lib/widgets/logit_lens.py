"""Logit lens: next-token predictions from the residual stream after each block."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import ipywidgets
import torch
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib.models.gpt import GPT
from course_lib.text.tokenizers import Vocabulary
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, slider
from course_lib.widgets.reading import Reading, follow, model_of, prompt_controls, read
from course_lib.widgets.token_map import Names, name
from course_lib.widgets.toy_lm import QUESTIONS

COLUMNS = 8  # tokens shown at once
PITCH = 106 / 144  # inches per column: whole pixels, so a token that shifts is copied, not redrawn
LETTERS = 7  # most letters of a token in a cell
DEEPEST = 8  # most rows: of a deeper model, the last blocks
SHOWN = ("top token", "final prediction")


def logit_lens_explorer(
    model: GPT | None = None, tokens: Vocabulary | None = None, prompts: Sequence[str] = ()
) -> Explorer:
    """Logit lens of a GPT on a chosen or typed text: predictions after each block, at each token.

    Without a model, the toy language model. prompts: texts to choose from; the first one is shown first.
    Raises ValueError for a model without its tokenizer or without a prompt.
    Source: nostalgebraist 2020 (the logit lens).
    """
    model, tokens, prompts = model_of(model, tokens, prompts, QUESTIONS)
    controls = prompt_controls(prompts)
    controls["position"] = slider(ipywidgets.IntSlider, "last token read", value=1, min=1, max=2)
    controls["shown"] = slider(ipywidgets.Dropdown, "cells", options=SHOWN)
    seen = lru_cache(maxsize=8)(lambda prompt: read(model, tokens, prompt))
    prompt = controls["prompt"]
    follow(controls["position"], [prompt], lambda: len(seen(prompt.value).ids))
    return Explorer(
        controls,
        lambda figure: lens_picture(figure, seen, tokens, model.config.layers),
        "a slider for the last token read, menus for cells and texts and a field to type one, above the "
        "tokens that the logit lens predicts after each block. It responds while the notebook is "
        "running.",
        size=(7.0, 3.8),
    )


class Grid:
    """Grid of tokens with their probabilities; darker is more probable."""

    def __init__(self, axes: Axes, depths: list[str]):
        self.rows = len(depths)
        self.image = axes.imshow(
            [[0.0]], vmin=0, vmax=1, cmap="Blues", aspect="auto", extent=(0, COLUMNS, self.rows, 0),
            interpolation="nearest", animated=True,
        )  # fmt: skip
        axes.set(xticks=(), xlim=(0, COLUMNS), ylim=(self.rows, 0))
        axes.set_yticks([row + 0.5 for row in range(self.rows)], depths)
        axes.tick_params(length=0)
        axes.grid(visible=False)
        look = {"ha": "center", "va": "center", "size": rcParams["xtick.labelsize"], "parse_math": False}
        self.cells = [
            [axes.text(x + 0.5, y + 0.5, "", animated=True, linespacing=1.15, **look) for x in range(COLUMNS)]
            for y in range(self.rows)
        ]
        self.frame = Rectangle((0, 0), 1, self.rows, fill=False, edgecolor=PALETTE[1], linewidth=2.5)
        self.frame.set(animated=True, clip_on=False)
        axes.add_patch(self.frame)
        self.names = Names(axes, below=True)

    def draw(self, probabilities: torch.Tensor, texts: list[list[str]], pieces: list[str]) -> None:
        """Show probabilities and texts of shape (rows, columns); the last column is framed."""
        columns = probabilities.shape[1]
        blank = torch.full((self.rows, COLUMNS), float("nan"))
        blank[:, :columns] = probabilities
        self.image.set_data(blank.numpy())
        for y, row in enumerate(self.cells):
            for x, cell in enumerate(row):
                text = texts[y][x] if x < columns else ""
                dark = x < columns and probabilities[y, x] > 0.715  # as in `heatmap`
                cell.set(text=text, color="white" if dark else "black")
        self.frame.set(x=columns - 1, width=1)
        self.names.set(pieces + [""] * (COLUMNS - columns))

    def clear(self) -> None:
        none = torch.full((self.rows, 1), float("nan"))
        self.draw(none, [[""]] * self.rows, [""])
        self.frame.set_width(0)


def lens_picture(
    figure: Figure, seen: Callable[[str], Reading], tokens: Vocabulary, layers: int
) -> Callable[..., str]:
    """One row per depth, one column per token; the chosen token is last and framed."""
    names = ["embedding", *(f"block {i + 1}" for i in range(layers))][-DEEPEST:]
    grid = Grid(figure.add_axes((0.14, 0.24, COLUMNS * PITCH / 7.0, 0.68)), names)
    figure.text(0.56, 0.02, "after this token (white: probability 0, dark: 1)", ha="center")
    title = figure.text(0.56, 0.94, "", ha="center", size=rcParams["axes.titlesize"], animated=True)

    def update(example: str, prompt: str, position: int, shown: str) -> str:
        try:
            reading = seen(prompt)
        except ValueError as error:
            grid.clear()
            title.set_text("")
            return str(error)
        position = min(position, len(reading.ids))
        first = max(0, position - COLUMNS)
        lens = reading.lens[-grid.rows :, first:position]
        best = lens.argmax(dim=-1)
        if shown != SHOWN[0]:
            best = best[-1:].expand_as(best)
        probabilities = lens.gather(-1, best[..., None])[..., 0]
        texts = [
            [cell(tokens[i], p) for i, p in zip(*row, strict=True)]
            for row in zip(best.tolist(), probabilities.tolist(), strict=True)
        ]
        pieces = [piece.strip(" ") or piece for piece in reading.pieces]
        grid.draw(probabilities, texts, pieces[first:position])
        title.set_text("most probable next token" if shown == SHOWN[0] else "final prediction, at each depth")
        return f"Cells: {shown}. " + in_words(reading, pieces, tokens, position)

    return update


def cell(token: str, probability: float) -> str:
    """Cell text: a token above its probability."""
    return f"{name(token, LETTERS)}\n{probability:.2f}"


def in_words(reading: Reading, pieces: list[str], tokens: Vocabulary, position: int) -> str:
    """Status line: the final prediction, the block from which it is on top, and its probabilities."""
    lens = reading.lens[:, position - 1]
    best, final = lens.argmax(dim=-1).tolist(), int(lens[-1].argmax())
    settled = next(i for i in range(len(best)) if all(b == final for b in best[i:]))
    since = "from the embedding on" if settled == 0 else f"from block {settled} on"
    path = ", ".join(f"{p:.2f}" for p in lens[:, final].tolist())
    return (
        f"After token {position} ({pieces[position - 1]}) the model predicts {tokens[final]}, the top "
        f"token {since}. Its probability, from the embedding to the last block: {path}."
    )

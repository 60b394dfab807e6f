"""The residual stream of a language model read out after each block: the logit lens."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import ipywidgets
import torch
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib.characters import Vocabulary
from course_lib.gpt import GPT
from course_lib.show import PALETTE
from course_lib.widgets.explorer import Explorer, slider
from course_lib.widgets.reading import Reading, follow, model_of, prompt_controls, read
from course_lib.widgets.small_world import QUESTIONS
from course_lib.widgets.token_map import Names, name

COLUMNS = 8  # tokens that are shown at once
PITCH = 106 / 144  # inches from one to the next: whole pixels, so a token that moves on is copied, not drawn
LETTERS = 7  # of a token in a cell
DEEPEST = 8  # rows: of a model with more blocks, the last ones
SHOWN = ("best token", "token of the last row")


def logit_lens_explorer(
    model: GPT | None = None, tokens: Vocabulary | None = None, prompts: Sequence[str] = ()
) -> Explorer:
    """A text, chosen or typed, and what the model would predict after each block, at each token.

    Without a model, that of the small world is shown. prompts: texts to choose from; the first one is shown.
    Raises ValueError where a model comes without its vocabulary or without a prompt.
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
        "sliders for the last token that is read, a list of texts and a field to type another one, above the "
        "tokens that the residual stream would predict after each block. It answers while the notebook is "
        "running.",
        size=(7.0, 3.8),
    )


class Grid:
    """Cells with a token and its probability, the darker the more probable."""

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
        """Show (rows, columns) probabilities and texts; the last column has the frame."""
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
    """One row for each depth, one column for each token; the chosen one is the last and has a frame."""
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
        title.set_text(
            "most probable next token" if shown == SHOWN[0] else "the last row's token, in each row"
        )
        return f"Cells: {shown}. " + in_words(reading, pieces, tokens, position)

    return update


def cell(token: str, probability: float) -> str:
    """A token above its probability."""
    return f"{name(token, LETTERS)}\n{probability:.2f}"


def in_words(reading: Reading, pieces: list[str], tokens: Vocabulary, position: int) -> str:
    """How the prediction grows from block to block, and from which one on it is the final one."""
    lens = reading.lens[:, position - 1]
    best, final = lens.argmax(dim=-1).tolist(), int(lens[-1].argmax())
    settled = next(i for i in range(len(best)) if all(b == final for b in best[i:]))
    since = "already from the embedding on" if settled == 0 else f"from block {settled} on"
    path = ", ".join(f"{p:.2f}" for p in lens[:, final].tolist())
    return (
        f"After token {position} ({pieces[position - 1]}) the model predicts {tokens[final]}: it is the best "
        f"token {since}. Its probability, from the embedding to the last block: {path}."
    )

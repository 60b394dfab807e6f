"""Attention masks: scores, masked scores and weights."""

from collections.abc import Callable, Sequence

import ipywidgets
import numpy as np
import torch
from jaxtyping import Bool, Float
from matplotlib import colormaps, rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from torch import Tensor

from course_lib.layers.masks import causal_mask, masked_softmax, valid_lens_mask
from course_lib.widgets.explorer import Explorer, slider

TOKENS = 5
NONE, PADDING, CAUSAL, BOTH = KINDS = ("none", "padding", "causal", "both")
INFINITE, FINITE, AFTER = WAYS = ("-∞ before the softmax", "-1e6 before the softmax", "0 after the softmax")
WORDS = {NONE: "No mask", PADDING: "Padding mask", CAUSAL: "Causal mask", BOTH: "Padding and causal mask"}
HIDDEN = (0.35, 0.35, 0.35, 1.0)


def mask_explorer() -> Explorer:
    """Masked attention with five queries and five keys: kind of mask, valid length and masking method."""
    return Explorer(
        {
            "kind": slider(ipywidgets.SelectionSlider, "mask", options=KINDS, value=BOTH),
            "valid_len": slider(ipywidgets.IntSlider, "valid length", value=3, min=0, max=TOKENS),
            "way": slider(ipywidgets.Dropdown, "mask with", options=WAYS, value=INFINITE),
        },
        mask_picture,
        "sliders for the kind of mask and for the valid length, and a menu of three ways to mask a key, "
        "above three tables: scores, masked scores, weights. It responds while the notebook is running.",
        size=(7.0, 2.9),
    )


def example_scores() -> Float[Tensor, "queries keys"]:
    """Scores rounded to one decimal, so that the printed numbers are the exact ones."""
    scores = torch.randn(TOKENS, TOKENS, generator=torch.Generator().manual_seed(2))
    return (scores * 10).round() / 10


def chosen_mask(kind: str, valid_len: int) -> Bool[Tensor, "queries keys"]:
    """Boolean mask: True where a query may attend to a key."""
    mask = torch.ones(TOKENS, TOKENS, dtype=torch.bool)
    if kind in (PADDING, BOTH):
        mask = mask & valid_lens_mask(torch.tensor([valid_len]), TOKENS)[0, 0]
    if kind in (CAUSAL, BOTH):
        mask = mask & causal_mask(TOKENS)
    return mask


def hide(
    scores: Float[Tensor, "queries keys"], mask: Bool[Tensor, "queries keys"], way: str
) -> Float[Tensor, "queries keys"]:
    """Attention weights: masked with -∞ (correct), with -1e6, or zeroed after the softmax."""
    if way == AFTER:
        return scores.softmax(dim=-1).masked_fill(~mask, 0.0)
    if way == FINITE:
        return scores.masked_fill(~mask, -1e6).softmax(dim=-1)
    return masked_softmax(scores, mask)


def mask_picture(figure: Figure) -> Callable[..., str]:
    """Three tables side by side, with the row sums of the weights on the right."""
    panels = list(figure.subplots(1, 3))
    figure.subplots_adjust(left=0.07, right=0.93, bottom=0.17, top=0.9, wspace=0.07)
    fill_masked, fill_weights = (numbered_table(panel) for panel in panels[1:])
    everything = torch.ones(TOKENS, TOKENS, dtype=torch.bool)
    numbered_table(panels[0], animated=False)(*score_cells(example_scores(), everything, ""))
    heading, sums = label(panels)

    def update(kind: str, valid_len: int, way: str) -> str:
        scores, mask = example_scores(), chosen_mask(kind, valid_len)
        weights = hide(scores, mask, way)
        fill_masked(*score_cells(scores, mask | (way == AFTER), way.split()[0]))
        fill_weights(*weight_cells(weights))
        heading.set_text("scores (unmasked)" if way == AFTER else "masked scores")
        for text, total in zip(sums, weights.sum(dim=-1).tolist(), strict=True):
            text.set_text(f"{total:.2f}")
        length = f", valid length {valid_len}" if kind in (PADDING, BOTH) else ""
        seen = f"{WORDS[kind]}{length}: {int(mask.sum())} of {mask.numel()} pairs are unmasked. "
        return seen + verdict(mask, weights, way)

    return update


def label(panels: Sequence[Axes]) -> tuple[Text, list[Text]]:
    """Label the tables. Returns the texts that change: the middle title and the row sums."""
    panels[0].set(ylabel="query", title="scores")
    panels[2].set_title("weights")
    for panel in panels:
        panel.set_xlabel("key")
    heading, right, size = panels[1].set_title(""), TOKENS - 0.05, rcParams["xtick.labelsize"]
    heading.set_animated(True)
    panels[2].text(right, -0.8, "sum", ha="center", fontsize=size)
    look = {"ha": "center", "va": "center", "fontsize": size, "clip_on": False, "animated": True}
    return heading, [panels[2].text(right, row, "", **look) for row in range(TOKENS)]


def numbered_table(axes: Axes, animated: bool = True) -> Callable[[np.ndarray, list[list[str]]], None]:
    """Table of colored cells. Returns a function that sets their colors and texts."""
    image = axes.imshow(np.ones((TOKENS, TOKENS, 4)), aspect="equal", animated=animated)
    size = rcParams["xtick.labelsize"]
    look = {"ha": "center", "va": "center", "fontsize": size, "animated": animated}
    edges = np.arange(TOKENS - 1) + 0.5
    for lines in (axes.vlines, axes.hlines):
        lines(edges, -0.5, TOKENS - 0.5, color="white", linewidth=2, animated=animated)
    texts = [[axes.text(column, row, "", **look) for column in range(TOKENS)] for row in range(TOKENS)]
    axes.set_xticks(range(TOKENS), range(1, TOKENS + 1))
    axes.set_yticks(range(TOKENS), range(1, TOKENS + 1) if axes.get_subplotspec().is_first_col() else [])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)

    def fill(colours: np.ndarray, numbers: list[list[str]]) -> None:
        image.set_data(colours)
        dark = (
            colours[..., :3] ** 2.2 @ (0.21, 0.72, 0.07) < 0.18
        )  # approximate luminance: white text is legible here
        for row, column in np.ndindex(TOKENS, TOKENS):
            colour = "white" if dark[row, column] else "black"
            texts[row][column].set(text=numbers[row][column], color=colour)

    return fill


def score_cells(
    scores: Float[Tensor, "queries keys"], mask: Bool[Tensor, "queries keys"], fill: str
) -> tuple[np.ndarray, list[list[str]]]:
    """Colors and texts of a table of scores; masked cells are dark and show `fill`."""
    colours = colormaps["PuOr"]((scores.numpy() + 4) / 8)
    colours[~mask.numpy()] = HIDDEN
    pairs = zip(scores.tolist(), mask.tolist(), strict=True)
    return colours, [[f"{s:.1f}" if shown else fill for s, shown in zip(*row, strict=True)] for row in pairs]


def weight_cells(weights: Float[Tensor, "queries keys"]) -> tuple[np.ndarray, list[list[str]]]:
    """Colors and texts of a table of weights, from white (0) to dark blue (1)."""
    return colormaps["Blues"](weights.numpy()), [
        [f"{w:.2f}" if w else "0" for w in row] for row in weights.tolist()
    ]


def verdict(mask: Bool[Tensor, "queries keys"], weights: Float[Tensor, "queries keys"], way: str) -> str:
    """Status line, second part: what this mask does to the weights."""
    sums, empty = weights.sum(dim=-1), int((~mask.any(dim=-1)).sum())
    if mask.all():
        return "Nothing is masked: each row of weights sums to 1."
    if way == AFTER:
        return (
            f"The rows sum to {sums.min():.2f} to {sums.max():.2f}: the masked scores still count in the "
            "denominator, so the weights leak information about masked keys."
        )
    if not empty:
        return (
            f"A masked key gets the score {way.split()[0]} and the weight 0. Each row of weights sums to 1."
        )
    rows = f"{empty} {'query' if empty == 1 else 'queries'} cannot attend to any key: "
    if way == FINITE:
        return rows + f"equally low scores get equal weights, {1 / TOKENS:.2f} for each masked key."
    return rows + "all their weights are 0, and so is their output."

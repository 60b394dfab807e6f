"""Masks: from scores through masked scores to weights."""

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

from course_lib.masks import causal_mask, masked_softmax, valid_lens_mask
from course_lib.widgets.explorer import Explorer, slider

TOKENS = 5
NONE, PADDING, CAUSAL, BOTH = KINDS = ("none", "padding", "causal", "both")
INFINITE, FINITE, AFTER = WAYS = ("-∞ before the softmax", "-1e6 before the softmax", "0 after the softmax")
WORDS = {NONE: "No mask", PADDING: "Padding mask", CAUSAL: "Causal mask", BOTH: "Padding and causal mask"}
HIDDEN = (0.35, 0.35, 0.35, 1.0)


def mask_explorer() -> Explorer:
    """Five queries and five keys: which mask, how many keys are words, and how the hidden ones are hidden."""
    return Explorer(
        {
            "kind": slider(ipywidgets.SelectionSlider, "mask", options=KINDS, value=BOTH),
            "valid_len": slider(ipywidgets.IntSlider, "valid length", value=3, min=0, max=TOKENS),
            "way": slider(ipywidgets.Dropdown, "hide by", options=WAYS, value=INFINITE),
        },
        mask_picture,
        "sliders for the kind of mask and for the valid length, and a list of three ways to hide a key, "
        "above three tables: scores, masked scores, weights. It answers while the notebook is running.",
        size=(7.0, 2.9),
    )


def example_scores() -> Float[Tensor, "queries keys"]:
    """Scores with one decimal: what is printed in a cell is what is computed with."""
    scores = torch.randn(TOKENS, TOKENS, generator=torch.Generator().manual_seed(2))
    return (scores * 10).round() / 10


def chosen_mask(kind: str, valid_len: int) -> Bool[Tensor, "queries keys"]:
    """True where a query may look."""
    mask = torch.ones(TOKENS, TOKENS, dtype=torch.bool)
    if kind in (PADDING, BOTH):
        mask = mask & valid_lens_mask(torch.tensor([valid_len]), TOKENS)[0, 0]
    if kind in (CAUSAL, BOTH):
        mask = mask & causal_mask(TOKENS)
    return mask


def hide(
    scores: Float[Tensor, "queries keys"], mask: Bool[Tensor, "queries keys"], way: str
) -> Float[Tensor, "queries keys"]:
    """The weights, in the right way and in two others."""
    if way == AFTER:
        return scores.softmax(dim=-1).masked_fill(~mask, 0.0)
    if way == FINITE:
        return scores.masked_fill(~mask, -1e6).softmax(dim=-1)
    return masked_softmax(scores, mask)


def mask_picture(figure: Figure) -> Callable[..., str]:
    """Three tables of numbers side by side, and the sum of each row of weights at the right."""
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
        heading.set_text("scores, not masked" if way == AFTER else "masked scores")
        for text, total in zip(sums, weights.sum(dim=-1).tolist(), strict=True):
            text.set_text(f"{total:.2f}")
        length = f", valid length {valid_len}" if kind in (PADDING, BOTH) else ""
        seen = f"{WORDS[kind]}{length}: {int(mask.sum())} of {mask.numel()} pairs are open. "
        return seen + verdict(mask, weights, way)

    return update


def label(panels: Sequence[Axes]) -> tuple[Text, list[Text]]:
    """Name the tables; what comes back are the middle heading and the sums of the rows, which change."""
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
    """A table of coloured cells; the function that comes back takes their colours and their texts."""
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
        dark = colours[..., :3] ** 2.2 @ (0.21, 0.72, 0.07) < 0.18  # as luminance: there white stands out
        for row, column in np.ndindex(TOKENS, TOKENS):
            colour = "white" if dark[row, column] else "black"
            texts[row][column].set(text=numbers[row][column], color=colour)

    return fill


def score_cells(
    scores: Float[Tensor, "queries keys"], mask: Bool[Tensor, "queries keys"], fill: str
) -> tuple[np.ndarray, list[list[str]]]:
    """Colours and texts of a table of scores; `fill` stands in the hidden cells, which are dark."""
    colours = colormaps["PuOr"]((scores.numpy() + 4) / 8)
    colours[~mask.numpy()] = HIDDEN
    pairs = zip(scores.tolist(), mask.tolist(), strict=True)
    return colours, [[f"{s:.1f}" if shown else fill for s, shown in zip(*row, strict=True)] for row in pairs]


def weight_cells(weights: Float[Tensor, "queries keys"]) -> tuple[np.ndarray, list[list[str]]]:
    """Colours and texts of a table of weights, from white at 0 to dark blue at 1."""
    return colormaps["Blues"](weights.numpy()), [
        [f"{w:.2f}" if w else "0" for w in row] for row in weights.tolist()
    ]


def verdict(mask: Bool[Tensor, "queries keys"], weights: Float[Tensor, "queries keys"], way: str) -> str:
    """What is to be noticed, in words."""
    sums, empty = weights.sum(dim=-1), int((~mask.any(dim=-1)).sum())
    if mask.all():
        return "Nothing is hidden: each row of weights sums to 1."
    if way == AFTER:
        return (
            f"The rows sum to {sums.min():.2f} up to {sums.max():.2f}: the hidden scores still count in the "
            "denominator, so the weights give something away about hidden keys."
        )
    if not empty:
        return (
            f"A hidden key gets the score {way.split()[0]} and the weight 0. Each row of weights sums to 1."
        )
    rows = f"{empty} {'query' if empty == 1 else 'queries'} may look nowhere: "
    if way == FINITE:
        return rows + f"equally low scores get equal weights, {1 / TOKENS:.2f} for each hidden key."
    return rows + "all weights there are 0, and nothing is received."

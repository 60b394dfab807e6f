"""Attention masks: a diagram, and a widget with scores, masked scores and weights."""

from collections.abc import Callable

import ipywidgets
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_lib.layers.masks import causal_mask, masked_softmax, valid_lens_mask
from course_lib.viz.figures import picture
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.explorer import slider
from course_lib.widgets.heatmap import Heatmap, Place, list_of
from course_lib.widgets.map_explorer import MapExplorer

TOKENS = 5
NONE, PADDING, CAUSAL, BOTH = KINDS = ("none", "padding", "causal", "both")
INFINITE, FINITE, AFTER = WAYS = ("-∞ before the softmax", "-1e6 before the softmax", "0 after the softmax")
WORDS = {NONE: "No mask", PADDING: "Padding mask", CAUSAL: "Causal mask", BOTH: "Padding and causal mask"}
SUMS = 3  # index of the last map

diagram_masks = picture(
    __file__,
    "masks",
    "Show a padding mask, a causal mask and both combined; below, one row of scores masked.",
)


def mask_explorer() -> MapExplorer:
    """Masked attention with five queries and five keys: kind of mask, valid length and masking method.

    Pressing a cell masks or unmasks it, until another kind or length is chosen.
    """
    controls = {
        "kind": slider(ipywidgets.SelectionSlider, "mask", options=KINDS, value=BOTH),
        "valid_len": slider(ipywidgets.IntSlider, "valid length", value=3, min=0, max=TOKENS),
        "way": slider(ipywidgets.Dropdown, "mask with", options=WAYS, value=INFINITE),
    }
    flipped = torch.zeros(TOKENS, TOKENS, dtype=torch.bool)

    def flip(cell: Place) -> None:
        if cell.map != SUMS:
            flipped[cell.row, cell.column] ^= True
            explorer.redraw()

    for name in ("kind", "valid_len"):
        controls[name].observe(lambda change: flipped.zero_(), names="value")
    explorer = MapExplorer(
        controls,
        lambda maps: mask_picture(maps, flipped),
        "sliders for the kind of mask and for the valid length, and a menu of three ways to mask a key, "
        "above three tables: scores, masked scores, weights; a click on a cell masks it.",
        size=(7.0, 2.9),
        widths=(5, 5, 5, 1),
        shared=True,
        on_press=flip,
    )
    return explorer


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


def mask_picture(maps: AttentionMap, flipped: Bool[Tensor, "queries keys"]) -> Callable[..., str]:
    """Scores, masked scores and weights side by side, with the row sums of the weights on the right."""

    def update(kind: str, valid_len: int, way: str, selected: Place) -> str:
        scores, mask = example_scores(), chosen_mask(kind, valid_len) ^ flipped
        weights = hide(scores, mask, way)
        maps.show_maps(tables(scores, mask, weights, way))
        length = f", valid length {valid_len}" if kind in (PADDING, BOTH) else ""
        count = int(flipped.sum())
        changed = f", {count} cell{'' if count == 1 else 's'} changed by hand" if count else ""
        seen = f"{WORDS[kind]}{length}{changed}: {int(mask.sum())} of {mask.numel()} pairs are unmasked. "
        return seen + verdict(mask, weights, way)

    return update


def tables(
    scores: Float[Tensor, "queries keys"],
    mask: Bool[Tensor, "queries keys"],
    weights: Float[Tensor, "queries keys"],
    way: str,
) -> list[Heatmap]:
    """The three tables, and the sum of each row of weights."""
    positions = [str(i) for i in range(1, TOKENS + 1)]
    look = {"rows": positions, "columns": positions, "numbers": True}
    range_of_scores = {"value_name": "score", "low": -4, "high": 4, "diverging": True, "digits": 1}
    hidden = {} if way == AFTER else {"masked": ~mask, "masked_text": way.split()[0]}
    title = "scores (unmasked)" if way == AFTER else "masked scores"
    return [
        Heatmap(weights=scores, title="scores", **look, **range_of_scores),
        Heatmap(weights=scores, title=title, **look, **range_of_scores, **hidden),
        Heatmap(weights=weights, title="weights", **look),
        list_of(weights.sum(dim=-1), positions, title="sum", value_name="is", high=4),
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

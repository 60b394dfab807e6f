"""Diagrams of blocks, and the maps of the block explorer: a block's steps, and a tensor's values."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from jaxtyping import Float

from course_lib.viz.figures import picture
from course_lib.widgets.heatmap import Heatmap, Place, Sets, written

# colors of past, current and later steps, and of the bypass
BEFORE, NOW, AFTER, BYPASS = 0.25, 0.5, 0.0, 0.15
SHORT = {"self-attention": "self-attn", "cross-attention": "cross-attn", "feed-forward": "FFN"}  # row labels
LARGEST = 2.5  # absolute value with the strongest color
PLAN_PROPORTION, WIDE = 0.4, 8  # cells of the plan are this flat; with more columns, a tensor's are narrow

diagram_block = picture(__file__, "block", "Show an encoder block as two branches of the residual stream.")
diagram_norm_placements = picture(__file__, "norm_placements", "Show post-norm and pre-norm side by side.")
diagram_decoder_block = picture(
    __file__,
    "decoder_block",
    "Show a decoder block as three branches of the residual stream, one of which reads the memory.",
)
diagram_norm_axes = picture(
    __file__, "norm_axes", "Show which numbers share a mean in LayerNorm and in BatchNorm."
)


def plan(steps: Sequence[Any], now: int, title: str) -> Heatmap:
    """Steps of the block, top to bottom, and beside each the residual connection that bypasses it.

    steps: as `block_tracer.Step`. now: index of the current one; selecting a row goes to its step.
    """
    colors = [NOW if i == now else BEFORE if i < now else AFTER for i in range(len(steps))]
    texts, descriptions = bypass(steps)
    return Heatmap(
        weights=[(color, BYPASS if text else np.nan) for color, text in zip(colors, texts, strict=True)],
        rows=[SHORT.get(step.part, step.part) for step in steps],
        columns=("step", "skip"),
        title=title,
        row_name="",
        column_name="",
        numbers=True,
        texts=list(zip((step.name for step in steps), texts, strict=True)),
        descriptions=[
            (f"{i} of {len(steps)}, {step.name}, shape ({step.axes})", description)
            for i, (step, description) in enumerate(zip(steps, descriptions, strict=True), start=1)
        ],
        proportion=PLAN_PROPORTION,
        marked=Place(row=now),
        row_sets=Sets("step", 1),
    )


def bypass(steps: Sequence[Any]) -> tuple[list[str], list[str]]:
    """A sign and a description for each step: where x leaves, bypasses the step, or is added again."""
    signs, descriptions = [""] * len(steps), [""] * len(steps)
    for start, end in ways_round(steps):
        signs[start] += "x"
        descriptions[start] += f"{' and ' * bool(descriptions[start])}x goes on to step {end + 1}, unchanged"
        for i in range(start + 1, end):
            signs[i], descriptions[i] = "↓", f"x of step {start + 1} bypasses this step"
        signs[end], descriptions[end] = "+ ", f"x of step {start + 1} is added"
    return [sign.strip() for sign in signs], descriptions


def ways_round(steps: Sequence[Any]) -> list[tuple[int, int]]:
    """For each residual connection, the step where it starts and the step where it is added."""
    sums = [i for i, step in enumerate(steps) if step.part == "residual"]
    post = steps[-1].part == "norm"
    starts = [0] + [end + post for end in sums[:-1]]
    return list(zip(starts, sums, strict=True))


def tensor(step: Any, tokens: Sequence[str], keys: Sequence[str]) -> Heatmap:
    """Values of a step, a row per token, heads side by side. keys: the tokens that it attends to."""
    values = step.value[0].detach().float().numpy()
    heads = values if values.ndim == 3 else values[None]
    weights = step.name == "weights"
    table = side_by_side(heads)
    names = list(keys) if weights else [str(i + 1) for i in range(heads.shape[2])]
    whose = [f"head {i + 1}, " if len(heads) > 1 else "" for i in range(len(heads)) for _ in [*names, ""]]
    kind, masked = ("weight", table == 0) if weights else ("value", None)
    return Heatmap(
        weights=table,
        rows=tokens,
        columns=[*chain.from_iterable([*names, ""] for _ in heads)][:-1],
        title=f"{step.name} {tuple(step.value.shape)}, {'0 to 1' if weights else f'±{LARGEST}'}",
        row_name="query" if weights else "token",
        column_name="key" if weights else "feature",
        low=0 if weights else -LARGEST,
        high=1 if weights else LARGEST,
        diverging=not weights,
        masked=masked,
        numbers=True,
        digits=2 if weights else 1,
        descriptions=[
            [said(head, kind, value) for head, value in zip(whose, row, strict=False)]
            for row in table.tolist()
        ],
        proportion=max(1.0, table.shape[1] / WIDE),
    )


def said(head: str, kind: str, value: float) -> str:
    """Value of a cell in words; a weight of exactly 0 is one that the mask forbids."""
    if np.isnan(value):
        return ""
    return f"{head}masked" if kind == "weight" and value == 0 else f"{head}{kind} {written(value, 3)}"


def side_by_side(heads: Float[np.ndarray, "heads rows columns"]) -> Float[np.ndarray, "rows all"]:
    """Matrices of the heads in one, separated by empty columns."""
    gap = np.full((heads.shape[1], 1), np.nan, dtype=heads.dtype)
    return np.concatenate([part for one in heads for part in (one, gap)][:-1], axis=1)

"""Figures of chapter 7b: the logit lens, the induction circuit, head ablation, activation patching."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from torch import Tensor

from course_lib.viz.diagrams import MIDDLE, framed, open_arrow
from course_lib.viz.figures import show, show_picture
from course_lib.viz.style import PALETTE, style_context

FIRST, SECOND, GRAY = PALETTE[0], PALETTE[1], "0.5"


@style_context()
def diagram_lens(blocks: int = 3) -> None:
    """Show the residual stream of one token, and the output layer applied to it at every depth."""
    figure, axes = plt.subplots(figsize=(6.4, 2.7))
    axes.annotate(
        "", (2 * blocks + 1.9, 0), (0, 0), arrowprops={"arrowstyle": "->", "linewidth": 3, "color": "0.2"}
    )
    axes.text(-0.1, 0, "embedding", ha="right", va="center")
    for i in range(blocks):
        framed(axes, 2 * i + 1.2, -1, f"block {i + 1}", FIRST)
        for start, end in (
            ((2 * i + 0.7, 0), (2 * i + 0.85, -0.75)),
            ((2 * i + 1.55, -0.75), (2 * i + 1.7, 0)),
        ):
            open_arrow(axes, start, end, FIRST)
        axes.text(2 * i + 1.72, 0.07, "+", size=14, **MIDDLE)
    for depth in range(blocks + 1):
        x = 2 * depth + 0.3
        open_arrow(axes, (x, 0.05), (x, 0.75), SECOND)
        framed(axes, x, 1.05, "output\nlayer", SECOND)
        axes.text(x, 1.62, f"depth {depth}", **MIDDLE)
    axes.set(xlim=(-1.5, 2 * blocks + 2), ylim=(-1.35, 1.8))
    axes.set_axis_off()
    show(
        figure,
        alt=f"A horizontal arrow, the residual stream of one token, begins at the embedding. Each of "
        f"{blocks} blocks reads from it and adds its result to it. The same output layer reads the stream at "
        f"{blocks + 1} depths: before the first block and after each block.",
    )


@style_context()
def diagram_induction(letters: str = "DKBD", target: int = 1) -> None:
    """Show the induction circuit on a few letters: two heads, one after the other.

    target: the letter that followed the last one earlier.
    """
    figure, axes = plt.subplots(figsize=(6.4, 3.0))
    last = len(letters) - 1
    for x, letter in enumerate(letters):
        framed(axes, 1.5 * x, 0, letter, GRAY)
        axes.plot([1.5 * x] * 2, [0.3, 2.1], color="0.8", linewidth=4, zorder=0)
    previous, key = 1.5 * (target - 1), 1.5 * target
    open_arrow(axes, (previous, 0.45), (key - 0.05, 1.0), FIRST, width=2.5)
    axes.text(key + 0.1, 0.72, f"block 1: “I come\nafter {letters[target - 1]}”", color=FIRST, va="center")
    open_arrow(axes, (key, 1.3), (1.5 * last - 0.05, 1.85), SECOND, width=2.5)
    said = f"block 2: “who comes\nafter {letters[last]}?”"
    axes.text(1.5 * last + 0.15, 1.3, said, color=SECOND, va="center")
    axes.text(1.5 * last, 2.4, f"predicts {letters[target]}", weight="bold", **MIDDLE)
    axes.set(xlim=(-0.5, 1.5 * last + 2.2), ylim=(-0.4, 2.65))
    axes.set_axis_off()
    show(
        figure,
        alt=f"The letters {' '.join(letters)}. In block 1, an arrow from {letters[target - 1]} to the "
        f"{letters[target]} after it: its vector now says that it comes after {letters[target - 1]}. In "
        f"block 2, an arrow from this {letters[target]} to the last {letters[last]}, which asks who comes "
        f"after {letters[last]}, and predicts {letters[target]}.",
    )


@style_context()
def plot_repeats(curves: Mapping[str, Sequence[float]], levels: Mapping[str, float], every: int = 20) -> None:
    """Show the loss on repeated letters during training, one curve per model, each point a mean.

    levels: losses of simple strategies, drawn as horizontal lines. every: steps that one point averages.
    """
    figure, axes = plt.subplots(figsize=(6.0, 3.2))
    for (name, losses), style in zip(curves.items(), ("-", "--"), strict=False):
        means = np.asarray(losses)[: len(losses) // every * every].reshape(-1, every).mean(axis=1)
        axes.plot(every * np.arange(1, len(means) + 1), means, style, label=name)
    right = max(map(len, curves.values()))
    for name, level in levels.items():
        axes.axhline(level, color="0.4", linestyle=":", linewidth=1.2)
        axes.text(right, level - 0.06, name, ha="right", va="top")
    axes.set(xlabel="step", ylabel="loss on repeated letters", ylim=(0, max(levels.values()) + 0.5))
    axes.legend(loc="lower left")
    lowest = min(levels.values())
    below = {name: losses[-1] < lowest for name, losses in curves.items()}
    ends = [f"{name} ends {'below' if yes else 'not below'} the lowest" for name, yes in below.items()]
    show(
        figure,
        alt=f"Loss on repeated letters over the training steps, with lines for {' and '.join(levels)}: "
        f"{'; '.join(ends)}.",
    )


@style_context()
def plot_head_maps(maps: Mapping[str, Float[Tensor, "queries keys"]]) -> None:
    """Show the attention patterns of single heads side by side. maps: by title."""
    figure, panels = plt.subplots(1, len(maps), figsize=(6.4, 6.4 / len(maps) + 0.4), squeeze=False)
    for axes, (title, weights) in zip(panels[0], maps.items(), strict=True):
        axes.imshow(weights, cmap="Blues", vmin=0, vmax=1)
        axes.set(title=title, xlabel="keys", ylabel="queries")
        axes.grid(visible=False)
    said = "; ".join(f"{title}: {_diagonal(weights)}" for title, weights in maps.items())
    show(figure, alt=f"Attention patterns, one row per query, darker for more weight. {said}.")


def _diagonal(weights: Float[Tensor, "queries keys"]) -> str:
    """Where most of the weight lies, in words; of the queries in the second half."""
    n = len(weights)
    by_distance = [float(weights.diagonal(-by)[n // 2 - by :].mean()) for by in range(n // 2)]
    most = max(by_distance)
    back = by_distance.index(most)
    if most > 0.25:
        return f"mostly {back} position{'s' * (back != 1)} back"
    return f"at most {most:.2f} of the weight at one distance"


@style_context()
def plot_ablations(losses: Mapping[tuple[int, int], float], unchanged: float) -> None:
    """Show the loss after the ablation of each head. losses: by (block, head), both counted from 1."""
    figure, axes = plt.subplots(figsize=(6.0, 2.8))
    colors = [(FIRST, SECOND)[block - 1] for block, _ in losses]
    axes.bar(range(len(losses)), losses.values(), color=colors)
    for x, loss in enumerate(losses.values()):
        axes.text(x, loss + 0.05, f"{loss:.1f}", ha="center", va="bottom")
    axes.axhline(unchanged, color="0.3", linestyle=":", linewidth=1.5)
    axes.set_xticks(range(len(losses)), [f"{block}.{head}" for block, head in losses])
    axes.set(xlabel="head without which the model runs (block.head); dotted: all heads",
             ylabel="loss on repeats", ylim=(0, max(losses.values()) + 0.6))  # fmt: skip
    axes.grid(visible=False, axis="x")
    worst = max(losses, key=lambda head: losses[head])  # which head of its block depends on the machine
    show(
        figure,
        alt=f"Bars of the loss without each of {len(losses)} heads, against a line for the whole model. The "
        f"largest is that without a head of block {worst[0]}.",
    )


def diagram_patching() -> None:
    """Show activation patching: one vector of the clean run is put into the corrupted run."""
    show_picture(__file__, "patching")


@style_context()
def plot_patching(effects: Mapping[str, Float[Tensor, "depths tokens"]], tokens: Sequence[str]) -> None:
    """Show the recovery after patching each vector, one panel per corruption. effects: by title."""
    height = 0.38 * next(iter(effects.values())).shape[0] + 0.75
    figure, panels = plt.subplots(len(effects), 1, figsize=(6.4, height * len(effects) + 0.2), squeeze=False)
    said = []
    for axes, (title, grid) in zip(panels[:, 0], effects.items(), strict=True):
        axes.pcolormesh(grid.clamp(0, 1), cmap="Blues", vmin=0, vmax=1, edgecolor="0.9", linewidth=0.5)
        for (depth, x), value in np.ndenumerate(grid.numpy()):
            if value >= 0.1:
                axes.text(
                    x + 0.5, depth + 0.5, f"{value:.1f}", color="white" if value > 0.6 else "black", **MIDDLE
                )
        axes.set(title=title)
        axes.set_xticks([x + 0.5 for x in range(len(tokens))], tokens)
        axes.set_yticks([y + 0.5 for y in range(len(grid))], [f"depth {y}" for y in range(len(grid))])
        axes.tick_params(length=0)
        axes.grid(visible=False)
        said.append(f"{title}: {_best_places(grid)}")
    show(figure, alt=f"Fraction of the answer recovered, by depth and patched token. {'; '.join(said)}.")


def _best_places(grid: Float[Tensor, "depths tokens"]) -> str:
    """At each depth, the token whose vector recovers most, in words."""
    best = grid.max(dim=1)
    places = [
        f"at depth {depth} token {x + 1}" if value >= 0.1 else f"at depth {depth} none"
        for depth, (value, x) in enumerate(zip(best.values.tolist(), best.indices.tolist(), strict=True))
    ]
    return "most " + ", ".join(places)

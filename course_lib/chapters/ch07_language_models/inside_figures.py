"""Figures of chapter 7b: the logit lens, the induction circuit, head ablation, activation patching."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from torch import Tensor

from course_lib.viz.diagrams import MIDDLE
from course_lib.viz.figures import picture, show
from course_lib.viz.style import PALETTE, style_context

diagram_lens = picture(
    __file__,
    "lens",
    "Show the residual stream of one token, and the output layer applied to it at every depth.",
)
diagram_induction = picture(
    __file__, "induction", "Show the induction circuit on a few letters: two heads, one after the other."
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
    colors = [PALETTE[block - 1] for block, _ in losses]
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


diagram_patching = picture(
    __file__,
    "patching",
    "Show activation patching: one vector of the clean run is put into the corrupted run.",
)


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

"""Figures of chapter 9: pooling, a causal class token, training curves, accuracies by seed, LoRA."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt

from course_lib.viz.diagrams import Number
from course_lib.viz.figures import picture, show
from course_lib.viz.style import PALETTE, style_context
from course_lib.viz.trends import courses

diagram_pooling = picture(
    __file__,
    "pooling",
    "Show the way from the tokens of a text to one vector, and on to the logits of the classes.",
)
diagram_directions = picture(
    __file__,
    "directions",
    "Show what the first and the last token attend to, without and with a causal mask.",
)


@style_context()
def plot_validation(curves: Mapping[str, Sequence[float]], every: int, levels: Mapping[str, Number]) -> None:
    """Show validation accuracy during training, with the accuracy of simple baselines as lines.

    every: steps between two evaluations.
    """
    figure, axes = plt.subplots(figsize=(5.8, 3.1))
    for (name, curve), style in zip(curves.items(), ("o-", "s--", "^:"), strict=False):
        axes.plot([every * (i + 1) for i in range(len(curve))], curve, style, label=name)
    last = every * max(map(len, curves.values()))
    for name, level in levels.items():
        axes.axhline(level, color="0.4", linewidth=1.2, linestyle="-.")
        axes.text(last, level + 0.01, name, ha="right", va="bottom")
    axes.set(xlabel="step", ylabel="validation accuracy", ylim=(0.45, 1.03))
    axes.legend(loc="center right")
    above = all(curve[-1] > max(curve[0], *levels.values()) for curve in curves.values())
    lines = {name: [level] for name, level in levels.items()}
    said = "The curves rise above the line." if above else courses({**curves, **lines}, 2)
    show(
        figure,
        alt=f"Validation accuracy over the steps for {' and '.join(curves)}, with a line for "
        f"{' and '.join(levels)}. {said}",
    )


@style_context()
def plot_by_variant(
    accuracies: Mapping[str, Sequence[Number]],
    levels: Mapping[str, Number],
    xlabel: str = "test accuracy (%)",
) -> None:
    """Show accuracies in percent, one row per variant, one dot per seed, with baselines as lines."""
    figure, axes = plt.subplots(figsize=(6.2, 0.36 * len(accuracies) + 1.1))
    for row, values in enumerate(accuracies.values()):
        axes.plot([sum(values) / len(values)], [row], "|", color="0.2", markersize=16)
        axes.plot(values, [row] * len(values), "o", color=PALETTE[0], alpha=0.7, markersize=6)
    for name, level in levels.items():
        axes.axvline(level, color="0.4", linestyle="--", linewidth=1.2)
        axes.text(level + 0.5, -0.75, name, ha="left", va="center")
    axes.set(xlim=(45, 102), ylim=(len(accuracies) - 0.5, -1.15), xlabel=xlabel)
    axes.set_yticks(range(len(accuracies)), list(accuracies))
    lines = f" Lines: {', '.join(levels)}." if levels else ""
    show(
        figure,
        alt=f"{xlabel[:1].upper()}{xlabel[1:]}, one dot per seed and a stroke at the mean, for "
        f"{'; '.join(accuracies)}.{lines}",
    )


@style_context()
def plot_class_attention(rows: Sequence[tuple[Sequence[str], Sequence[float]]]) -> None:
    """Show with which weights the class token attends to each token. rows: tokens and weights of a text."""
    figure, panels = plt.subplots(len(rows), 1, figsize=(6.4, 1.75 * len(rows)), squeeze=False)
    top = 1.05 * max(weight for _, weights in rows for weight in weights)  # one scale for all panels
    for axes, (pieces, weights) in zip(panels[:, 0], rows, strict=True):
        axes.bar(range(len(pieces)), weights, color=PALETTE[0])
        axes.set(ylabel="weight", xticks=range(len(pieces)), ylim=(0, top))
        axes.set_xticklabels(pieces, rotation=30, ha="right", rotation_mode="anchor")
    show(
        figure,
        alt=f"{len(rows)} bar charts, one per sentence: attention weights of the class token in the last "
        "layer, mean of the heads, on itself and on each word.",
    )

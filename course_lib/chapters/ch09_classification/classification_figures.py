"""Figures of chapter 9: pooling, a causal class token, training curves, accuracies by seed, LoRA."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt

from course_lib.viz.diagrams import Number, framed, open_arrow
from course_lib.viz.figures import show
from course_lib.viz.style import PALETTE, style_context
from course_lib.viz.trends import courses

INPUT, HIDDEN, POOLED = "0.5", PALETTE[0], PALETTE[1]


@style_context()
def diagram_pooling(words: Sequence[str] = ("[CLS]", "not", "cold", "[PAD]")) -> None:
    """Show the way from the tokens of a text to one vector, and on to the logits of the classes."""
    figure, axes = plt.subplots(figsize=(6.4, 2.9))
    middle = len(words) / 2 - 0.5
    for x, word in enumerate(words):
        padding = word == "[PAD]"
        framed(axes, 1.5 * x, 0, word, INPUT)
        open_arrow(axes, (1.5 * x, 0.25), (1.5 * x, 0.7), INPUT)
        open_arrow(axes, (1.5 * x, 1.3), (1.5 * x, 1.7), INPUT)
        framed(axes, 1.5 * x, 2, "(ignored)" if padding else f"h{x}", INPUT if padding else HIDDEN)
        if not padding:
            open_arrow(axes, (1.5 * x + 0.1, 2.3), (1.5 * middle, 2.95), HIDDEN)
    framed(axes, 1.5 * middle, 1, 20 * " " + "encoder" + 20 * " ", HIDDEN, pad=0.35, size=11)
    framed(axes, 1.5 * middle, 3.2, "pooling: one vector", POOLED)
    open_arrow(axes, (1.5 * middle + 1.55, 3.2), (1.5 * middle + 2.2, 3.2), POOLED)
    framed(axes, 1.5 * middle + 3.1, 3.2, "linear layer", POOLED)
    open_arrow(axes, (1.5 * middle + 4.0, 3.2), (1.5 * middle + 4.5, 3.2), POOLED)
    axes.text(1.5 * middle + 4.6, 3.2, "logits", ha="left", va="center")
    axes.text(1.5 * len(words) - 0.6, 2, "hidden states", ha="left", va="center", color=HIDDEN)
    axes.text(1.5 * len(words) - 0.6, 0, "tokens", ha="left", va="center")
    axes.set(xlim=(-0.7, 1.5 * middle + 5.7), ylim=(-0.35, 3.6))
    axes.set_axis_off()
    show(
        figure,
        alt=f"The tokens {' '.join(words)} go into the encoder, which gives one hidden state for each. "
        "Pooling makes one vector of them, without that of the padding, and a linear layer turns it into "
        "the logits of the classes.",
    )


@style_context()
def diagram_directions(words: Sequence[str] = ("[CLS]", "not", "cold", ".")) -> None:
    """Show what the first and the last token attend to, without and with a causal mask."""
    figure, panels = plt.subplots(1, 2, figsize=(6.4, 2.1))
    for axes, causal in zip(panels, (False, True), strict=True):
        for x, word in enumerate(words):
            framed(axes, x, 0, word, INPUT)
        for reader, height in ((0, 1.0), (len(words) - 1, -1.0)):
            color = HIDDEN if reader == 0 else POOLED
            for x in range(len(words)):
                if not causal or x <= reader:
                    open_arrow(axes, (x, 0.32 * height), (reader, 0.95 * height), color)
            side = "left" if reader == 0 else "right"
            at = -0.35 if reader == 0 else reader + 0.35
            axes.text(
                at, 1.2 * height, f"{'first' if reader == 0 else 'last'} token reads", ha=side, va="center"
            )
        axes.set(xlim=(-0.6, len(words) - 0.4), ylim=(-1.45, 1.45))
        axes.set_title("causal mask" if causal else "no causal mask")
        axes.set_axis_off()
    show(
        figure,
        alt="Two panels with the same tokens. Without a causal mask, the first and the last token both read "
        "all tokens. With it, the last token still reads all, and the first reads only itself.",
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
        axes.plot(values, [row] * len(values), "o", color=HIDDEN, alpha=0.7, markersize=6)
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
        axes.bar(range(len(pieces)), weights, color=HIDDEN)
        axes.set(ylabel="weight", xticks=range(len(pieces)), ylim=(0, top))
        axes.set_xticklabels(pieces, rotation=30, ha="right", rotation_mode="anchor")
    show(
        figure,
        alt=f"{len(rows)} bar charts, one per sentence: attention weights of the class token in the last "
        "layer, mean of the heads, on itself and on each word.",
    )
